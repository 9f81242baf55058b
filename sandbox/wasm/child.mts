// The process with CPython in WebAssembly. It runs under Node's permission model with an empty environment and without
// code generation from strings. It removes the interpreter's access to the host and then serves jobs in one synchronous
// loop: read a frame, run, answer, restore the whole heap. The permissions allow it to read its two siblings and the
// interpreter.
import { Buffer } from 'node:buffer';
import fs from 'node:fs';
import type { JobFrame, SessionSpec } from '../guest/frames.js';
import { addDevice, Files, type MemFs } from './files.mjs';
import { cutHost, cutImports, deny, type WebAssemblyApi } from './lockdown.mjs';

const [pyodideUrl, snapshotPath] = process.argv.slice(2) as [string, string];
const [JOBS, ANSWERS] = [0, 3]; // file descriptors
const LOAD_CAP = 512 << 20; // bytes of linear memory while starting
const RETIRE_GROWTH = 64 << 20; // bytes; a heap that grew by more is not restored, and its process is replaced
/** The exit status if a program, or one of its calls, goes on beyond its limit. process.ts has the same numbers. */
const [SWALLOWED, SWALLOWED_CALL] = [9, 10];

const exit: (code: number) => never = (process as unknown as { reallyExit: (code: number) => never }).reallyExit.bind(
  process,
);

// ---- frames (synchronous, so that no event loop runs) ----
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

// ---- the clock counts the CPU time of this thread; compiler threads of V8 do not count against a program ----
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

type SessionFrame = SessionSpec & Omit<JobFrame, 'code' | 'entry' | 'inputs'>;
const EIO = 29; // the number that WASI gives this error
const MAX_SAID = 34 << 20; // the most bytes of one frame from the tests

/** The next message of the host in a session; undefined if the host ends it. */
function hear(id: number): string | undefined {
  for (;;) {
    const message = readFrame() as { id: number; in?: string };
    if (message.id !== id) continue;
    if (message.in === undefined) isOver = true;
    return message.in;
  }
}

// ---- start ----
(process as unknown as { binding: unknown }).binding = (name: string) =>
  name === 'constants' ? { fs: fs.constants } : deny(); // Emscripten reads these constants
const snapshot = new Uint8Array(fs.readFileSync(snapshotPath));
const { guest } = readFrame() as { guest: string };
let memoryCap = LOAD_CAP;
const gate = cutImports((globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly, () => memoryCap);
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
const startProgram = namespace.get('start_program') as (text: string) => string;
const answerRequest = namespace.get('answer_request') as (text: string) => string;
const startTests = namespace.get('start_tests') as (text: string) => void;

// ---- the device through which test source talks to the host; programs get nothing from it ----
let talking: SessionFrame | null = null;
let [heard, said]: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)];
let isOver = false;
addDevice(heap.FS, '/dev/host', {
  read(buffer, offset, length) {
    if (talking?.role !== 'tests' || isOver) return 0;
    if (heard.length === 0) {
      const text = hear(talking.id);
      if (text === undefined) return 0;
      const body = Buffer.from(text);
      heard = Buffer.concat([Buffer.alloc(4), body]);
      heard.writeUInt32BE(body.length);
    }
    const part = heard.subarray(0, length);
    buffer.set(part, offset);
    heard = heard.subarray(part.length);
    return part.length;
  },
  write(buffer, offset, length) {
    if (talking?.role !== 'tests') return length;
    said = Buffer.concat([said, new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length)]);
    while (said.length >= 4 && said.length >= 4 + said.readUInt32BE(0)) {
      const end = 4 + said.readUInt32BE(0);
      look();
      if (stopped === 'call') throw new heap.FS.ErrnoError(EIO); // the host gets no report of this test and later ones
      const text = said.toString('utf8', 4, end);
      if (text.startsWith('{"begin"')) callStart = cpuSeconds();
      else if (text.startsWith('{"end"')) callStart = null;
      writeFrame({ id: talking.id, out: text });
      said = said.subarray(end);
    }
    if (said.length > MAX_SAID) said = Buffer.alloc(0);
    return length;
  },
});
const files = new Files(heap.FS);

// The interpreter reads this "buffer" every few thousand instructions; a 2 raises KeyboardInterrupt.
let job: Omit<JobFrame, 'code' | 'entry' | 'inputs'> | null = null;
let [cpuStart, wallStart, lastLook, nextInterrupt] = [0, 0, 0, 0];
let callStart: number | null = null; // null while the program is being loaded
let stopped: keyof typeof MESSAGES | null = null;
const now = performance.now.bind(performance);
function look(): void {
  if (!job || stopped) return;
  if (written > job.output) stopped = 'output';
  else if (cpuSeconds() - cpuStart >= job.cpu) stopped = 'timeout';
  else if (callStart !== null && cpuSeconds() - callStart >= job.case) stopped = 'call';
  else if (now() - wallStart >= job.wall * 1000) stopped = 'wall';
}
py.setInterruptBuffer({
  get 0() {
    const t = now();
    if (t - lastLook >= 5 || (job && written > job.output)) {
      lastLook = t;
      look();
      if (stopped && job) {
        if (cpuSeconds() - cpuStart > 2 * job.cpu + 1) exit(SWALLOWED);
        if (stopped === 'call' && cpuSeconds() - callStart! > 2 * job.case + 1) exit(SWALLOWED_CALL);
      }
    }
    if (!stopped || t < nextInterrupt) return 0;
    nextInterrupt = t + 50; // time for the runner to report the first one
    return 2;
  },
  set 0(_) {},
} as unknown as Uint8Array);

