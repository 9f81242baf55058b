// Test source that is literal is run as values: held to what a run of the same source says, test by test.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { formatValue } from '../../core/parse/format.js';
import { literalTests } from '../../core/parse/literalTests.js';
import { floatRepr } from '../../core/parse/numbers.js';
import type { TestJob } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { judgeSources } from '../../sandbox/judgePrograms.js';
import { runSources } from '../../sandbox/literalRun.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { requireDocker } from './docker.js';
import { PROGRAMS, SOURCES } from './hostile/split.js';

const limits = { cpuSeconds: 10, caseCpuSeconds: 0.5, wallSeconds: 60, memoryMb: 256, outputBytes: 100_000 };
const job = (code: string, source: string, style: TestJob['style'], entry?: string): TestJob => ({
  id: 'job',
  code,
  style,
  files: { [style === 'pytest' ? 'test_it.py' : 'asserts.py']: source },
  limits,
  ...(entry !== undefined && { entry }),
});
const said = ({ tests }: { tests: { name: string; outcome: string }[] }) =>
  tests.map(({ name, outcome }) => `${name} ${outcome}`);

/** Everything that literal source may be made of, in both styles. */
const LITERAL: [style: TestJob['style'], source: string][] = [
  [
    'assert',
    `"""Tests."""
METADATA = {'author': 'x', "n": [1, 2]}
from solution import f
assert f(1) == 2
assert f(2) == 3, "wrong"; assert 4 == f(3)
assert (f(4)) != 5
assert f(5) is None
assert f(0) is not None
assert f(6)
assert not f(7)
`,
  ],
  [
    'assert',
    `def check(candidate):
    # comment
    assert True, "fine"
    assert candidate(1) == 2, "one"
    assert candidate(2) == 1 + 2
    assert candidate(5) is False
check(f)
`,
  ],
  [
    'assert',
    `def test_a():
    x = 3
    r = f(x)
    assert r == 4
    assert r != 5
def test_b() -> None:
    "says"
    given = [1, 2]
    assert f(given) == [1, 2, 3]
test_a()
if __name__ == "__main__":
    test_b()
`,
  ],
  [
    'pytest',
    `import pytest
from typing import List
from solution import f, g
@pytest.mark.parametrize("x, expected", [
    (1, 2),
    [2, 3],
    pytest.param(3, 4, id="three \\n é"),
    ("a b\\t\\\\", "é😀"),
    (None, 1.50),
    (True, [1]),
    (1e20, {}),
])
def test_table(x, expected):
    assert f(x) == expected
@pytest.mark.parametrize("x", [1, 2.5, 'y', (1, 2), {"k": [1]}])
def test_one(x):
    assert f(x) == 2
def test_plain():
    assert f(-1) == 0
    assert f([1]) == [1, 1]
`,
  ],
  [
    'pytest',
    'import solution\ndef test_it():\n    answer = solution.f(1)\n    assert answer == 2\n    assert answer is not None\n',
  ],
];
const ANSWERING: Record<string, string> = {
  right: 'def f(x): return x + 1',
  lists: 'def f(x): return x + [len(x) + 1] if isinstance(x, list) else x',
  tuples: 'def f(x): return tuple(x) if isinstance(x, list) else (x,)',
  texts: 'def f(x): return str(x)',
  'in place': 'def f(x):\n  if isinstance(x, list): x.append(3)\n  return x',
  raises: 'def f(x):\n  if x == 2: raise ValueError("no")\n  return x + 1',
  'asserts itself': 'def f(x):\n  assert x != 2\n  return x + 1',
  skips: 'import unittest\ndef f(x):\n  raise unittest.SkipTest("x")',
  exits: 'import os\ndef f(x):\n  if x == 2: os._exit(0)\n  return x + 1',
  SystemExit: 'def f(x):\n  raise SystemExit(0)',
  'no function': 'def g(x): return x',
  'does not parse': 'def f(x) return x',
  'does not load': 'raise RuntimeError("no")',
  'a class': 'class f:\n  def __init__(self, x): pass\n  def __eq__(self, other): return True',
  'objects that equal anything':
    'class A:\n  def __eq__(s, o): return True\n  def __bool__(s): return True\ndef f(x): return A()',
  'an int that equals anything':
    'class A(int):\n  def __eq__(s, o): return True\n  __hash__ = int.__hash__\ndef f(x): return A(7)',
  'a list that equals anything': 'class L(list):\n  def __eq__(s, o): return True\ndef f(x): return L([7])',
  ranges: 'def f(x): return range(3)',
  generators: 'def f(x):\n  yield x',
  functions: 'def f(x): return f',
  state: 'n = 0\ndef f(x):\n  global n\n  n += 1\n  return n + 1',
  memory: 'def f(x): return [0] * 10 ** 9 if x == 2 else x + 1',
  loops: 'def f(x):\n  while x == 2: pass\n  return x + 1',
  prints: 'def f(x):\n  print("p" * 200000)\n  return x + 1',
  None: 'def f(x): pass',
};

