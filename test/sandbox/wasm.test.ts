import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { equalValues } from '../../core/comparison/compare.js';
import type { Value } from '../../core/schema/value.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { lockdownFlags } from '../../sandbox/wasm/process.js';
import { snapshotFile } from '../../sandbox/wasm/snapshot.js';
import { temporaryFolder } from '../infra/support.js';
import { callingConformance } from './calling.js';
import { conformance, job } from './conformance.js';
import { anEighth, checkHostile, hostileRows } from './hostile.js';

const childrenOfThis = (): string[] =>
  fs
    .readdirSync('/proc/self/task')
    .flatMap((task) => fs.readFileSync(`/proc/self/task/${task}/children`, 'utf8').trim().split(' '));

describe('the WebAssembly sandbox', () => {
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await openWasm({ size: 1 });
  });
  after(() => sandbox.close());

  it('reports that it is not a security boundary', () => {
    assert.equal(sandbox.info.boundary, false);
    assert.equal(sandbox.info.kind, 'wasm');
    assert.match(sandbox.info.description, /not a security boundary/);
  });

  conformance(() => sandbox);
  callingConformance(() => sandbox);

  it('agrees with == of Python in lenient equality, except for its extensions', async () => {
    const scalars: Value[] = [null, true, false, 0, 1, 2, '', '1', 'a'];
    const floats: Value[] = ['0.0', '1.0', '1.5', 'inf', '-inf', '1.8446744073709552e+19'].map((f) => ({ f }));
    const others: Value[] = [{ i: '0x10000000000000000' }, { b: '' }, { b: 'YQ==' }, { c: ['1.0', '0.0'] }];
    const lists: Value[] = [[], [1], [true], [{ f: '1.0' }, 2], [[1]]];
    const sets: Value[] = [[], [1, 2], [2, true], [{ t: [1, 'a'] }]].map((items) => ({ s: items as Value[] }));
    const dicts: Value[] = [{ d: [] }, { d: [[1, 'a']] }, { d: [[true, 'a']] }, { d: [['k', [1, { f: '2.0' }]]] }];
    const values = [...scalars, ...floats, ...others, ...lists, ...sets, ...dicts, { d: [['k', [1, 2]]] } as Value];
    const pairs = values.flatMap((a) => values.map((b) => [a, b]));
    const [result] = await sandbox.run([job('def f(a, b): return a == b', pairs)]);
    for (const [i, [a, b]] of pairs.entries()) {
      const python = result!.calls[i]!;
      assert.deepEqual(python, { kind: 'value', value: equalValues(a!, b!, 'lenient') }, JSON.stringify([a, b]));
    }
  });

  it('ends an eighth of the hostile programs as expected, with a known program after each', async function () {
    const rows = hostileRows();
    if (!rows) return this.skip(); // the catalogue needs GAUNTLET_SHARED
    const some = anEighth(rows);
    const kinds = new Set(some.flatMap(({ expect }) => expect.split('|')));
    assert.deepEqual([...kinds].sort(), ['error', 'fail', 'memory', 'output', 'pass', 'timeout']);
    await checkHostile(some, sandbox, 'wasm');
  });

  it('restores the heap after a program corrupted or enlarged it', async () => {
    const corrupting = `
import ctypes, sys, gc
def f(x):
  sys.setrecursionlimit(50)
  gc.disable()
  sys.modules.clear()
  ctypes.memset(id(0.5) + 8, 255, 64)
  return x
`;
    const growing = 'keep = bytearray(150_000_000)\ndef f(x): return len(keep)';
    const [, grown, after] = await sandbox.run([
      job(corrupting, [[1]]),
      job(growing, [[1]]),
      job('import sys\ndef f(x): return [sys.getrecursionlimit() > 500, 0.5 + x == 1.5]', [[1]]),
    ]);
    assert.deepEqual(grown!.calls, [{ kind: 'value', value: 150_000_000 }]);
    assert.deepEqual(after!.calls, [{ kind: 'value', value: [true, true] }]);
  });

  it('leaves no process when its worker is killed during a program', async function () {
    if (process.platform !== 'linux') return this.skip(); // the test reads /proc
    const script = `
      import { openWasm } from ${JSON.stringify(new URL('../../sandbox/wasm/openWasm.js', import.meta.url).href)};
      const sandbox = await openWasm({ size: 1 });
      const job = { id: 'a', code: 'def f(x): return x', entry: 'f', inputs: [[1]] };
      await sandbox.run([job]);
      void sandbox.run([{ ...job, code: 'def f(x):\\n  while True: pass' }]);
      console.log('running');
    `;
    const worker = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => worker.stdout.once('data', resolve));
    const children = fs.readFileSync(`/proc/${worker.pid}/task/${worker.pid}/children`, 'utf8').trim().split(' ');
    const running = () => children.filter((pid) => fs.existsSync(`/proc/${pid}/fd/0`));
    assert.equal(running().length, 1);
    worker.kill('SIGKILL');
    while (running().length > 0) await new Promise((resolve) => setTimeout(resolve, 100)); // mocha's timeout limits this
  });

  it('reads pending answers before it checks limits, after the host was busy', async function () {
    if (process.platform !== 'linux') return this.skip(); // the test reads /proc
    const busy = await openWasm({ size: 1 });
    // busy for 0.5 s of wall clock, which is never less than its CPU time
    const code =
      'from time import perf_counter\ndef f(n):\n  end = perf_counter() + 0.5\n  while perf_counter() < end: pass\n  return n';
    const limits = { cpuSeconds: 0.7, caseCpuSeconds: 0.7, wallSeconds: 20 };
    const before = childrenOfThis();
    try {
      await busy.run([job(code, [[0]])]);
      const [guest] = childrenOfThis().filter((pid) => !before.includes(pid));
      const cpu = (): number => {
        try {
          return Number.parseInt(fs.readFileSync(`/proc/${guest}/task/${guest}/schedstat`, 'utf8'), 10) / 1e9;
        } catch {
          return 0; // the process has ended
        }
      };
      const occupied = (): void => {
        for (let [from, last, rest] = [cpu(), 0, performance.now()]; performance.now() - rest < 500; ) {
          if (cpu() === last) continue;
          [last, rest] = [cpu(), performance.now()];
          if (last - from > 0.97) break;
        }
      };
      const values = [1, 2, 3, 4];
      const ahead = busy.run(values.map((value) => job(code, [[value]], limits)));
      setTimeout(() => setImmediate(occupied), 50);
      const given = (await ahead).map(({ calls }) => calls);
      assert.deepEqual(
        given,
        values.map((value) => [{ kind: 'value', value }]),
        'jobs that wait in the guest',
      );
      const one = busy.run([
        job(
          code,
          values.map((x) => [x]),
          { ...limits, cpuSeconds: 20 },
        ),
      ]);
      setTimeout(() => setImmediate(occupied), 50);
      assert.deepEqual(
        (await one)[0]!.calls,
        values.map((value) => ({ kind: 'value', value })),
        'calls of a job',
      );
    } finally {
      await busy.close();
    }
  });

  it('replaces a damaged snapshot', async () => {
    const cache = temporaryFolder();
    const file = snapshotFile(cache);
    fs.writeFileSync(file, fs.readFileSync(snapshotFile()).subarray(0, 1000));
    const other = await openWasm({ size: 1, cache });
    try {
      const [result] = await other.run([job('def f(x): return x', [[8]])]);
      assert.deepEqual(result!.calls, [{ kind: 'value', value: 8 }]);
      assert.ok(fs.statSync(file).size > 1e6);
    } finally {
      await other.close();
    }
  });
});