const noop = () => {};
const TEST_LATE = 'no answer within the limit of CPU time of one test';
const MESSAGES = {
  call: ['timeout', 'no answer within the limit of CPU time of one call'],
  timeout: ['timeout', 'no answer within the limit of CPU time'],
  wall: ['timeout', 'no answer within the limit of time'],
  output: ['output', 'the program printed more than the limit'],
} as const;

/**
 * Runs one job call by call. Returns an outcome for each call that has no answer. After a call that exceeded its own
 * limit, the later calls run in a clean interpreter.
 */
function runJob(frame: JobFrame, write: (message: unknown) => void, restart: () => boolean) {
  const { id, inputs } = frame;
  let [broken, answered] = [false, 0];
  try {
    while (answered < inputs.length && !stopped) {
      const failed = loadJob(JSON.stringify({ ...frame, inputs }));
      look();
      if (!stopped) write({ id, loaded: cpuSeconds() });
      while (answered < inputs.length && !stopped) {
        callStart = cpuSeconds();
        const text = failed || callJob(answered);
        look();
        if (stopped) break;
        write({ id, call: [failed ? 'load' : 'answer', String(text)], cpu: cpuSeconds() });
        answered++;
      }
      callStart = null;
      if (stopped !== 'call') break;
      if (answered + 1 < inputs.length && !restart()) exit(SWALLOWED_CALL);
      write({ id, call: MESSAGES.call });
      answered++;
      stopped = null;
    }
  } catch {
    look(); // an interrupt came outside a call, or the interpreter failed: it is replaced
    if (stopped === 'call') exit(SWALLOWED_CALL);
    broken = true;
  }
  callStart = null;
  const rest = stopped ? MESSAGES[stopped] : ['error', 'the program broke its interpreter'];
  return { broken, calls: Array.from({ length: inputs.length - answered }, () => rest) };
}

// ---- warm up, copy the heap, serve ----
const code =
  'def f(a, b):\n  s = sorted([a, b] * 20)\n  return {"x": (s, str(a)), "y": sum(i * i for i in range(500))}';
const limits = { cpu: 9, case: 9, wall: 9, memory: 0, output: 1e6 };
for (let i = 0; i < 6; i++) runJob({ id: 0, code, entry: 'f', inputs: [[1, 2]], ...limits }, noop, () => false);
files.restore();
cutHost();
gate.closed = true;
const clean = heap._module.HEAPU8.slice();
writeAll(Buffer.from('GAUNTLT1', 'latin1'));
writeFrame({ ready: true, cpu: cpuSeconds() });

/** Restores the heap and the files. Returns false if that fails; the process must then be replaced. */
function restore(): boolean {
  const memory = heap._module.HEAPU8;
  if (gate.stained || memory.length > clean.length + RETIRE_GROWTH) return false;
  try {
    files.restore();
  } catch {
    return false;
  }
  memory.set(clean);
  if (memory.length > clean.length) memory.fill(0, clean.length);
  return true;
}

/** Runs one session. Returns how it ended, and whether the interpreter is broken. */
function runSession(frame: SessionFrame): { ended: readonly [string, string]; broken: boolean } {
  let broken = false;
  [talking, heard, said, isOver] = [frame, Buffer.alloc(0), Buffer.alloc(0), false];
  try {
    if (frame.role === 'tests') startTests(JSON.stringify(frame));
    else {
      let text = startProgram(JSON.stringify(frame));
      look();
      while (!stopped) {
        writeFrame({ id: frame.id, out: String(text) });
        if (!text.startsWith('{"names":') && callStart === null) break;
        callStart = null;
        const request = hear(frame.id);
        if (request === undefined) break;
        callStart = cpuSeconds();
        text = answerRequest(request);
        look();
      }
    }
  } catch {
    look();
    broken = !stopped;
  }
  callStart = talking = null;
  if (stopped === 'call' && frame.role === 'tests') return { ended: ['timeout', TEST_LATE], broken };
  if (stopped) return { ended: MESSAGES[stopped], broken };
  return { ended: broken ? ['error', 'the program broke its interpreter'] : ['end', ''], broken };
}

for (;;) {
  const frame = readFrame() as JobFrame | SessionFrame;
  if (!('cpu' in frame)) continue; // a message to a session that has ended
  memoryCap = Math.max(frame.memory, clean.length);
  [written, stopped, nextInterrupt, cpuStart, wallStart] = [0, null, 0, cpuSeconds(), now()];
  lastLook = wallStart;
  job = frame;
  const found = 'role' in frame ? runSession(frame) : runJob(frame, writeFrame, restore);
  job = null;
  const wall = stopped === 'wall';
  const ms = now() - wallStart;
  const used = cpuSeconds() - cpuStart;
  const retire = found.broken || !restore();
  const end = 'ended' in found ? { ended: found.ended, used } : { calls: found.calls };
  writeFrame({ id: frame.id, ...end, ms, cpu: cpuSeconds(), wall, retire });
  if (retire) exit(0);
}
