// Takes access to the host away from the interpreter's process. Before the interpreter is instantiated, imports that reach
// the host become stubs, and its memory gets a limit. Afterwards the process loses the network and other processes.
import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import module from 'node:module';
import net from 'node:net';

/** Imports of the WebAssembly module with which it could run commands or scripts, load libraries or open sockets. */
const HOST_IMPORTS =
  /^_?(system|getnameinfo|getprotobyname|emscripten_run_script|emscripten_async|emscripten_asm_const|emscripten_system|emscripten_dlopen|_emscripten_dlopen|_?dlopen|emscripten_fetch|emscripten_wget|__syscall_(socket|connect|bind|listen|accept4|sendto|sendmsg|recvfrom|recvmsg)|_?getaddrinfo|emscripten_websocket)/;
const GLOBALS = ['fetch', 'WebSocket', 'EventSource', 'Worker', 'process', 'require', 'Buffer', 'navigator'];

/**
 * Imports that still work when programs run. The C library and calls from JavaScript into Python need them. All others
 * lead from Python objects to JavaScript objects, which a program can find through gc, so they are closed.
 */
const KEPT =
  /^(invoke_\w+|__syscall_\w+|fd_\w+|clock_\w+|environ_\w+|random_get|proc_exit|_(mmap|munmap|msync|tzset|timegm|mktime|localtime|gmtime|abort|setitimer)_js|emscripten_(gl|console_)\w+|emscripten_(out|err)|emscripten_(get_now|date_now|resize_heap|get_heap_max|runtime_keepalive_\w+)|_emscripten_(get_progname|runtime_keepalive_clear)|_Py_\w+|_PyEM_TrampolineCall_JS|ffi_\w+|__call_sighandler|exit|__assert_fail|throw_no_gil|can_run_sync_js|_maybe_poll_async|_try_fcntl64|js2python_js|JsvArray_Get|JsvError_Check|JsvNoValue_Check|_python2js_(ascii|ucs[124]))$/;
/** Imports that change the function table, which restoring the heap does not undo. */
const STAINING = /^(ffi_closure_\w+|ffi_prep_closure_loc_js)$/;

export const deny = (): never => {
  throw new Error('denied');
};

export interface WebAssemblyApi {
  instantiate(source: unknown, imports?: { env?: Record<string, unknown> }): Promise<unknown>;
  Memory: { prototype: { grow(this: { buffer: ArrayBuffer }, pages: number): number } };
  Suspending?: unknown;
  promising?: unknown;
}

export interface Gate {
  closed: boolean; // true when programs run; then imports that are not KEPT throw
  stained: boolean; // true if the function table may have changed; then the process must be replaced
}

/** Replaces the host imports of all modules until the gate closes. @param memoryCap returns the limit in bytes */
export function cutImports(wasm: WebAssemblyApi, memoryCap: () => number): Gate {
  const gate: Gate = { closed: false, stained: false };
  delete wasm.Suspending; // without these two, all imports of the interpreter are plain functions
  delete wasm.promising;
  const { instantiate } = wasm;
  wasm.instantiate = async (source, imports) => {
    if (gate.closed) deny(); // the interpreter makes small modules while it starts (Node 22 and newer)
    const env = imports?.env ?? {};
    for (const name of Object.keys(env)) {
      const original = env[name];
      if (typeof original !== 'function') continue;
      if (HOST_IMPORTS.test(name)) env[name] = () => -1;
      else if (name === '_setitimer_js')
        env[name] = () => 0; // there is no event loop
      else if (name === '_dlsym_js')
        env[name] = (...args: unknown[]) => (gate.closed ? 0 : original(...args)); // 0 means that there is no such symbol
      else if (STAINING.test(name)) {
        const marked = (...args: unknown[]) => {
          gate.stained = true;
          return original(...args);
        };
        env[name] = Object.assign(marked, original);
      } else if (!KEPT.test(name)) {
        const gated = (...args: unknown[]) => (gate.closed ? deny() : original(...args));
        env[name] = Object.assign(gated, original);
      }
    }
    return instantiate(source, imports);
  };
  const { grow } = wasm.Memory.prototype;
  wasm.Memory.prototype.grow = function (pages) {
    if (this.buffer.byteLength + pages * 65536 > memoryCap()) throw new RangeError('memory cap');
    return grow.call(this, pages);
  };
  return gate;
}

/** Removes network, processes and dangerous globals from this process. Node 20's permissions leave the network open. */
export function cutHost(): void {
  net.Socket.prototype.connect = net.connect = net.createConnection = net.Server.prototype.listen = deny;
  for (const lib of [childProcess, dns.promises, dns, dgram] as unknown as Record<string, unknown>[])
    for (const name of Object.keys(lib)) if (typeof lib[name] === 'function') lib[name] = deny;
  module.syncBuiltinESMExports();
  for (const name of GLOBALS)
    try {
      Object.defineProperty(globalThis, name, { value: undefined, configurable: false });
    } catch {
      // this global cannot be removed; fetch and WebSocket can be removed in every Node
    }
}
