// Which test source is literal, and how it is judged without running: what is in doubt has to run.
import assert from 'node:assert/strict';
import { type Claim, literalTests } from '../../core/parse/literalTests.js';
import type { ExecutionJob, TestJob } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import { holds, judgeTable, runSources } from '../../sandbox/literalRun.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

const asserts = (source: string, entry: string | undefined = 'f') => literalTests({ 'a.py': source }, 'assert', entry);
const pytest = (source: string) => literalTests({ 'test_a.py': source }, 'pytest');
const table = (rows: string, head = 'x, y') =>
  `import pytest\nfrom solution import f\n@pytest.mark.parametrize(${JSON.stringify(head)}, [${rows}])\ndef test_f(${head}):\n    assert f(x) == ${head.includes('y') ? 'y' : '1'}\n`;
const idsOf = (rows: string, head?: string) => pytest(table(rows, head))?.tests.map(({ name }) => name.slice(18, -1));

describe('literal test source', () => {
  it('becomes calls with arguments, and claims in the order of the source', () => {
    const found = asserts(
      'from solution import f\nassert f(1, [2]) == (3,)\n\nassert not f(); assert None is f("a")\n',
    );
    assert.deepEqual(found, {
      entry: 'f',
      inputs: [[1, [2]], [], ['a']],
      tests: [
        { name: 'line 2', line: 2, steps: [{ call: 0 }, { call: 0, is: '==', expected: { t: [3] } }] },
        { name: 'line 4', line: 4, steps: [{ call: 1 }, { call: 1, is: 'false' }] },
        { name: 'line 4 #2', line: 4, steps: [{ call: 2 }, { call: 2, is: 'is', expected: null }] },
      ],
    });
  });

  it('functions come after what stands at the top, and check(candidate) gets the entry', () => {
    const source = 'def test_b():\n  x = 1\n  r = g(x)\n  assert r != 2\nassert g(3)\n';
    assert.deepEqual(
      asserts(source, undefined)?.tests.map(({ name, steps }) => [name, steps[0]]),
      [
        ['line 5', { call: 0 }],
        ['test_b', { call: 1 }],
      ],
    );
    const check = 'def check(candidate):\n  assert candidate(1) == 2\n  assert True\n';
    assert.deepEqual([asserts(check)?.entry, asserts(check)?.tests[0]?.name], ['f', 'check']);
    assert.deepEqual(
      [asserts(`${check}check(h)`)?.entry, asserts(`${check}check(h)`)?.tests[0]?.name],
      ['h', 'line 4'],
    );
    assert.equal(literalTests({ 'a.py': check }, 'assert'), undefined, 'nobody says what is checked');
  });

  it('rows of parametrize have the names that pytest gives them', () => {
    assert.deepEqual(
      idsOf("(1, None), (True, 2.50), ('a b', []), ('é\\n\\\\😀', -1e30), pytest.param({}, 'z', id='one\\t')"),
      ['1-None', 'True-2.5', 'a b-y2', '\\xe9\\n\\\\\\U0001f600--1e+30', 'one\\t'],
    );
    assert.deepEqual(idsOf("(1, 2), 'c', 10**20, float('inf')", 'x'), ['x0', 'c', '100000000000000000000', 'inf']);
    for (const rows of ['(1, 2), (1, 2)', "(b'a', 1)", '(1, 2j)', '(1,)', '', 'pytest.param(1, 2, marks=())', "'ab'"])
      assert.equal(idsOf(rows), undefined, rows);
  });

  it('what a value, a name or a statement could make different in Python has to run', () => {
    for (const bad of [
      // literals
      'assert f(null) == 1',
      'assert f(1) == true',
      'assert f(1) == math.inf',
      'assert f(1) == 2 ** 0.5',
      'assert f(1) == 2 ** -1',
      `assert f(1) == 1${'0'.repeat(4300)}`,
      'assert f(1) == (10 ** 30) / 3',
      'assert f(frozenset([1])) == 1',
      'assert f(1) == {float("nan")}',
      'assert f(1) == {(1, float("nan")): 2}',
      'assert f(1) == {1 + 2j}',
      'assert f(1) == {(1, {2})}',
      'assert f(1) == float(10 ** 400)',
      'assert f("\\ud83d\\ude00") == 1',
      'assert f(b"é") == 1',
      'assert f(f"{1}") == 1',
      'assert f(1) == [x for x in (1, 2)]',
      // claims
      'assert f(1) == 1, x',
      'assert (f(1) == 2, "always true")',
      'assert f(1) == 1 == 1',
      'assert f(1) is 1',
      'assert f(1) < 2',
      'assert f(1) == f(1)',
      'assert f(f(1)) == 1',
      'assert f(x=1) == 1',
      'assert f(*[1]) == 1',
      'assert f(1) == 1 and f(2) == 2',
      'assert f(1) in [1, 2]',
      'assert 1 == 1',
      'assert len(f(1)) == 1',
      'assert f(1) == 1\nassert g(1) == 1',
      // statements
      'x = [1]\nassert f(x) == x',
      'x = y\nassert f(1) == 1',
      'for x in (1, 2): assert f(x) == 2',
      'def h(): return 1\nassert f(1) == 1',
      'class T:\n  def test_a(self): assert f(1) == 1',
      'import os\nassert f(1) == 1',
      'from math import *\nassert f(1) == 1',
      'from math import f\nassert f(1) == 1',
      'assert f(1) == 1\nfrom solution import g',
      'from solution import f as g\nassert g(1) == 1',
      'f = 1\nassert f(1) == 1',
      'with x: assert f(1) == 1',
      'set = 1\nassert f(1) == set()',
      'def test_a(): pass\nassert f(1) == 1',
      'def test_a(x): assert f(x) == 1',
      'def test_a(x=1): assert f(x) == 1',
      'async def test_a(): assert f(1) == 1',
      'def test_a():\n  f(0)\n  assert f(1) == 1',
      'def test_a():\n  f = 1\n  assert f(1) == 1',
      'def test_a():\n  x = [1]\n  assert f(x) == 1\n  assert f(x) == 1',
      'def test_a():\n  x = [1]\n  assert f(x) == x',
      'def test_a(): assert f(1) == 1\ndef test_a(): assert f(2) == 1',
      'def check(c):\n  assert f(1) == 1\ncheck(f)',
      'def check(c):\n  c = 1\n  assert c(1) == 1\ncheck(f)',
      // texts
      'assert\tf(1) == 1\nif 1:\n\tpass',
      'assert f(1) == 1\u00a0',
      '# coding: latin-1\nassert f("é") == 1',
      '\ufeffassert f(1) == 1',
      'assert f(1) ==',
      '',
    ])
      assert.equal(asserts(bad), undefined, bad);
    for (const [source, entry] of [
      ['assert sum([1]) == 1', 'f'],
      ['assert sum([1]) == 1', undefined],
      ['assert f(1) == set()', undefined],
      ['assert _f(1) == 1', '_f'],
      ['assert test_f(1) == 1', 'test_f'],
      ['assert f(1) == 1', 'A.f'],
    ] as const)
      assert.equal(literalTests({ 'a.py': source }, 'assert', entry), undefined, source);
    assert.ok(asserts('assert sum([1]) == 1', 'sum'));
    for (const bad of [
      'def test_a(): assert f(1) == 1',
      'from solution import g\ndef test_a(): assert f(1) == 1',
      'import solution\ndef test_a(): assert f(1) == 1',
      'from solution import f\nassert f(1) == 1',
      'from solution import f\ndef test_a(tmp_path): assert f(1) == 1',
      'from solution import f\npytestmark = 1\ndef test_a(): assert f(1) == 1',
      'from solution import f\n@x\ndef test_a(): assert f(1) == 1',
      table('(1, 2)').replace('import pytest\n', ''),
      table('(1, 2)').replace(')])', ')], ids=str)'),
      table('(1, 2)').replace('@', '@pytest.mark.skip\n@'),
      table('([1], 2)').replace('== y', '== x'),
    ])
      assert.equal(pytest(bad), undefined, bad);
    assert.ok(pytest(table('(1, 2)')));
    assert.equal(literalTests({ 'test_a.py': table('(1, 2)'), 'conftest.py': '' }, 'pytest'), undefined);
    assert.equal(literalTests({ 'conftest.py': table('(1, 2)') }, 'pytest'), undefined);
  });

  it('a claim holds as in Python', () => {
    const f = (text: string): Value => ({ f: text });
    const claims: [Omit<Claim, 'call'>, holding: Value[], not: Value[]][] = [
      [{ is: '==', expected: [1] } as Claim, [[1], [true], [f('1.0')]], [{ t: [1] }, [1, 1], f('nan')]],
      [{ is: '!=', expected: f('nan') } as Claim, [f('nan'), 1], []],
      [{ is: 'is', expected: true } as Claim, [true], [1, f('1.0'), false]],
      [{ is: 'is not', expected: null } as Claim, [0, false, []], [null]],
      [
        { is: 'true' },
        [
          true,
          1,
          f('nan'),
          f('-inf'),
          'a',
          [0],
          { t: [null] },
          { s: [0] },
          { d: [[0, 0]] },
          { b: 'AA==' },
          { c: ['0.0', '1.0'] },
          { i: '0x1' },
        ],
        [
          null,
          false,
          0,
          f('0.0'),
          f('-0.0'),
          '',
          [],
          { t: [] },
          { s: [] },
          { d: [] },
          { b: '' },
          { c: ['0.0', '-0.0'] },
        ],
      ],
    ];
    for (const [claim, holding, not] of claims) {
      for (const value of holding)
        assert.ok(holds({ ...claim, call: 0 } as Claim, value), JSON.stringify([claim, value]));
      for (const value of not) assert.ok(!holds({ ...claim, call: 0 } as Claim, value), JSON.stringify([claim, value]));
    }
    assert.ok(holds({ call: 0, is: 'false' }, []) && !holds({ call: 0, is: 'false' }, [0]));
  });

  it('the first call without a value, or claim that does not hold, decides a test', () => {
    const found = asserts('def test_a():\n  assert f(1) == 1\n  assert f(2) == 2\ndef test_b():\n  assert f(3)\n')!;
    const value = (x: Value) => ({ kind: 'value' as const, value: x });
    const run = (...calls: Parameters<typeof judgeTable>[1]['calls']) =>
      judgeTable(found, { id: 'a', calls, ms: 1 }).tests.map(({ outcome }) => outcome);
    assert.deepEqual(run(value(1), value(2), value(3)), ['pass', 'pass']);
    assert.deepEqual(run(value(0), { kind: 'timeout', message: '' }, value(0)), ['fail', 'fail']);
    assert.deepEqual(run(value(1), { kind: 'memory', message: '' }, { kind: 'output', message: '' }), [
      'memory',
      'output',
    ]);
  });

  it('goes to the sandbox as calls, unless an answer is no plain value; the rest goes as it stands, in its place', async () => {
    const asked: string[] = [];
    const sandbox = {
      info: { kind: 'docker', description: '', boundary: true },
      run: async (jobs: ExecutionJob[]) =>
        jobs.map(({ id, inputs, code }) => {
          asked.push(`values ${id}`);
          const message = 'Unsendable: a value of type A is not plain data';
          return {
            id,
            calls: inputs.map(([x]) => (code === 'objects' ? { kind: 'error', message } : { kind: 'value', value: x })),
            ms: 2,
          };
        }),
      runTests: async (jobs: TestJob[]) =>
        jobs.map(({ id }) => {
          asked.push(`source ${id}`);
          return { id, tests: [{ name: 'line 1', outcome: 'error', message: null }], ms: 9 };
        }),
    } as unknown as Sandbox;
    const job = (id: string, code: string, source: string): TestJob => ({
      id,
      code,
      style: 'assert',
      files: { 'a.py': source },
    });
    const progress: number[] = [];
    const runs = await runSources(
      [
        job('a', '', 'assert abs(f(1)) == 1'),
        job('b', '', 'assert f(1) == 1'),
        job('c', 'objects', 'assert f(1) == 1'),
      ],
      sandbox,
      { onProgress: (done) => progress.push(done) },
    );
    assert.deepEqual(asked, ['values b', 'values c', 'source a', 'source c']);
    assert.deepEqual(
      runs.map(({ id, mode, tests }) => [id, mode, tests[0]!.outcome]),
      [
        ['a', 'assert', 'error'],
        ['b', 'values', 'pass'],
        ['c', 'assert', 'error'],
      ],
    );
    assert.deepEqual(progress, [1, 2, 3]);
  });
});
