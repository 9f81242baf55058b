// A suite for every backend: the abilities of programs, and the way in which their answers are returned.
import assert from 'node:assert/strict';
import { equalValues } from '../../core/comparison/compare.js';
import type { CallResult, ExecutionJob, Limits } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

export const TEST_LIMITS: Limits = {
  cpuSeconds: 3,
  caseCpuSeconds: 30,
  wallSeconds: 20,
  memoryMb: 256,
  outputBytes: 1_000_000,
};
let jobs = 0;
export const job = (code: string, inputs: Value[][], limits: Partial<Limits> = {}): ExecutionJob => ({
  id: `job-${++jobs}`,
  code,
  entry: 'f',
  inputs,
  limits: { ...TEST_LIMITS, ...limits },
});
const kinds = (calls: CallResult[]) => calls.map((call) => call.kind);

const runOn =
  (get: () => Sandbox) =>
  async (code: string, inputs: Value[][], limits: Partial<Limits> = {}) =>
    (await get().run([job(code, inputs, limits)]))[0]!.calls;

/** Adds the whole suite for the sandbox that `get` returns once it is open. */
export function conformance(get: () => Sandbox): void {
  essentials(get);
  details(get);
}

/** Tests where containers and processes may differ: kinds of outcomes, separation of programs, order and cancellation. */
export function essentials(get: () => Sandbox): void {
  const run = runOn(get);

  it('returns values of every type unchanged', async () => {
    const values: Value[] = [
      null,
      true,
      -7,
      2 ** 53 - 1,
      { i: '0x1fffffffffffffffffffffff' },
      { i: '-0x1fffffffffffffffffffffff' },
      { f: '2.5' },
      { f: '1e+300' },
      { f: 'inf' },
      { f: 'nan' },
      'naïve "quoted" \u{1f40d} \ud800',
      [1, [2, []]],
      { t: [1, { t: [] }] },
      { s: [1, 'a', { t: [1, 2] }] },
      {
        d: [
          ['k', [1]],
          [2, null],
        ],
      },
      { b: 'AP8=' },
      { c: ['1.5', '-2.0'] },
    ];
    const calls = await run(
      'def f(x):\n  return x',
      values.map((value) => [value]),
    );
    for (const [i, call] of calls.entries()) {
      assert.equal(call.kind, 'value');
      assert.ok(
        call.kind === 'value' && equalValues(call.value, values[i]!, 'strict'),
        JSON.stringify([call, values[i]]),
      );
    }
  });

  it('passes fresh arguments to every call and keeps module state within a program', async () => {
    const mutating = 'seen = []\ndef f(xs):\n  xs.append(9)\n  seen.append(len(xs))\n  return [len(xs), len(seen)]';
    assert.deepEqual(await run(mutating, [[[1]], [[1]]]), [
      { kind: 'value', value: [2, 1] },
      { kind: 'value', value: [2, 2] },
    ]);
    await run('import builtins, json\nbuiltins.len = lambda x: 99\njson.leak = 1\ndef f(x): return 1', [[1]]);
    const after = await run('import json\ndef f(x): return [len(x), hasattr(json, "leak")]', [[[1, 2]]]);
    assert.deepEqual(after, [{ kind: 'value', value: [2, false] }]);
  });

  it('reports an exception, an exit and a missing entry as errors, and makes later calls after an exception', async () => {
    const calls = await run(
      'import sys\ndef f(k):\n  if k == 1: raise ValueError("no")\n  if k == 2: sys.exit(0)\n  return k',
      [[0], [1], [2], [3]],
    );
    assert.deepEqual(kinds(calls), ['value', 'error', 'error', 'value']);
    assert.match((calls[1] as { message: string }).message, /ValueError: no/);
    assert.deepEqual(kinds(await run('def g(x): return x', [[1], [2]])), ['error', 'error']);
    assert.deepEqual(kinds(await run('def f(x) return x', [[1]])), ['error']);
  });

  it('reports an error if the process of a program ends at once, and runs the next program', async () => {
    const [died, next] = await get().run([
      job('import os\nos._exit(0)\ndef f(x): return x', [[1], [2]]),
      job('def f(x): return x', [[5]]),
    ]);
    assert.deepEqual(kinds(died!.calls), ['error', 'error']);
    assert.deepEqual(next!.calls, [{ kind: 'value', value: 5 }]);
  });

  it('reports a timeout for an endless loop and later calls and keeps earlier answers', async () => {
    const calls = await run('def f(x):\n  while x: pass\n  return x', [[0], [1], [0]], { cpuSeconds: 0.2 });
    assert.deepEqual(kinds(calls), ['value', 'timeout', 'timeout']);
  });

  it('gives the verdict `output` to a program that prints beyond the limit, and ignores printing below it', async () => {
    assert.deepEqual(kinds(await run('def f(x):\n  while True: print("x" * 1000)', [[1]], { outputBytes: 10_000 })), [
      'output',
    ]);
    const calls = await run('import sys\ndef f(x):\n  print("1 passed")\n  print("ok", file=sys.stderr)\n  return x', [
      [4],
    ]);
    assert.deepEqual(calls, [{ kind: 'value', value: 4 }]);
  });

  it('gives the verdict `memory` to a program that needs more than the limit, unless it recovers', async () => {
    assert.deepEqual(kinds(await run('def f(x):\n  a = []\n  while True: a.append(bytearray(10 ** 6))', [[1]])), [
      'memory',
    ]);
    const recovering = 'def f(x):\n  try:\n    return len(bytearray(10 ** 9))\n  except MemoryError:\n    return x';
    assert.deepEqual(await run(recovering, [[6]]), [{ kind: 'value', value: 6 }]);
  });

  it('removes the files of a program before the next one', async () => {
    const [left, seen] = await get().run([
      job(
        'import os\ndef f(x):\n  os.makedirs("/tmp/a/b")\n  open("/tmp/a/b/c", "w").write("secret")\n  return os.path.exists("/tmp/a/b/c")',
        [[1]],
      ),
      job('import os\ndef f(x): return os.path.exists("/tmp/a")', [[1]]),
    ]);
    assert.deepEqual(left!.calls, [{ kind: 'value', value: true }]);
    assert.deepEqual(seen!.calls, [{ kind: 'value', value: false }]);
  });

  it('returns answers in the order of many jobs and reports progress once for each', async () => {
    // more jobs than a pool runs at the same time
    const many = Array.from({ length: 8 }, (_, i) => job('def f(x): return x * 2', [[i]]));
    const seen: number[] = [];
    const results = await get().run(many, { onProgress: (done) => seen.push(done) });
    assert.deepEqual(
      results.map((result) => result.id),
      many.map((one) => one.id),
    );
    assert.deepEqual(
      results.map(({ calls }) => calls[0]),
      many.map((_, i) => ({ kind: 'value', value: i * 2 })),
    );
    assert.deepEqual(
      seen,
      many.map((_, i) => i + 1),
    );
  });

  it('rejects a cancelled run with the reason and keeps working', async () => {
    const controller = new AbortController();
    const running = get().run(
      Array.from({ length: 20 }, () => job('def f(x):\n  while True: pass', [[1]], { cpuSeconds: 0.1 })),
      { signal: controller.signal },
    );
    controller.abort(new Error('enough'));
    await assert.rejects(running, /enough/);
    assert.deepEqual(await run('def f(x): return x', [[1]]), [{ kind: 'value', value: 1 }]);
  });
}

