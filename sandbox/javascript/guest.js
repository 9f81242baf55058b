// The JavaScript guest: pid 1 of a container for one program. It reads a job from stdin, starts a process for the program
// under a uid of its own, enforces the limits, and passes on each answer in a frame of the guest protocol
// (docs/guest-protocol.md). Because of the uid a program cannot open pid 1's memory or descriptors, nor signal it.
// CommonJS without packages: the source is an argument of `node -e`, also for the program's process.
const fs = require('node:fs');
const os = require('node:os');
const vm = require('node:vm');
const { spawn } = require('node:child_process');

const MAX_BYTES = 1 << 20; // of one answer, as JSON
const MAX_DEPTH = 64;
const MAX_NODES = 200000;

// ---- values: core/schema/value.ts

/** Makes a fresh value from tagged JSON: tuples are arrays; dicts are objects if all keys are strings, else maps. */
function decode(x) {
  if (Array.isArray(x)) return x.map(decode);
  if (x === null || typeof x !== 'object') return x;
  const [[tag, y]] = Object.entries(x);
  if (tag === 'i') return y.startsWith('-') ? -BigInt(y.slice(1)) : BigInt(y);
  if (tag === 'f') return y === 'nan' ? Number.NaN : y === 'inf' ? Infinity : y === '-inf' ? -Infinity : Number(y);
  if (tag === 't') return y.map(decode);
  if (tag === 's') return new Set(y.map(decode));
  if (tag === 'b') return new Uint8Array(Buffer.from(y, 'base64'));
  if (tag !== 'd') throw new TypeError('JavaScript has no complex numbers');
  const pairs = y.map(([key, value]) => [decode(key), decode(value)]);
  return pairs.every(([key]) => typeof key === 'string') ? Object.fromEntries(pairs) : new Map(pairs);
}

