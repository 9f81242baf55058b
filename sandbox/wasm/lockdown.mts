// What takes the host away from the process that holds the interpreter: before it is instantiated its imports lose
// the host and its memory gets a ceiling; afterwards what of the host is left in the process goes.
import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import module from 'node:module';
import net from 'node:net';

/** Imports of the WebAssembly module that reach the host: commands, scripts, libraries, sockets. */
const HOST_IMPORTS =
  /^_?(system|getnameinfo|getprotobyname|emscripten_run_script|emscripten_async|emscripten_asm_const|emscripten_system|emscripten_dlopen|_emscripten_dlopen|_?dlopen|emscripten_fetch|emscripten_wget|__syscall_(socket|connect|bind|listen|accept4|sendto|sendmsg|recvfrom|recvmsg)|_?getaddrinfo|emscripten_websocket)/;
const GLOBALS = ['fetch', 'WebSocket', 'EventSource', 'Worker', 'process', 'require', 'Buffer', 'navigator'];

/**
 * Imports that stay once programs run: C's library, and what a call from JavaScript into Python needs. The rest, all that
 * leads from a Python object to a JavaScript one, is closed then: such objects lie in the heap, where the collector finds them.
 */
const KEPT =
  /^(invoke_\w+|__syscall_\w+|fd_\w+|clock_\w+|environ_\w+|random_get|proc_exit|_(mmap|munmap|msync|tzset|timegm|mktime|localtime|gmtime|abort|setitimer)_js|emscripten_(gl|console_)\w+|emscripten_(out|err)|emscripten_(get_now|date_now|resize_heap|get_heap_max|runtime_keepalive_\w+)|_emscripten_(get_progname|runtime_keepalive_clear)|_Py_\w+|_PyEM_TrampolineCall_JS|ffi_\w+|__call_sighandler|exit|__assert_fail|throw_no_gil|can_run_sync_js|_maybe_poll_async|_try_fcntl64|js2python_js|JsvArray_Get|JsvError_Check|JsvNoValue_Check|_python2js_(ascii|ucs[124]))$/;
/** Imports that change the table of functions, which is not put back with the heap. */
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

/** The state of the imports. */
export interface Gate {
  closed: boolean; // set once programs run: what is not KEPT throws
  stained: boolean; // the table of functions may have changed: the process is to be replaced
}

/** Stubs host imports of the modules that are instantiated until the gate closes; `memoryCap` gives the ceiling in bytes. */
export function cutImports(wasm: WebAssemblyApi, memoryCap: () => number): Gate {
  const gate: Gate = { closed: false, stained: false };
  delete wasm.Suspending; // where the interpreter could wait for a promise, its imports would be no plain functions
  delete wasm.promising;
  const { instantiate } = wasm;
  wasm.instantiate = async (source, imports) => {
    if (gate.closed) deny(); // the interpreter itself makes small modules while it starts (Node 22 and newer)
    const env = imports?.env ?? {};
    for (const name of Object.keys(env)) {
      const original = env[name];
      if (typeof original !== 'function') continue;
      if (HOST_IMPORTS.test(name)) env[name] = () => -1;
      else if (name === '_setitimer_js')
        env[name] = () => 0; // there is no event loop for it to fire in
      else if (name === '_dlsym_js')
        env[name] = (...args: unknown[]) => (gate.closed ? 0 : original(...args)); // no symbol
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

/** Removes network, processes and the usual doors from this process, for good. Node 20's permissions leave the network open. */
export function cutHost(): void {
  net.Socket.prototype.connect = net.connect = net.createConnection = net.Server.prototype.listen = deny;
  for (const lib of [childProcess, dns.promises, dns, dgram] as unknown as Record<string, unknown>[])
    for (const name of Object.keys(lib)) if (typeof lib[name] === 'function') lib[name] = deny;
  module.syncBuiltinESMExports();
  for (const name of GLOBALS)
    try {
      Object.defineProperty(globalThis, name, { value: undefined, configurable: false });
    } catch {
      // not configurable here: then it is not a door either (fetch and WebSocket are configurable in every Node)
    }
}