/** The rest of the suite tests the guest, which runs the same code in every container. */
export function details(get: () => Sandbox): void {
  const run = runOn(get);

  it('flattens subclasses without running their methods', async () => {
    const code = `
class I(int):
  def __eq__(s, o): return True
  def __index__(s): return 42
  __hash__ = int.__hash__
class L(list):
  def __iter__(s): return iter([7])
class D(dict):
  def items(s): return [(1, 1)]
class S(str):
  def __str__(s): return "forged"
class B(bytes):
  def __bytes__(s): return b"forged"
class X:
  __class__ = int
def f(k):
  return [I(5), L([1, 2]), D(a=3), S("own"), B(b"own"), X()][k]
`;
    const calls = await run(code, [[0], [1], [2], [3], [4], [5]]);
    assert.deepEqual(calls.slice(0, 5), [
      { kind: 'value', value: 5 },
      { kind: 'value', value: [1, 2] },
      { kind: 'value', value: { d: [['a', 3]] } },
      { kind: 'value', value: 'own' },
      { kind: 'value', value: { b: 'b3du' } },
    ]);
    assert.equal(calls[5]!.kind, 'error');
  });

  it('reports an error for answers that are not plain data, too deep, too large or cyclic', async () => {
    const code = `
def f(k):
  if k == 0: return object()
  if k == 1: return (x for x in [1])
  x = []
  if k == 2: x.append(x)
  if k == 3:
    for _ in range(100): x = [x]
  if k == 4: return "x" * 2000000
  if k == 5: return [0] * 300000
  if k == 6: return 1 << 10000000
  return x
`;
    const calls = await run(
      code,
      [0, 1, 2, 3, 4, 5, 6].map((k) => [k]),
    );
    assert.deepEqual(kinds(calls), Array(7).fill('error'));
  });

  const LOOPS: Record<string, [loop: string, inputs: number[]]> = {
    'that loops': ['while True: pass', [0, 1, 2, 1, 3]],
    'that swallows every exception': [
      'while True:\n      try:\n        while True: pass\n      except BaseException: pass',
      [0, 1, 3],
    ],
    'that never returns to the interpreter': ['return len(str(7 ** (10 ** 8)))', [0, 1, 3]],
  };
  for (const [how, [loop, inputs]] of Object.entries(LOOPS))
    it(`loads the program again for the calls after a call ${how} beyond the limit of one call`, async () => {
      const code = `seen = []\ndef f(x):\n  seen.append(x)\n  if x == 1:\n    ${loop}\n  return list(seen)`;
      const calls = await run(
        code,
        inputs.map((x) => [x]),
        { caseCpuSeconds: 0.2, cpuSeconds: 20, wallSeconds: 60 },
      );
      assert.deepEqual(
        kinds(calls),
        inputs.map((x) => (x === 1 ? 'timeout' : 'value')),
      );
      assert.deepEqual(calls.at(-1), { kind: 'value', value: [3] });
    });

  it('reports a timeout for an endless loop that swallows every exception', async () => {
    const code = 'def f(x):\n  while True:\n    try:\n      while True: pass\n    except BaseException: pass';
    assert.deepEqual(kinds(await run(code, [[1]], { cpuSeconds: 0.2 })), ['timeout']);
  });

  it('reports a timeout for a call that never returns to the interpreter and keeps earlier answers', async () => {
    const calls = await run('def f(x):\n  return len(str(7 ** (10 ** x)))', [[1], [8]], { cpuSeconds: 0.2 });
    assert.deepEqual(kinds(calls), ['value', 'timeout']);
  });

  it('reports a timeout for a sleep beyond the wall clock, after a second run alone', async () => {
    const [slow, quick] = await get().run([
      job('import time\ndef f(x):\n  time.sleep(1000)', [[1]], { wallSeconds: 0.4, cpuSeconds: 30 }),
      job('def f(x): return x', [[3]]),
    ]);
    assert.deepEqual(kinds(slow!.calls), ['timeout']);
    assert.deepEqual(quick!.calls, [{ kind: 'value', value: 3 }]);
  });

  it('seeds randomness, so that a program returns the same answer in every run', async () => {
    const code = 'import random\ndef f(x): return [random.random(), hash("a"), list({"x", "y", "z"})]';
    const [first, second] = [await run(code, [[1]]), await run(code, [[1]])];
    assert.equal(first[0]!.kind, 'value');
    assert.deepEqual(first, second);
  });

  it('gives every program the same environment: home, UTC, UTF-8 and the locale C.UTF-8', async () => {
    const code = `
import datetime, locale, os, pathlib, sys, time
def f(x):
  locale.setlocale(locale.LC_ALL, "")
  print("\\ud800")
  with open("/tmp/text", "w") as file: file.write("é✓")
  return [
    os.environ["HOME"], str(pathlib.Path.home()), time.localtime(0).tm_hour, time.timezone,
    str(datetime.datetime(2024, 7, 1).astimezone().utcoffset()), sys.getfilesystemencoding(),
    open("/tmp/text", "rb").read().decode(), locale.format_string("%d", 1234567, grouping=True),
  ]`;
    const expected = ['/tmp', '/tmp', 0, 0, '0:00:00', 'utf-8', 'é✓', '1234567'];
    assert.deepEqual(await run(code, [[1]]), [{ kind: 'value', value: expected }]);
  });

  it('knows time zones', async () => {
    const code = `
import os, time
from zoneinfo import ZoneInfo
from datetime import datetime
def f(x):
  os.environ["TZ"] = "Asia/Tokyo"
  time.tzset()
  zones = "Europe/Berlin", "America/New_York", "Asia/Kolkata"
  return [time.localtime(0).tm_hour, [datetime(2024, 7, 1, tzinfo=ZoneInfo(z)).hour for z in zones],
    [str(datetime(2024, 7, 1, tzinfo=ZoneInfo(z)).utcoffset()) for z in zones]]`;
    const [call] = await run(code, [[1]], { cpuSeconds: 20 });
    if (get().info.kind === 'wasm') assert.equal(call!.kind, 'error');
    else {
      const offsets = ['2:00:00', '-1 day, 20:00:00', '5:30:00'];
      assert.deepEqual(call, { kind: 'value', value: [9, [0, 0, 0], offsets] });
    }
  });

  it('allows a recursion as deep as the program asks for, and ends an endless one with a RecursionError', async () => {
    const code = `
import functools, sys
sys.setrecursionlimit(10 ** 6)
def plain(n): return 0 if n == 0 else 1 + plain(n - 1)
@functools.cache
def cached(n): return 0 if n == 0 else 1 + cached(n - 1)
def f(k, n):
  if k == 2: sys.setrecursionlimit(1000)
  return [plain, cached, plain][k](n)`;
    const calls = await run(
      code,
      [
        [0, 100_000],
        [1, 10_000],
        [2, -1],
      ],
      { cpuSeconds: 20 },
    );
    assert.deepEqual(calls.slice(0, 2), [
      { kind: 'value', value: 100_000 },
      { kind: 'value', value: 10_000 },
    ]);
    assert.match((calls[2] as { message: string }).message, /RecursionError/);
  });

  it('makes no calls for a job without inputs', async () => {
    assert.deepEqual((await get().run([job('def f(): return 1', [])]))[0]!.calls, []);
  });
}
