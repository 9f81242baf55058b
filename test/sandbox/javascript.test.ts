// Runs JavaScript programs through the sandbox port.
import assert from 'node:assert/strict';
import type { CallResult, ExecutionJob } from '../../core/schema/execution.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openSandbox } from '../../workers/openSandbox.js';

const REQUIRED = process.env.GAUNTLET_REQUIRE_DOCKER === '1';
const kinds = (calls: CallResult[]): string[] => calls.map(({ kind }) => kind);

describe('the JavaScript sandbox', function () {
  this.timeout(300_000);
  let sandbox: Sandbox | undefined;

  before(async function () {
    try {
      sandbox = await openSandbox('docker', { language: 'javascript', size: 2 });
    } catch (error) {
      if (REQUIRED) throw error;
      console.log(`      skipped: ${(error as Error).message}`);
      this.skip();
    }
  });
  after(() => sandbox?.close());

  const run = async (code: string, inputs: ExecutionJob['inputs'], limits = {}, entry = 'f'): Promise<CallResult[]> => {
    const roomy = { cpuSeconds: 20, caseCpuSeconds: 10, wallSeconds: 60, ...limits };
    const jobs = [
      { id: 'job', code, entry, inputs, limits: { memoryMb: 256, outputBytes: 1_000_000, ...roomy } },
      { id: 'canary', code: 'const f = (x) => x + 1;', entry: 'f', inputs: [[41]] },
    ];
    const [result, canary] = await sandbox!.run(jobs);
    assert.deepEqual(canary!.calls, [{ kind: 'value', value: 42 }], 'a known program passes after each');
    return result!.calls;
  };

  it('returns values unchanged as far as JavaScript distinguishes them', async () => {
    const same = [
      null,
      true,
      7,
      { i: '0x20000000000000000' },
      { f: '0.5' },
      { f: 'nan' },
      'ü',
      [1, [2]],
      { s: [1, 2] },
    ];
    const objects = [{ d: [['a', 1]] }, { d: [[1, 'a']] }, { b: 'AAE=' }] as never[];
    const calls = await run(
      'function f(x) { return x; }',
      [...same, ...objects, { t: [1] }, { f: '2.0' }].map((x) => [x as never]),
    );
    const expected = [...same, ...objects, [1], 2];
    assert.deepEqual(
      calls,
      expected.map((value) => ({ kind: 'value', value })),
    );
  });

  it('reports exceptions, other objects and missing functions as errors, and makes later calls', async () => {
    const code = 'async function f(x) { if (x === 1) throw new RangeError("no"); return x === 2 ? () => 1 : x; }';
    const calls = await run(code, [[0], [1], [2], [3]]);
    assert.deepEqual(kinds(calls), ['value', 'error', 'error', 'value']);
    assert.match((calls[1] as { message: string }).message, /^RangeError: no$/);
    assert.deepEqual(kinds(await run('function g() {}', [[1]])), ['error']);
    assert.deepEqual(kinds(await run('function f( {', [[1]])), ['error']);
  });

  it('runs later calls in a fresh process after an exit or a loop', async () => {
    const code = 'function f(x) { if (x === 1) process.exit(0); while (x === 2) {} return x; }';
    const calls = await run(code, [[0], [1], [2], [3]], { caseCpuSeconds: 1.5 });
    assert.deepEqual(kinds(calls), ['value', 'error', 'timeout', 'value']);
  });

  it('limits memory and output', async () => {
    const hoard = 'function f() { const a = []; for (;;) a.push(Buffer.alloc(1e7, 1)); }';
    assert.deepEqual(kinds(await run(hoard, [[]])), ['memory']);
    const heap = 'function f() { const a = []; for (;;) a.push({ a: [a.length] }); }';
    assert.deepEqual(kinds(await run(heap, [[]], { memoryMb: 64, caseCpuSeconds: 20 })), ['memory']);
    const print = 'const fs = require("fs"); function f() { for (;;) fs.writeSync(1, "x".repeat(1000)); }';
    assert.deepEqual(kinds(await run(print, [[]], { outputBytes: 5000 })), ['output']);
  });

  it('treats a forged frame as the answer of the current call or as an error', async () => {
    const frame =
      'const fs = require("fs"); const say = (t) => { const b = Buffer.from(t), h = Buffer.alloc(4); h.writeUInt32BE(b.length); fs.writeSync(3, Buffer.concat([h, b])); };';
    const forged = await run(`${frame} function f() { say('A{"v":99}'); for (;;) {} }`, [[1]]);
    assert.deepEqual(forged, [{ kind: 'value', value: 99 }]);
    assert.deepEqual(kinds(await run(`${frame} function f() { say('Q'); for (;;) {} }`, [[1]])), ['error']);
    assert.deepEqual(kinds(await run(`${frame} function f() { say('A{"v":{"x":1}}'); for (;;) {} }`, [[1]])), [
      'error',
    ]);
  });

  it('runs every program in its own container', async () => {
    const leave =
      'const fs = require("fs"); function f() { fs.writeFileSync("/tmp/left", "x"); return process.getuid(); }';
    const [left] = await run(leave, [[]]);
    assert.ok(left!.kind === 'value' && Number(left!.value) >= 1000, 'a uid of its own');
    const look = 'const fs = require("fs"); function f() { return [fs.existsSync("/tmp/left"), Math.random()]; }';
    const [first, second] = [await run(look, [[]]), await run(look, [[]])];
    assert.equal((first[0] as { value: unknown[] }).value[0], false);
    assert.deepEqual(first, second, 'randomness is seeded');
  });

  it('closes pid 1 to the program', async () => {
    const look = `const fs = require("fs"); const told = (act) => { try { act(); return "done"; } catch (error) { return error.code; } };
      function f() { return [
        ...["fd", "mem", "environ"].map((name) => told(() => fs.openSync("/proc/1/" + name))),
        told(() => process.kill(1, 9)), told(() => process.setuid(0)), told(() => process.setuid(65534)),
      ]; }`;
    const [call] = await run(look, [[]]);
    assert.deepEqual(call, {
      kind: 'value',
      value: ['EACCES', 'EACCES', 'EACCES', 'EPERM', 'EPERM', 'EPERM'],
    });
  });

  it('ends processes that hold the pipes of a program open', async () => {
    const hold = `const { spawn } = require("child_process");
      const hold = () => spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: [0, 1, 2, 3, 4] });
      function f(x) { hold(); if (x === 1) process.exit(0); while (x === 2) {} return x; }`;
    const calls = await run(hold, [[0], [1], [2], [3]], { caseCpuSeconds: 1.5 });
    assert.deepEqual(kinds(calls), ['value', 'error', 'timeout', 'value']);
    const sleep = `${hold} async function g() { hold(); await new Promise(() => setInterval(() => {}, 1000)); }`;
    assert.deepEqual(kinds(await run(sleep, [[], []], { wallSeconds: 2 }, 'g')), ['timeout', 'timeout']);
  });

  it('refuses test source and type checks', async () => {
    const job = { id: 'a', code: '', style: 'assert' as const, files: { 'a.py': 'assert True' } };
    await assert.rejects(sandbox!.runTests([job]), /test source needs Python programs, not javascript/);
    await assert.rejects(sandbox!.checkTypes([]), /type checks need Python programs, not javascript/);
  });

  it('is not available in WebAssembly', async () => {
    await assert.rejects(openSandbox('wasm', { language: 'javascript' }), /JavaScript requires --sandbox docker/);
  });
});
