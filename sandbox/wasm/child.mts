// The process that holds CPython-in-WebAssembly. It runs under Node's permission model with an empty environment and
// no code generation from strings, cuts everything of the host that the interpreter could reach, and then serves
// jobs in one synchronous loop: read a frame, run, answer, put the whole heap back.
// A sibling of nothing: it must be loadable without the package's other modules, which the permissions hide.
import { Buffer } from 'node:buffer';
import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import fs from 'node:fs';
import module from 'node:module';
import net from 'node:net';
import type { JobFrame } from '../guest/frames.js';

const [pyodideUrl, snapshotPath] = process.argv.slice(2) as [string, string];
const [JOBS, ANSWERS] = [0, 3]; // file descriptors
const LOAD_CAP = 512 << 20; // bytes of linear memory while starting
const RETIRE_GROWTH = 64 << 20; // a heap that grew by more is not worth putting back
const TMP_BYTES = 16 << 20;
const TMP_FILES = 1000;
const SWALLOWED = 9; // exit status: the program catches every interrupt and goes on
const { EPERM, ENOSPC } = { EPERM: 63, ENOSPC: 51 }; // WASI's numbers

const exit: (code: number) => never = (process as unknown as { reallyExit: (code: number) => never }).reallyExit.bind(process);
const deny = () => {
  throw new Error('denied');
};

// ---- the wire (synchronous, so that no event loop is left for anything else) ----
function readExactly(size: number): Buffer {
  const data = Buffer.alloc(size);
  for (let at = 0; at < size; ) {
    const n = fs.readSync(JOBS, data, at, size - at, null);
    if (n === 0) exit(0); // the host went away
    at += n;
  }
  return data;
}
const readFrame = () => JSON.parse(readExactly(readExactly(4).readUInt32BE(0)).toString('utf8'));
function writeAll(data: Buffer): void {
  for (let at = 0; at < data.length; ) at += fs.writeSync(ANSWERS, data, at, data.length - at);
}
function writeFrame(message: unknown): void {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  writeAll(Buffer.concat([head, body]));
}

// ---- the clock: CPU time of this thread (compiler threads of V8 do not count against a program) ----
function openClock(): () => number {
  const cpuUsage = process.cpuUsage.bind(process);
  try {
    const fd = fs.openSync('/proc/thread-self/schedstat', 'r');
    const text = Buffer.alloc(100);
    return () => Number.parseInt(text.toString('latin1', 0, fs.readSync(fd, text, 0, 100, 0)), 10) / 1e9;
  } catch {
    return () => {
      const { user, system } = cpuUsage();
      return (user + system) / 1e6;
    };
  }
}
const cpuSeconds = openClock();

// ---- before the interpreter exists: its imports lose the host, its memory gets a ceiling ----
const HOST_IMPORTS =
  /^_?(system|emscripten_run_script|emscripten_async|emscripten_asm_const|emscripten_dlopen|_emscripten_dlopen|_?dlopen|emscripten_fetch|emscripten_wget|__syscall_(socket|connect|bind|listen|accept4|sendto|sendmsg|recvfrom|recvmsg)|_?getaddrinfo|emscripten_websocket)/;
let memoryCap = LOAD_CAP;
type Instantiate = (source: unknown, imports?: { env?: Record<string, unknown> }) => Promise<unknown>;
interface WebAssemblyApi {
  instantiate: Instantiate;
  Memory: { prototype: { grow(this: { buffer: ArrayBuffer }, pages: number): number } };
}
function cutImports(): void {
  const wasm = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;
  const { instantiate } = wasm;
  wasm.instantiate = async (source, imports) => {
    const env = imports?.env ?? {};
    for (const name of Object.keys(env))
      if (HOST_IMPORTS.test(name) && typeof env[name] === 'function') env[name] = () => -1;
    wasm.instantiate = deny as never;
    return instantiate(source, imports);
  };
  const { grow } = wasm.Memory.prototype;
  wasm.Memory.prototype.grow = function (pages) {
    if (this.buffer.byteLength + pages * 65536 > memoryCap) throw new RangeError('memory cap');
    return grow.call(this, pages);
  };
}

// ---- after it exists: what of the host is left in this process is taken away ----
function cutHost(): void {
  net.Socket.prototype.connect = net.connect = net.createConnection = net.Server.prototype.listen = deny as never;
  dgram.createSocket = dns.lookup = deny as never;
  for (const lib of [childProcess, dns.promises, dns, dgram] as unknown as Record<string, unknown>[])
    for (const name of Object.keys(lib)) if (typeof lib[name] === 'function') lib[name] = deny;
  module.syncBuiltinESMExports();
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'Worker', 'process', 'require', 'Buffer', 'navigator'])
    try {
      Object.defineProperty(globalThis, name, { value: undefined, configurable: false });
    } catch {
      // not configurable here: then it is not a door either (fetch and WebSocket are configurable in every Node)
    }
}