describe('the lockdown of the WebAssembly interpreter', () => {
  const folder = temporaryFolder();
  const marker = path.join(folder, 'touched');
  const secretFile = path.join(folder, 'secret');
  const secret = randomBytes(16).toString('hex');
  let sandbox: Sandbox;
  let server: net.Server;
  let connections = 0;
  let port = 0;

  before(async () => {
    fs.writeFileSync(secretFile, secret);
    process.env.GAUNTLET_TEST_SECRET = secret;
    server = net.createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as net.AddressInfo).port;
    sandbox = await openWasm({ size: 1 });
  });
  after(async () => {
    delete process.env.GAUNTLET_TEST_SECRET;
    server.close();
    await sandbox.close();
  });

  const touch = `process.getBuiltinModule ? process.getBuiltinModule("fs").writeFileSync("${marker}", "1") : require("fs").writeFileSync("${marker}", "1")`;
  const unhide = 'import sys\nfor k in [k for k in sys.modules if sys.modules[k] is None]: del sys.modules[k]\n';
  const probes: Record<string, () => string> = {
    'a shell command': () => `import os\ndef f(x): return os.system("touch ${marker}; cat ${secretFile}")`,
    popen: () => `import os\ndef f(x): return os.popen("touch ${marker}; cat ${secretFile}").read()`,
    subprocess: () => `import subprocess\ndef f(x): return subprocess.check_output(["touch", "${marker}"]).decode()`,
    'fork and exec': () => `import os\ndef f(x):\n  if os.fork() == 0: os.execv("/bin/touch", ["touch", "${marker}"])`,
    'a script of Emscripten through ctypes': () =>
      `import ctypes\ndef f(x): return ctypes.CDLL(None).emscripten_run_script(b'${touch}')`,
    'JavaScript by import': () =>
      `${unhide}def f(x):\n  import js\n  js.eval('${touch}')\n  return str(js.process.env)`,
    'JavaScript by run_js': () =>
      `${unhide}def f(x):\n  from pyodide.code import run_js\n  return str(run_js('${touch}'))`,
    'the constructor of a constructor': () =>
      `${unhide}def f(x):\n  import pyodide_js\n  return str(pyodide_js.constructor.constructor('${touch}; return process.env')())`,
    'a constructor reached through a proxy of a Python function': () =>
      `${unhide}def f(x):\n  from pyodide.ffi import create_proxy\n  p = create_proxy(lambda: 1)\n  return str(p.constructor.constructor('${touch}; return JSON.stringify(process.env)')())`,
    'the core module': () =>
      `${unhide}def f(x):\n  import _pyodide_core as c\n  return str(c.raw_call('${touch}')) if hasattr(c, "raw_call") else str(dir(c))`,
    'a mount of the host': () =>
      `${unhide}def f(x):\n  import pyodide_js\n  pyodide_js.mountNodeFS("/tmp/h", "${folder}")\n  return open("/tmp/h/secret").read()`,
    'any JavaScript object the collector knows': () => `
import gc
def f(x):
  out = []
  for o in gc.get_objects():
    if 'Js' in type(o).__name__:
      for path in (("constructor", "constructor"), ("_module", "FS", "constructor", "constructor")):
        try:
          p = o
          for name in path: p = getattr(p, name)
          out.append(str(p('${touch}; return JSON.stringify(process.env)')()))
        except Exception as e: out.append(type(e).__name__)
  return out
`,
    'a file of the host': () => `def f(x): return open("${secretFile}").read()`,
    'the environment': () => `import os\ndef f(x): return [dict(os.environ), open("/proc/self/environ").read()]`,
    'a socket': () => `import socket\ndef f(x):\n  socket.create_connection(("127.0.0.1", ${port}), 1)\n  return 1`,
    'a raw socket call through ctypes': () => `
import ctypes, struct
def f(x):
  l = ctypes.CDLL(None)
  s = l.socket(2, 1, 0)
  return l.connect(s, struct.pack(">HHI8x", 0x0200, ${port}, 0x7f000001), 16)
`,
    'an HTTP request': () =>
      `import urllib.request\ndef f(x): return urllib.request.urlopen("http://127.0.0.1:${port}/").read().decode()`,
    'a fetch of Pyodide': () =>
      `${unhide}def f(x):\n  from pyodide.http import open_url\n  return open_url("http://127.0.0.1:${port}/").read()`,
    'a library from the host': () =>
      `import ctypes\ndef f(x): return str(ctypes.CDLL("/lib/x86_64-linux-gnu/libc.so.6").getpid())`,
    'a write outside /tmp': () => `
import os
def f(x):
  done = []
  for where in ("/lib/x", "/home/x", "/x", "/dev/x", "/proc/x"):
    try: open(where, "w").write("1"); done.append(where)
    except OSError: pass
    try: os.chmod(os.path.dirname(where) or "/", 0o777); done.append(where)
    except OSError: pass
  assert not done, done
  raise OSError
`,
  };
  for (const [name, code] of Object.entries(probes))
    it(`blocks ${name}`, async () => {
      const [result] = await sandbox.run([job(code(), [[1]])]);
      const seen = JSON.stringify(result);
      assert.ok(!seen.includes(secret), `the secret came back: ${seen.slice(0, 300)}`);
      assert.ok(!fs.existsSync(marker), 'a file was written on the host');
      assert.equal(connections, 0, 'a connection was made');
      if (name === 'a write outside /tmp') assert.match(seen, /OSError/);
      const [canary] = await sandbox.run([job('def f(x): return x + 1', [[1]])]);
      assert.deepEqual(canary!.calls, [{ kind: 'value', value: 2 }]);
    });

  const outside: Record<string, string> = {
    'read a file': `require('fs').readFileSync('${secretFile}')`,
    'write a file': `require('fs').writeFileSync('${marker}', '1')`,
    'start a process': `require('child_process').execFileSync('/bin/true')`,
    'start a thread': `new (require('worker_threads').Worker)('1', { eval: true })`,
    'evaluate a string': `(0, eval)('1')`,
    'make a function from a string': `Function('return 1')()`,
  };
  for (const [name, code] of Object.entries(outside))
    it(`keeps its process from: ${name}`, () => {
      const flags = lockdownFlags(snapshotFile()).filter((flag) => !flag.startsWith('--max-old'));
      const script = `try { ${code}; console.log('DONE') } catch (error) { console.log('REFUSED', error.code ?? error.name) }`;
      const { stdout } = spawnSync(process.execPath, [...flags, '-e', script], { env: {}, encoding: 'utf8' });
      assert.match(stdout, /^REFUSED/);
    });
});
