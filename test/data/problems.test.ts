import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { parseSignature } from '../../core/parse/signature.js';
import type { Problem } from '../../core/schema/problem.js';
import { toRecord } from '../../data/formats/gauntlet.js';
import { checkProblems, loadProblems, splitByHash } from '../../data/problems.js';
import { readTasks } from '../../inference/tasks.js';
import { digestJson } from '../../store/canonicalJson.js';
import { problemFiles, readSet } from '../support/entries.js';

const record = {
  id: 'two_sum',
  description: 'Find two numbers that add up to target',
  function_signature: 'def two_sum(nums, target):',
  baseline_tests: ['assert two_sum([2,7], 9) == [0,1]'],
  reference_solution: 'def two_sum(nums, target):\n    return [0, 1]',
  difficulty: 'easy',
  tags: ['array', 'hash-table'],
};
const one = { ...record, id: 'one', function_signature: 'def f(x: int = 3) -> int:' };

describe('problem files', () => {
  const { write, refuses, path } = problemFiles('p.json');
  const read = async (content: unknown): Promise<Problem[]> =>
    (await readSet(write(content), { format: 'gauntlet' })).problems;
  const testsOf = async (fields: object): Promise<Problem['baselineTests']> =>
    (await read([{ ...record, ...fields }]))[0]!.baselineTests;

  it('reads every field of the schema', async () => {
    const [problem] = await read([{ ...record, title: 'Two sum' }]);
    assert.deepEqual(problem, {
      id: 'two_sum',
      title: 'Two sum',
      description: record.description,
      functionSignature: record.function_signature,
      entry: 'two_sum',
      baselineTests: [{ args: [[2, 7], 9], expected: [0, 1] }],
      hiddenTests: [],
      referenceSolution: record.reference_solution,
      difficulty: 'easy',
      tags: ['array', 'hash-table'],
      source: 'p.json',
      comparison: 'lenient',
    });
  });

  it('reads and writes the reasoning of a problem, and refuses the wrong number of texts', async () => {
    const reasoning = ['plain words', 'steps', 'pseudocode', 'constraints'];
    const [problem] = await read([{ ...record, reasoning }]);
    assert.deepEqual(problem!.reasoning, reasoning);
    assert.deepEqual(await read([toRecord(problem!)]), [problem]);
    await refuses([{ ...record, reasoning: ['one'] }], /field `reasoning`: must have 4 texts/);
  });

  it('accepts JSON lines, a single problem, and an object with `problems`', async () => {
    const expected = await read([record]);
    assert.deepEqual(await read(`${JSON.stringify(record)}\n\n`), expected);
    assert.deepEqual(await read(JSON.stringify(record, null, 2)), expected);
    assert.deepEqual(await read({ problems: [record] }), expected);
    assert.deepEqual(await read(`${JSON.stringify(record)}\n${JSON.stringify({ ...one, baseline_tests: [] })}\n`), [
      ...expected,
      ...(await read([{ ...one, baseline_tests: [] }])),
    ]);
  });

  it('reads all forms of a test as the same test', async () => {
    const expected = [{ args: [[2, 7], 9], expected: [0, 1] }];
    const json = ['[[2, 7], 9, [0, 1]]', '[[[2, 7], 9], [0, 1]]', '{"inputs": [[2, 7], 9], "expected": [0, 1]}'];
    for (const form of [
      ...json.map((text): unknown => JSON.parse(text)),
      'assert two_sum([2, 7], 9) == [0, 1]',
      'two_sum([2, 7], 9) == [0, 1]',
      'two_sum([2,\n7], 9) == [0, 1]',
      '(([2, 7], 9), [0, 1])',
    ]) {
      assert.deepEqual(await testsOf({ baseline_tests: [form] }), expected, JSON.stringify(form));
    }
  });

  it('keeps Python values of assert strings and tags JSON floats and objects', async () => {
    const tests = await testsOf({
      baseline_tests: ['assert two_sum((1,), 2**70) == {"a": None}', [{ a: 1 }, 0.5, true]],
    });
    assert.deepEqual(tests, [
      { args: [{ t: [1] }, { i: `0x${(2n ** 70n).toString(16)}` }], expected: { d: [['a', null]] } },
      { args: [{ d: [['a', 1]] }, { f: '0.5' }], expected: true },
    ]);
  });

  it('keeps the numbers and the key order of JSON tests as written', async () => {
    const own = { ...one, function_signature: 'def f(x):', baseline_tests: ['A'], hidden_tests: ['B', 'C', 'D'] };
    const json = JSON.stringify(own)
      .replace('"A"', '[[2.0, 1e20], 12345678901234567890]')
      .replace('"B"', '{"inputs": [{"10": 1.0, "b": "2:", "2" : [3]}], "expected": -0.0}')
      .replace('"C"', '{"args": [9007199254740991], "expected": {"f": "1.0"}}')
      .replace('"D"', '{"args": [{"t": [1.0, {"d": [[2.0, 1e3]]}]}], "expected": [12345678901234567890, NaN, 3]}');
    for (const text of [json, `[${json}]`]) {
      const [problem] = await read(text);
      assert.deepEqual(problem!.baselineTests, [
        { args: [[{ f: '2.0' }, { f: '1e+20' }]], expected: { i: '0xab54a98ceb1f0ad2' } },
      ]);
      const dict = [
        ['10', { f: '1.0' }],
        ['b', '2:'],
        ['2', [3]],
      ];
      assert.deepEqual(problem!.hiddenTests, [
        { args: [{ d: dict }], expected: { f: '-0.0' } },
        { args: [9007199254740991], expected: { f: '1.0' } },
        {
          args: [{ t: [{ f: '1.0' }, { d: [[{ f: '2.0' }, { f: '1000.0' }]] }] }],
          expected: [{ i: '0xab54a98ceb1f0ad2' }, { f: 'nan' }, 3],
        },
      ]);
      assert.deepEqual(await read([toRecord(problem!)]), [problem]);
    }
  });

  it('reads every statement of an assert string, or refuses the string', async () => {
    const f = { ...one, function_signature: 'def f(x):' };
    const tests = [
      'f(1) == 1\nf(2) == 2  # two\n',
      'import math\n((3,), 3)\r\nassert f(4) == 4; f(5) is None',
      'x = 6\nr = f(x)\nassert r == 6',
    ];
    assert.deepEqual(
      (await testsOf({ ...f, baseline_tests: tests })).map(({ args, expected }) => [...args, expected]),
      [
        [1, 1],
        [2, 2],
        [3, 3],
        [4, 4],
        [5, null],
        [6, 6],
      ],
    );
    for (const [test, message] of [
      ['with pytest.raises(ValueError):\n    f(1)\nassert f(1) == 1', /cannot be read as a test: "with pytest/],
      ['r = other\nassert r\nassert f(2) == 2', /cannot be read as a test: "r = other\\nassert r"/],
      [
        'if __name__ == "__main__":\n    assert f(5) == g(5)\nassert f(1) == 1',
        /would have to be computed: "assert f\(5\)/,
      ],
      ['assert f(1) == 1\nf(2) = = 2', /cannot be read as a test/],
      ['assert f(1) == 1\nfor i in range(3):\n    assert f(i) == i', /would have to be computed: "assert f\(i\) == i"/],
    ] as const)
      await refuses([{ ...f, baseline_tests: [test] }], message);
    const program = { ...f, entry: 'main', calling: { style: 'stdio' }, baseline_tests: ['(("1\\n",), "2")'] };
    assert.deepEqual((await read([program]))[0]!.baselineTests, [{ args: ['1\n'], expected: '2' }]);
  });

  it('names the field of a record that a missing field was perhaps meant to be', async () => {
    const { baseline_tests: tests, reference_solution: reference, ...rest } = record;
    for (const [given, message] of [
      [
        { ...rest, tests },
        /missing field `baseline_tests`: is it `tests`\? Rename that field, or name all columns with --map/,
      ],
      [{ ...rest, baselineTest: tests }, /missing field `baseline_tests`: is it `baselineTest`\?/],
      [{ ...record, description: null, problem_description: 'x' }, /`description`: is it `problem_description`\?/],
      [{ ...rest, hidden_tests: [], checks: tests }, /missing field `baseline_tests`$/],
    ] as const)
      await refuses([{ ...given, reference_solution: reference }], message);
  });

  it('treats null fields as absent and accepts a number as difficulty', async () => {
    const [problem] = await read([{ ...record, title: null, hidden_tests: null, difficulty: 3 }]);
    assert.deepEqual([problem!.title, problem!.hiddenTests, problem!.difficulty], [undefined, [], '3']);
    await refuses([{ ...record, description: null }], /missing field `description`/);
    const file = write([{ ...record, baseline_tests: null, reference_solution: null }]);
    const { tasks } = await readTasks(file);
    assert.deepEqual(tasks[0]!.baselineTests, []);
    const options = { map: { description: ['input'], signature: ['start'] } };
    for (const json of [{ input: 'Halve.\ndef halve(xs):' }, { input: 'Halve.', start: 'def halve(xs):' }]) {
      const [task] = (await readTasks(write([json]), options)).tasks;
      assert.deepEqual([task!.entry, task!.functionSignature], ['halve', 'def halve(xs):']);
    }
  });

  it('may have another format', async () => {
    const mbpp = { task_id: 1, text: 'Double.', code: 'def f(x): return 2 * x', test_list: ['assert f(1) == 2'] };
    const file = write(mbpp);
    const { train, rejected } = await loadProblems(file);
    assert.deepEqual([train.map(({ id }) => id), rejected], [['MBPP/1'], undefined]);
    assert.deepEqual((await readTasks(file)).tasks, train);
    const { rejected: others } = await loadProblems(write([record, mbpp]));
    assert.deepEqual(others, [{ id: '1', reason: "problem 2: is in the format mbpp, the file is in gauntlet's" }]);
  });

  it('keeps inputs without expected values, which a run answers', async () => {
    const file = write({
      task_id: 'E/1',
      prompt: 'def f(x):\n    "half"\n',
      entry_point: 'f',
      canonical_solution: '    return x / 2\n',
      base_input: [[1]],
      plus_input: [],
    });
    const { train, rejected } = await loadProblems(file);
    assert.deepEqual([train.map(({ inputs }) => inputs), rejected], [[{ baseline: [[1]], hidden: [] }], undefined]);
    assert.deepEqual(train[0]!.baselineTests, []);
    assert.equal((await checkProblems(file))!.untested, 0);
  });

  describe('an ambiguous list test', () => {
    const withTests = (of: object, tests: string) => ({ ...of, baseline_tests: JSON.parse(tests) as unknown });
    const taking1 = { ...one, function_signature: 'def f(x):' };
    const ambiguous = withTests(taking1, '[[[5], 6]]');
    const [flat, nested] = ['[[[2, 7], 9, [0, 1]]]', '[[[[2, 7], 9], [0, 1]]]'].map((text) => withTests(record, text));

    it('is read like the other list tests of its problem', async () => {
      assert.deepEqual(await testsOf(withTests(taking1, '[[3, 4], [[1, 2], 3], [[5], 6]]')), [
        { args: [3], expected: 4 },
        { args: [[1, 2]], expected: 3 },
        { args: [[5]], expected: 6 },
      ]);
      const taking2 = { ...ambiguous, function_signature: 'def f(x, y=0):', hidden_tests: [[1, 2, 3]] };
      assert.deepEqual(await testsOf(taking2), [{ args: [[5]], expected: 6 }]);
    });

    it('is read like the list tests of other problems if all tests of its own problem are ambiguous', async () => {
      for (const [other, args] of [[flat, [[5]]] as const, [nested, [5]] as const])
        for (const set of [
          [other, ambiguous],
          [ambiguous, other],
        ]) {
          const found = (await read(set)).find(({ id }) => id === 'one')!;
          assert.deepEqual(found.baselineTests, [{ args, expected: 6 }]);
        }
    });

    it('is quarantined if both readings stay possible', async () => {
      const way = 'write {"inputs": [...], "expected": ...}';
      const { rejected } = await loadProblems(write([flat, { ...nested, id: 'b' }, ambiguous]));
      const reason = `problem 3: baseline_tests[0] can be read in two ways: ${way}`;
      assert.deepEqual(rejected, [{ id: 'one', reason }]);
      await refuses([ambiguous], /can be read in two ways/);
    });
  });

  it('reads NaN and Infinity, which Python writes as JSON, as floats', async () => {
    const text = JSON.stringify([{ ...record, baseline_tests: [['nan', 1, ['inf']]] }]);
    const json = text.replace('"nan"', 'NaN').replace('"inf"', '-Infinity');
    assert.deepEqual((await read(json))[0]!.baselineTests, [{ args: [{ f: 'nan' }, 1], expected: [{ f: '-inf' }] }]);
  });

  it('skips the bad records of a file and names them', async () => {
    const bad = [
      { ...record, id: 'bad', description: '' },
      { ...record, id: 'worse', function_signature: undefined },
    ];
    const set = await loadProblems(write([record, ...bad, one].map((line) => JSON.stringify(line)).join('\n')));
    assert.deepEqual(set.rejected, [
      { id: 'bad', reason: 'line 2: field `description`: must not be empty' },
      { id: 'worse', reason: 'line 3: missing field `function_signature`' },
      { id: 'one', reason: 'line 4: baseline_tests[0] calls `two_sum`, but the entry is `f`' },
    ]);
    assert.deepEqual(
      set.train.map(({ id }) => id),
      ['two_sum'],
    );
    assert.equal((await loadProblems(write([record]))).rejected, undefined);
  });

  it('names the file, the position and the name of a missing or malformed field', async () => {
    const { function_signature: _, ...unsigned } = record;
    await refuses(
      [{ ...unsigned, id: 'b' }],
      /^p\.json: no record can be used; the first: problem 1: missing field `function_signature`$/,
    );
    await refuses(
      `\n\n{"id": "c"}`,
      /^lines\.jsonl: line 3: unknown format \(its fields: id\); name a format/,
      'lines.jsonl',
    );
    await refuses([{ ...record, reference_solution: '' }], /field `reference_solution`: must not be empty/);
    await refuses([{ ...record, tags: 'x' }], /field `tags`/);
    await refuses([{ ...record, function_signature: 'two_sum' }], /field `function_signature`: no `def/);
    await refuses([3], /problem 1: unknown format \(its fields: not an object\)/);
  });

  it('refuses broken JSON, an empty file, a duplicate id and a missing file in one line each', async () => {
    await refuses('[{"id": ]', /^p\.json: is not JSON: /);
    await refuses(`${JSON.stringify(record)}\n{oops`, /^p\.json: line 2 is not JSON/);
    await refuses('  \n', /is empty/);
    await refuses([record, record], /problem 2: id `two_sum` is taken by problem 1/);
    await assert.rejects(loadProblems(path('none.json')), /cannot read problems from .*none\.json: no such file/);
    const empty = path('empty');
    await mkdir(empty);
    await assert.rejects(loadProblems(empty), /empty: has no problem files \(\*\.json, /);
  });

  it('names a bad test by its index', async () => {
    const bad = (test: unknown, message: RegExp): Promise<void> =>
      refuses([{ ...record, baseline_tests: [record.baseline_tests[0], test] }], message);
    await bad('assert two_sum([1], goal=2) == [0]', /baseline_tests\[1\] gives another number of arguments/);
    await bad(
      { inputs: { nums: [1], goal: 2 }, expected: 1 },
      /has an input `goal`, but two_sum takes \(nums, target\)/,
    );
    await bad([1, 2], /baseline_tests\[1\] gives 1 argument, but two_sum takes 2 arguments/);
    await bad([], /baseline_tests\[1\] is an empty list/);
    await bad(5, /baseline_tests\[1\] is none of/);
    await bad({ inputs: 3, expected: 1 }, /has no list `inputs`/);
    await bad({ inputs: [1, 2] }, /has no `expected`/);
    for (const other of [
      'assert other(1, 2) == 3',
      'other(1) == 3',
      'other(\n1) == 3',
      'assert not other(1)',
      'assert sorted(other(1))',
    ])
      await bad(other, /baseline_tests\[1\] calls `(?:other|sorted)`, but the entry is `two_sum`/);
    await bad('assert two_sum(1, 2) == g(3)', /baseline_tests\[1\] holds a value that would have to be computed/);
    await bad('assert two_sum(1) == 3', /another number of arguments/);
    await bad('assert sorted(two_sum([1], 2)) == [0]', /asserts something other than f\(args\) == expected/);
    await bad('nothing here', /cannot be read as a test/);
  });
});

describe('the signatures of problems', () => {
  it('count positional arguments, with defaults, annotations, self and stars', () => {
    const cases: [string, [string, number, number] | undefined][] = [
      ['def f():', ['f', 0, 0]],
      ['def f(self, a: dict[str, int], b="x,)", *, c=1) -> int:', ['f', 1, 2]],
      ['class Solution:\n    def g(self, nums: List[int]) -> bool:', ['g', 1, 1]],
      ['def h(a, /, *rest, **more)', ['h', 1, Infinity]],
      ['async def k(x):', ['k', 1, 1]],
      ['lambda x: x', undefined],
      ['def broken(x', undefined],
    ];
    for (const [text, expected] of cases) {
      const signature = parseSignature(text);
      assert.deepEqual(signature && [signature.entry, signature.required, signature.most], expected, text);
    }
  });
});

describe('the splits of problems', () => {
  const problem = (id: string): Problem => ({ id }) as Problem;
  it('contain 80 / 10 / 10 %, and depend only on the id', () => {
    const all = Array.from({ length: 2000 }, (_, i) => problem(`p${i}`));
    const set = splitByHash(all);
    for (const split of ['validation', 'test'] as const) assert.ok(Math.abs(set[split].length - 200) < 45, split);
    const half = splitByHash(all.filter((_, i) => i % 2 === 0).reverse());
    const ids = new Set(set.test.map(({ id }) => id));
    for (const { id } of half.test) assert.ok(ids.has(id));
  });
  it('are not empty with three or more problems; train is never empty', () => {
    for (let count = 1; count < 12; count++) {
      for (let start = 0; start < 20; start++) {
        const all = Array.from({ length: count }, (_, i) => problem(`q${start}-${i}`));
        const set = splitByHash(all);
        assert.equal(set.train.length + set.validation.length + set.test.length, count);
        assert.ok(set.train.length > 0);
        if (count >= 3) assert.ok(set.validation.length > 0 && set.test.length > 0, `${count} ${start}`);
      }
    }
  });
});

describe('the built-in problems', () => {
  /** The digests of the built-in problems. Memo keys and manifests contain them, so results of runs depend on them. */
  const DIGESTS = {
    tiny: ['sha256:7dc5801ba02960b6b306208dd8a7c1ca1645f52855e3a63a9db79a8a1ca73d7f', 1315, 157, 267],
    nested: ['sha256:f467cdda169b97eec6c6972a1f6acdb41432fb5b7e4dd307a49044ca9131cdbd', 1200, 160, 240],
    steps: ['sha256:834793de9e3ce00b0b4b9c0d9e09c3afa669a12ea01fef722212b4807a782bba', 2527, 119, 119],
    'steps:3-5': ['sha256:05dc00042bcb656cac14c3f233cf055f8868c388a2e425d24213e765b3a901a7', 216, 72, 72],
  };
  for (const [source, expected] of Object.entries(DIGESTS)) {
    it(`have the recorded digest: ${source}`, async () => {
      const set = await loadProblems(source);
      const { train, validation, test } = set;
      assert.deepEqual([digestJson(set), train.length, validation.length, test.length], expected);
    });
  }

  it('are selected by level in steps', async () => {
    const levels = async (source: string): Promise<string[]> => [
      ...new Set((await loadProblems(source)).train.map(({ difficulty }) => difficulty)),
    ];
    assert.deepEqual(await levels('steps'), ['level 1', 'level 2']);
    assert.deepEqual(await levels('steps:1'), ['level 1']);
    assert.deepEqual(await levels('steps:2-4'), ['level 2', 'level 3', 'level 4']);
    for (const source of ['steps:9', 'steps:', 'steps:2-1', 'steps:a', 'steps:1-2-3']) {
      const refused = {
        code: 'BAD_INPUT',
        message: `problems: \`${source}\`: write steps, steps:LEVEL or steps:FIRST-LAST, levels 1 to 5`,
      };
      await assert.rejects(loadProblems(source), refused);
      await assert.rejects(checkProblems(source), refused);
    }
  });
});