interface MemFs {
  filesystems: Record<string, unknown>;
  ErrnoError: new (errno: number) => Error;
  streams: ({ fd: number } | null)[];
  analyzePath(path: string): { exists: boolean };
  readdir(path: string): string[];
  lstat(path: string): { mode: number };
  isDir(mode: number): boolean;
  isLink(mode: number): boolean;
  chdir(path: string): void;
  rmdir(path: string): void;
  unlink(path: string): void;
  close(stream: unknown): void;
  [method: string]: unknown;
}

/** Files live in JavaScript, beyond the heap: writes are allowed below /tmp only, counted, and undone after a job. */
class Files {
  bytes = 0;
  files = 0;
  #unlink: MemFs['unlink'];
  #rmdir: MemFs['rmdir'];

  constructor(readonly fs: MemFs) {
    for (const name of ['NODEFS', 'PROXYFS', 'IDBFS', 'WORKERFS', 'NODESOCKFS', 'NATIVEFS_ASYNC']) delete fs.filesystems[name];
    this.#unlink = fs.unlink.bind(fs);
    this.#rmdir = fs.rmdir.bind(fs);
    this.#seal('/');
    const chmod = fs['chmod'] as (node: unknown, mode: number) => void;
    fs['chmod'] = (node: unknown, mode: number) => {
      if (typeof node === 'string') this.#refuse(EPERM); // a program's; the file system itself passes the node it made
      chmod.call(fs, node, mode);
    };
    for (const name of ['lchmod', 'fchmod', 'chown', 'lchown', 'fchown', 'mount', 'unmount', 'mkdev', 'createDevice'])
      fs[name] = () => this.#refuse(EPERM);
    this.#meter('write', (_stream, _buffer, _offset, length) => this.#spend(Number(length), 0));
    this.#meter('truncate', (_path, length) => this.#spend(Number(length), 0));
    this.#meter('ftruncate', (_fd, length) => this.#spend(Number(length), 0));
    this.#meter('allocate', (_stream, offset, length) => this.#spend(Number(offset) + Number(length), 0));
    this.#meter('mknod', () => this.#spend(0, 1));
    this.#meter('symlink', () => this.#spend(0, 1));
  }

  /** Puts the file system back; throws where it cannot. */
  restore(): void {
    for (const stream of this.fs.streams) if (stream && stream.fd > 2) this.fs.close(stream);
    this.fs.chdir('/tmp');
    if (this.bytes + this.files === 0) return;
    this.#empty('/tmp');
    this.bytes = this.files = 0;
  }

  #seal(folder: string): void {
    for (const name of this.fs.readdir(folder)) {
      if (name === '.' || name === '..') continue;
      const path = `${folder === '/' ? '' : folder}/${name}`;
      if (path === '/tmp' || path === '/proc/self/fd') continue;
      const { mode } = this.fs.lstat(path);
      if (this.fs.isLink(mode) || (path.startsWith("/dev/") && !this.fs.isDir(mode))) continue;
      if (this.fs.isDir(mode)) this.#seal(path);
      (this.fs['chmod'] as (path: string, mode: number) => void)(path, this.fs.isDir(mode) ? 0o555 : 0o444);
    }
    if (folder === '/') (this.fs['chmod'] as (path: string, mode: number) => void)('/', 0o555);
    this.fs['ignorePermissions'] = false;
  }

  #meter(name: string, before: (...args: unknown[]) => void): void {
    const method = this.fs[name] as ((...args: unknown[]) => unknown) | undefined;
    if (!method) return;
    this.fs[name] = (...args: unknown[]) => {
      before(...args);
      return method.apply(this.fs, args);
    };
  }

  #spend(bytes: number, files: number): void {
    this.bytes += bytes;
    this.files += files;
    if (this.bytes > TMP_BYTES || this.files > TMP_FILES) this.#refuse(ENOSPC);
  }

  #refuse(errno: number): never {
    throw new this.fs.ErrnoError(errno);
  }

  #empty(folder: string): void {
    for (const name of this.fs.readdir(folder)) {
      if (name === '.' || name === '..') continue;
      const path = `${folder}/${name}`;
      if (this.fs.isDir(this.fs.lstat(path).mode)) {
        this.#empty(path);
        this.#rmdir(path);
      } else this.#unlink(path);
    }
  }
}

// ---- start ----
(process as unknown as { binding: unknown }).binding = (name: string) =>
  name === 'constants' ? { fs: fs.constants } : deny(); // Emscripten asks for these constants, nothing else