describe('test source that is literal, on Docker', function () {
  this.timeout(300_000); // for a busy machine
  let sandbox: Sandbox;
  before(async function () {
    await requireDocker(this);
    sandbox = await openDocker();
  });
  after(() => sandbox?.close());

  /** Asserts that values and a run of the source say the same of every test. */
  const agree = async (jobs: TestJob[]): Promise<string[]> => {
    for (const { files, style, entry } of jobs)
      assert.ok(literalTests(files, style, entry), `not literal: ${Object.values(files)[0]}`);
    const [values, source] = [await runSources(jobs, sandbox), await sandbox.runTests(jobs)];
    for (const [i, run] of source.entries())
      assert.deepEqual(said(values[i]!), said(run), `${jobs[i]!.code}\n${JSON.stringify([values[i], run])}`);
    return values.flatMap((run) => run.tests.map(({ outcome }) => outcome));
  };

  it('has the verdicts of a run of the source, test by test, whatever the program answers or does', async () => {
    const outcomes = await agree(
      LITERAL.flatMap(([style, source], i) =>
        Object.entries(ANSWERING)
          .filter(([name], k) => (i < 4 || k % 4 === 0) && (i % 2 === 0 || name !== 'loops'))
          .map(([, code]) => job(code, source, style, 'f')),
      ),
    );
    for (const outcome of ['pass', 'fail', 'error', 'timeout', 'memory', 'output'])
      assert.ok(outcomes.includes(outcome), outcome);
  });

  it('compares as Python does: random answers and claims, 2,000 asserts and 360 rows of parametrize', async () => {
    const leaf = fc.constantFrom<Value>(
      ...[null, true, false, 0, 1, 2, -1, '', 'a', '1', 'é😀\n', [], { t: [] }, { s: [] }, { d: [] }],
      ...[0, -0, 1, 1.5, 1e300, 2 ** 53, Infinity, NaN].map((x) => ({ f: floatRepr(x) })),
      ...[
        { i: '0x20000000000000' },
        { i: '0x20000000000001' },
        { i: `0x1${'0'.repeat(260)}` },
        { b: '' },
        { b: 'YQ==' },
      ],
    );
    const key = fc.oneof(
      leaf.filter((x) => x === null || typeof x !== 'object' || 'i' in x || ('f' in x && x.f !== 'nan') || 'b' in x),
      fc.constant<Value>({ t: [1, 'a'] }),
    );
    const value = fc.letrec<{ value: Value }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie('value'), { maxLength: 3 }),
        fc.array(tie('value'), { maxLength: 3 }).map((t): Value => ({ t })),
        fc.array(key, { maxLength: 3 }).map((s): Value => ({ s })),
        fc.array(fc.tuple(key, tie('value')), { maxLength: 3 }).map((d): Value => ({ d })),
      ),
    })).value;
    const near = (v: Value, roll: number): Value => {
      if (roll === 0) return v === 1 ? true : v === true ? { f: '1.0' } : v === 0 ? { f: '-0.0' } : v;
      if (v === null || typeof v !== 'object') return v;
      if (Array.isArray(v)) return roll === 1 ? { t: v } : v.map((x) => near(x, roll - 2));
      if ('t' in v) return roll === 1 ? v.t : { t: v.t.map((x) => near(x, roll - 2)) };
      if ('s' in v) return { s: [...v.s].reverse() };
      if ('d' in v) return { d: [...v.d].reverse() };
      return v;
    };
    const pair = fc.oneof(
      fc.tuple(value, value),
      fc.tuple(value, fc.nat({ max: 5 })).map(([v, roll]): [Value, Value] => [v, near(v, roll)]),
    );
    const claim = fc.constantFrom(
      ...(['==', '==', '==', '!='] as const).map((sign) => (call: string, text: string) => `${call} ${sign} ${text}`),
      (call: string, text: string) => `${text} == ${call}`,
      (call: string) => call,
      (call: string) => `not ${call}`,
      (call: string) => `${call} is True`,
      (call: string) => `${call} is not None`,
    );
    const written = fc.sample(fc.array(fc.tuple(pair, claim), { minLength: 60, maxLength: 60 }), {
      numRuns: 40,
      seed: 7,
    });
    const jobs = written.map((asserts, i) => {
      const code = `A = [${asserts.map(([[answer]]) => formatValue(answer)).join(', ')}]\ndef f(i): return A[i]\n`;
      if (i < 34)
        return job(
          code,
          asserts.map(([[, text], say], k) => `assert ${say(`f(${k})`, formatValue(text))}\n`).join(''),
          'assert',
          'f',
        );
      // rows of bytes are named in a way of their own, and run
      const rows = asserts.map(
        ([[, text]], k) => `(${k}, ${formatValue(text).startsWith('b') ? 0 : formatValue(text)})`,
      );
      return job(
        code,
        `import pytest\nfrom solution import f\n@pytest.mark.parametrize("i,y", [${rows.join(', ')}])\ndef test_f(i, y):\n  assert f(i) == y\n`,
        'pytest',
      );
    });
    const outcomes = await agree(jobs);
    assert.ok(outcomes.filter((outcome) => outcome === 'pass').length > 700);
    assert.ok(outcomes.filter((outcome) => outcome === 'fail').length > 700);
  });

  it('no program that forges passes of test source passes it as values', async () => {
    const tables: [TestJob['style'], string][] = [
      ['assert', SOURCES.assert],
      ['pytest', SOURCES.pytest.replace('[f(2)] == [3]', 'f(2) == 3')],
    ];
    for (const [style, source] of tables) {
      assert.ok(literalTests({ 'test_it.py': source }, style, 'f'));
      const ran = await runSources(
        Object.values(PROGRAMS).map((code) => job(code, source, style, 'f')),
        sandbox,
      );
      for (const [i, { tests }] of ran.entries()) {
        assert.equal(tests.length, 2);
        assert.notEqual(tests[1]!.outcome, 'pass', Object.keys(PROGRAMS)[i]);
      }
    }
  });

  it('rows that are not literal run as they stand, in their place', async () => {
    const sources = [
      'assert f(1) == 2',
      'for x in (1, 2): assert f(x) == x + 1',
      'assert f(3) == 5',
      'assert abs(f(1)) == 2',
    ];
    const outcomes = await judgeSources(
      sources.map((test_source, i) => ({ id: `${i}`, code: ANSWERING.right!, entry: 'f', test_source })),
      'assert',
      sandbox,
    );
    assert.deepEqual(
      outcomes.map(({ id, outcome, mode, names }) => [id, outcome, mode, names]),
      [
        ['0', 'pass', 'values', ['line 1']],
        ['1', 'pass', 'assert', ['line 1']],
        ['2', 'fail', 'values', ['line 1']],
        ['3', 'pass', 'assert', ['line 1']],
      ],
    );
  });
});

describe('test source that is literal, on WebAssembly', function () {
  this.timeout(300_000); // for a busy machine
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await openWasm({ size: 1 });
  });
  after(() => sandbox?.close());

  it('runs there for pytest too; what is not literal is refused in one line', async () => {
    const table = LITERAL.at(-1)![1];
    const judged = async (test_source: string) =>
      (await judgeSources([{ id: 'a', code: ANSWERING.right!, test_source }], 'pytest', sandbox))[0]!;
    const { outcome, names, mode } = await judged(table);
    assert.deepEqual([outcome, names, mode], ['pass', ['test_solution.py::test_it'], 'values']);
    await assert.rejects(judged(`${table}    assert len([answer]) == 1\n`), {
      code: 'SANDBOX_UNAVAILABLE',
      message: /^tests of style pytest that are more than literal asserts need --sandbox docker: .*no pytest/,
    });
    const [generator] = await judgeSources(
      [{ id: 'a', code: ANSWERING.generators!, test_source: table }],
      'pytest',
      sandbox,
    );
    assert.equal(generator!.outcome, 'error');
  });
});