/** A value as tagged JSON. A number without a fraction is an int, since JavaScript does not distinguish the two. */
function encode(value, depth = 0, budget = { nodes: MAX_NODES }) {
  if (--budget.nodes < 0) throw new TypeError('the value has too many parts');
  if (depth > MAX_DEPTH) throw new TypeError('the value is nested too deeply');
  const inner = (x) => encode(x, depth + 1, budget);
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'bigint')
    return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
      ? Number(value)
      : { i: value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}` };
  if (typeof value === 'number') {
    if (Number.isNaN(value)) return { f: 'nan' };
    if (!Number.isFinite(value)) return { f: value > 0 ? 'inf' : '-inf' };
    if (Object.is(value, -0)) return { f: '-0.0' };
    return Number.isSafeInteger(value) ? value : { f: String(value) };
  }
  if (Array.isArray(value)) return Array.from(value, inner);
  if (value instanceof Set) return { s: Array.from(value, inner) };
  if (value instanceof Map) return { d: Array.from(value, ([key, x]) => [inner(key), inner(x)]) };
  if (value instanceof Uint8Array) return { b: Buffer.from(value).toString('base64') };
  const prototype = typeof value === 'object' ? Object.getPrototypeOf(value) : undefined;
  if (prototype === Object.prototype || prototype === null)
    return { d: Object.entries(value).map(([key, x]) => [inner(key), inner(x)]) };
  throw new TypeError(`a ${typeof value} of another class is not plain data`);
}

// ---- the program's process: [job] on descriptor 4, answers on descriptor 3

async function runProgram() {
  fs.writeFileSync('/proc/self/oom_score_adj', '1000'); // the kernel kills it first
  os.setPriority(19); // pid 1 runs first, however many processes a program starts
  const { code, entry, inputs } = JSON.parse(fs.readFileSync(4, 'utf8'));
  fs.closeSync(4);
  const { writeSync } = fs;
  const stringify = JSON.stringify;
  const send = (kind, text) => {
    const body = Buffer.from(kind + text);
    const frame = Buffer.alloc(4 + body.length);
    frame.writeUInt32BE(body.length);
    body.copy(frame, 4);
    for (let at = 0; at < frame.length; ) at += writeSync(3, frame, at);
  };
  const failure = (error) => {
    let text = 'an error that cannot be shown';
    try {
      text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    } catch {
      // still a failure
    }
    return stringify({ e: String(text).slice(0, 300) });
  };
  let target;
  try {
    Object.assign(globalThis, { require, module: { exports: {} }, exports: {} });
    new vm.Script(code, { filename: 'solution.js' }).runInThisContext();
    if (!/^[A-Za-z_$][\w$]*$/.test(entry)) throw new TypeError(`${entry} is not a name of a function`);
    target = vm.runInThisContext(`typeof ${entry} === 'undefined' ? undefined : ${entry}`);
    if (typeof target !== 'function') throw new ReferenceError(`the program defines no function ${entry}`);
  } catch (error) {
    return send('X', failure(error));
  }
  send('L', '');
  for (const args of inputs) {
    let text;
    try {
      text = stringify({ v: encode(await target(...args.map(decode))) });
      if (Buffer.byteLength(text) > MAX_BYTES) throw new TypeError('the value is too large');
    } catch (error) {
      text = failure(error);
    }
    send('A', text);
  }
}

// ---- pid 1

function counter(places) {
  for (const [path, read] of places) {
    try {
      read(fs.readFileSync(path, 'latin1'));
      return () => read(fs.readFileSync(path, 'latin1'));
    } catch {
      // not on this kernel
    }
  }
  return () => 0;
}
const word = (key) => (text) => {
  const found = new RegExp(`^${key} (\\d+)`, 'm').exec(text);
  if (!found) throw new Error(`no ${key}`);
  return Number(found[1]);
};
const cpuSeconds = counter([
  ['/sys/fs/cgroup/cpu.stat', (text) => word('usage_usec')(text) / 1e6],
  ['/sys/fs/cgroup/cpuacct/cpuacct.usage', (text) => Number(text) / 1e9],
  ['/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage', (text) => Number(text) / 1e9],
]);
// kills for memory, and of cgroup v2 how often the container reached its own limit, which tells them from kills by the host
const oomKills = counter([
  ['/sys/fs/cgroup/memory.events', word('oom_kill')],
  ['/sys/fs/cgroup/memory/memory.oom_control', word('oom_kill')],
]);
const limitsReached = counter([
  ['/sys/fs/cgroup/memory.events', word('oom')],
  ['/sys/fs/cgroup/memory/memory.oom_control', word('oom_kill')],
]);

function write(body) {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  process.stdout.write(Buffer.concat([head, body])); // a pipe: it waits for the host
}
const writeFrame = (message) => write(Buffer.from(JSON.stringify(message)));

/** One call in the words of the program's process: 'A' (an answer) or 'X' (it did not load). */
function writeCall(kind, id, text) {
  const head = Buffer.from(`${kind}0000`);
  head.writeUInt32BE(id, 1);
  write(Buffer.concat([head, text]));
}

/** Ends every process of the container but this one: whatever the program started holds its pipes open. */
function killAll() {
  try {
    process.kill(-1, 'SIGKILL');
  } catch {
    // there are none
  }
}

/** Runs the program's process for the inputs from `done` on. Passes its answers on; returns their number and why it ended. */
function attempt(job, done, limits, uid) {
  return new Promise((resolve) => {
    const flags = [`--max-old-space-size=${Math.max(16, Math.floor(job.memory / 2 ** 20))}`, '--random-seed=1'];
    const env = { PATH: process.env.PATH, LANG: 'C.UTF-8' };
    const stdio = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'];
    const child = spawn(process.execPath, [...flags, '-e', SOURCE, 'program'], {
      cwd: '/tmp',
      env,
      stdio,
      detached: true,
      uid,
      gid: uid,
    });
    const seen = { answers: 0, loaded: false, failure: undefined, why: undefined, heap: false };
    let [data, printed, callStart, timer] = [Buffer.alloc(0), 0, undefined, undefined];
    const end = (why) => {
      seen.why ??= why;
      child.kill('SIGKILL');
    };
    const take = (kind, text) => {
      if (kind === 'L' && !seen.loaded && seen.failure === undefined) seen.loaded = true;
      else if (kind === 'X' && !seen.loaded && seen.failure === undefined) seen.failure = text;
      else if (kind === 'A' && seen.loaded) {
        writeCall('A', job.id, text);
        seen.answers++;
      } else end('protocol');
      callStart = cpuSeconds();
      if (seen.failure !== undefined || seen.answers >= job.inputs.length - done) end('done');
    };
    child.stdio[3].on('data', (part) => {
      data = Buffer.concat([data, part]);
      while (seen.why === undefined && data.length >= 4) {
        const size = data.readUInt32BE(0);
        if (size < 1 || size > MAX_BYTES + 1024) return end('protocol');
        if (data.length < 4 + size) return;
        const text = data.subarray(5, 4 + size);
        const kind = String.fromCharCode(data[4]);
        data = data.subarray(4 + size);
        take(kind, text);
      }
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        printed += part.length;
        if (stream === child.stderr && part.includes('heap out of memory')) seen.heap = true; // V8 aborts
        if (printed > job.output && !seen.heap) end('output');
      });
    child.stdio[4].on('error', () => {}); // it may end before it reads its job
    child.stdio[4].end(JSON.stringify({ code: job.code, entry: job.entry, inputs: job.inputs.slice(done) }));
    const look = () => {
      const used = cpuSeconds();
      if (used >= limits.cpuEnd) end('timeout');
      else if (performance.now() >= limits.wallEnd) end('wall');
      else if (callStart !== undefined && used - callStart >= job.case) end('case');
    };
    timer = setInterval(look, 10);
    child.on('exit', () => {
      clearInterval(timer);
      killAll(); // then its pipes close, after what it wrote has been read
    });
    child.on('close', (status, signal) => resolve({ ...seen, status, signal }));
  });
}

async function runJob(job, uid) {
  const started = performance.now();
  const limits = { cpuEnd: cpuSeconds() + job.cpu, wallEnd: started + job.wall * 1000 };
  let [done, wall] = [0, false];
  const fill = (call, count) => {
    for (let i = 0; i < count; i++) writeFrame({ id: job.id, call });
    done += count;
  };
  while (done < job.inputs.length) {
    const [kills, reached] = [oomKills(), limitsReached()];
    const { answers, loaded, failure, why, heap, status, signal } = await attempt(job, done, limits, uid);
    done += answers;
    const missing = job.inputs.length - done;
    if (missing === 0) break;
    wall = why === 'wall';
    if (failure !== undefined) {
      for (let i = 0; i < missing; i++) writeCall('X', job.id, failure);
      done += missing;
    } else if (why === 'timeout' || wall)
      fill(['timeout', `no answer within the limit of ${wall ? 'time' : 'CPU time'}`], missing);
    else if (why === 'output') fill(['output', 'the program printed more than the limit'], missing);
    else if (why === 'protocol') fill(['error', 'the program wrote into the answer channel'], missing);
    else {
      if (!heap && oomKills() > kills && limitsReached() === reached) {
        writeFrame({ retire: true }); // the host has no memory left: another guest runs the job again
        process.exit(0);
      }
      const one = loaded ? 1 : missing;
      if (why === 'case') fill(['timeout', 'no answer within the limit of CPU time of one call'], one);
      else if (heap || oomKills() > kills) fill(['memory', 'the program was ended for its use of memory'], one);
      else fill(['error', `the program ended without an answer (${signal ?? `status ${status}`})`], one);
    }
  }
  return { id: job.id, calls: [], ms: performance.now() - started, cpu: cpuSeconds(), wall };
}

function serve() {
  const { silence, uid } = JSON.parse(process.argv[1]);
  let parts = []; // of the next message
  let missing = 4; // bytes of it, as far as its length is known
  let timer;
  const listen = () => {
    clearTimeout(timer);
    timer = setTimeout(() => process.exit(0), 1000 * silence); // a living host sends a message more often
  };
  process.stdin.on('end', () => process.exit(0)); // the host went away
  process.stdin.on('data', (part) => {
    parts.push(part);
    missing -= part.length;
    if (missing > 0) return;
    let data = Buffer.concat(parts);
    const needed = () => 4 + (data.length < 4 ? 0 : data.readUInt32BE(0));
    while (data.length >= needed()) {
      const job = JSON.parse(data.toString('utf8', 4, needed()));
      data = data.subarray(needed());
      listen();
      if (job.alive) continue;
      clearTimeout(timer);
      const check = job.inputs.length === 0 && job.code === ''; // only checks that this guest answers
      void runJob(job, uid).then((result) => {
        writeFrame({ ...result, retire: !check });
        listen();
      });
    }
    parts = [data];
    missing = needed() - data.length;
  });
  listen();
  process.stdout.write('GAUNTLT1');
  writeFrame({ ready: true, javascript: process.versions.node });
}

const SOURCE = process.execArgv[process.execArgv.indexOf('-e') + 1];
if (process.argv[1] === 'program') void runProgram();
else serve();