const snapshot = new Uint8Array(fs.readFileSync(snapshotPath));
const { guest } = readFrame() as { guest: string };
cutImports();
const { loadPyodide } = (await import(pyodideUrl)) as typeof import('pyodide');
const py = await loadPyodide({
  jsglobals: Object.create(null),
  env: { HOME: '/tmp', PYTHONHASHSEED: '0' },
  _loadSnapshot: snapshot,
  stdin: () => null as never,
  stdout: () => {},
  stderr: () => {},
});
const heap = py as unknown as { _module: { HEAPU8: Uint8Array }; FS: MemFs };
let written = 0;
const count = {
  write: (data: Uint8Array) => {
    written += data.length;
    return data.length;
  },
};
py.setStdout(count);
py.setStderr(count);
py.runPython(guest);
py.runPython(`
import sys
for name in list(sys.modules):
    if name in ('js', 'pyodide_js', '_pyodide_core') or name.split('.')[0] in ('pyodide', '_pyodide'):
        sys.modules[name] = None
sys.meta_path[:] = [finder for finder in sys.meta_path if 'js' not in type(finder).__name__.lower()]
`);
const namespace = py.globals.get('guest');
const loadJob = namespace.get('load_job') as (text: string) => string;
const callJob = namespace.get('call_job') as (index: number) => string;
const files = new Files(heap.FS);

// The interpreter looks at this "buffer" every few thousand instructions; a 2 in it raises KeyboardInterrupt.
let job: JobFrame | null = null;
let [cpuStart, wallStart, lastLook, nextInterrupt] = [0, 0, 0, 0];
let stopped: 'timeout' | 'wall' | 'output' | null = null;
const now = performance.now.bind(performance);
function look(): void {
  if (!job || stopped) return;
  if (written > job.output) stopped = 'output';
  else if (cpuSeconds() - cpuStart >= job.cpu) stopped = 'timeout';
  else if (now() - wallStart >= job.wall * 1000) stopped = 'wall';
}
py.setInterruptBuffer({
  get 0() {
    const t = now();
    if (t - lastLook >= 5 || (job && written > job.output)) {
      lastLook = t;
      look();
      if (stopped && job && cpuSeconds() - cpuStart > 2 * job.cpu + 1) exit(SWALLOWED);
    }
    if (!stopped || t < nextInterrupt) return 0;
    nextInterrupt = t + 50; // time for the runner to put the first one into words
    return 2;
  },
  set 0(_) {},
} as unknown as Uint8Array);

const MESSAGES = {
  timeout: ['timeout', 'no answer within the limit of CPU time'],
  wall: ['timeout', 'no answer within the limit of time'],
  output: ['output', 'the program printed more than the limit'],
} as const;

/** Runs one job call by call; whatever stops it decides the call it was in and those not reached, which it returns. */
function runJob(frame: JobFrame, writeCall: (id: number, call: [string, string]) => void) {
  let [broken, answered] = [false, 0];
  try {
    const failed = loadJob(JSON.stringify({ code: frame.code, entry: frame.entry, inputs: frame.inputs }));
    look();
    for (let i = 0; i < frame.inputs.length && !stopped; i++) {
      const text = failed || callJob(i);
      look();
      if (!stopped) writeCall(frame.id, [failed ? 'load' : 'answer', String(text)]);
      if (!stopped) answered++;
    }
  } catch {
    look(); // an interrupt outside a call, or a fault of the interpreter: it is not used again
    broken = true;
  }
  const rest = stopped ? MESSAGES[stopped] : ['error', 'the program broke its interpreter'];
  return { broken, calls: Array.from({ length: frame.inputs.length - answered }, () => rest) };
}

// ---- warm up, keep a copy of the heap, serve ----
const warm = 'def f(a, b):\n  s = sorted([a, b] * 20)\n  return {"x": (s, str(a)), "y": sum(i * i for i in range(500))}';
for (let i = 0; i < 3; i++)
  runJob({ id: 0, code: warm, entry: 'f', inputs: [[1, 2], [3, 4]], cpu: 9, wall: 9, memory: 0, output: 1e6 }, () => {});
files.restore();
cutHost();
const clean = heap._module.HEAPU8.slice();
writeAll(Buffer.from('GAUNTLT1', 'latin1'));
writeFrame({ ready: true, python: py.runPython('import sys; sys.version.split()[0]') });
heap._module.HEAPU8.set(clean);

for (;;) {
  const frame = readFrame() as JobFrame;
  memoryCap = Math.max(frame.memory, clean.length);
  [written, stopped, nextInterrupt, cpuStart, wallStart] = [0, null, 0, cpuSeconds(), now()];
  lastLook = wallStart;
  job = frame;
  const { calls, broken } = runJob(frame, (id, call) => writeFrame({ id, call }));
  job = null;
  const wall = stopped === 'wall';
  const ms = now() - wallStart;
  let retire = broken || heap._module.HEAPU8.length > clean.length + RETIRE_GROWTH;
  try {
    files.restore();
  } catch {
    retire = true;
  }
  writeFrame({ id: frame.id, calls, ms, cpu: cpuSeconds(), wall, retire });
  if (retire) exit(0);
  const memory = heap._module.HEAPU8;
  memory.set(clean);
  if (memory.length > clean.length) memory.fill(0, clean.length);
}
