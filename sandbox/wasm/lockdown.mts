// What takes the host away from the process that holds the interpreter: before it is instantiated its imports lose
// the host and its memory gets a ceiling; afterwards what of the host is left in the process goes.
import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import module from 'node:module';
import net from 'node:net';

/** Imports of the WebAssembly module that reach the host: commands, scripts, libraries, sockets. */
const HOST_IMPORTS =
  /^_?(system|emscripten_run_script|emscripten_async|emscripten_asm_const|emscripten_dlopen|_emscripten_dlopen|_?dlopen|emscripten_fetch|emscripten_wget|__syscall_(socket|connect|bind|listen|accept4|sendto|sendmsg|recvfrom|recvmsg)|_?getaddrinfo|emscripten_websocket)/;
const GLOBALS = ['fetch', 'WebSocket', 'EventSource', 'Worker', 'process', 'require', 'Buffer', 'navigator'];

export const deny = (): never => {
  throw new Error('denied');
};

export interface WebAssemblyApi {
  instantiate(source: unknown, imports?: { env?: Record<string, unknown> }): Promise<unknown>;
  Memory: { prototype: { grow(this: { buffer: ArrayBuffer }, pages: number): number } };
}

/** Stubs host imports of the one module that may still be instantiated; `memoryCap` gives the ceiling in bytes. */
export function cutImports(wasm: WebAssemblyApi, memoryCap: () => number): void {
  const { instantiate } = wasm;
  wasm.instantiate = async (source, imports) => {
    const env = imports?.env ?? {};
    for (const name of Object.keys(env))
      if (HOST_IMPORTS.test(name) && typeof env[name] === 'function') env[name] = () => -1;
    wasm.instantiate = deny;
    return instantiate(source, imports);
  };
  const { grow } = wasm.Memory.prototype;
  wasm.Memory.prototype.grow = function (pages) {
    if (this.buffer.byteLength + pages * 65536 > memoryCap()) throw new RangeError('memory cap');
    return grow.call(this, pages);
  };
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
