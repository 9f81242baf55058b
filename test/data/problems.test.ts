import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GauntletError } from '../../core/errors.js';
import type { Problem } from '../../core/schema/problem.js';
import { readProblemFile } from '../../data/problemFile.js';
import { loadProblems, splitByHash } from '../../data/problems.js';
import { parseSignature } from '../../data/signature.js';

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
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gauntlet-problems-'));
  });
  after(() => rm(folder, { recursive: true }));

  const write = async (content: unknown, name = 'p.json'): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  };
  const read = async (content: unknown): Promise<Problem[]> => readProblemFile(await write(content));
  const testsOf = async (fields: object): Promise<Problem['baselineTests']> =>
    (await read([{ ...record, ...fields }]))[0]!.baselineTests;
  const refuses = async (content: unknown, message: RegExp, name?: string): Promise<void> => {
    const file = await write(content, name);
    await assert.rejects(readProblemFile(file), (error: GauntletError) => {
      assert.equal(error.code, 'BAD_INPUT');
      assert.match(error.message, message);
      assert.ok(!error.message.includes('\n'), error.message);
      return true;
    });
  };

  it('reads the schema: snake_case in, one problem out', async () => {
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

  it('reads JSON lines, a single problem, and an object with `problems` alike', async () => {
    const expected = await read([record]);
    assert.deepEqual(await read(`${JSON.stringify(record)}\n\n`), expected);
    assert.deepEqual(await read(JSON.stringify(record, null, 2)), expected);
    assert.deepEqual(await read({ problems: [record] }), expected);
    assert.deepEqual(await read(`${JSON.stringify(record)}\n${JSON.stringify({ ...one, baseline_tests: [] })}\n`), [
      ...expected,
      ...(await read([{ ...one, baseline_tests: [] }])),
    ]);
  });

  it('takes every form of test for the same test', async () => {
    const expected = [{ args: [[2, 7], 9], expected: [0, 1] }];
    for (const form of [
      [[2, 7], 9, [0, 1]],
      [
        [[2, 7], 9],
        [0, 1],
      ],
      { inputs: [[2, 7], 9], expected: [0, 1] },
      'assert two_sum([2, 7], 9) == [0, 1]',
      'two_sum([2, 7], 9) == [0, 1]',
      '(([2, 7], 9), [0, 1])',
    ]) {
      assert.deepEqual(await testsOf({ baseline_tests: [form] }), expected, JSON.stringify(form));
    }
  });

  it('keeps Python values of assert strings, and gives JSON floats and objects their tags', async () => {
    const tests = await testsOf({
      baseline_tests: ['assert two_sum((1,), 2**70) == {"a": None}', [{ a: 1 }, 0.5, true]],
    });
    assert.deepEqual(tests, [
      { args: [{ t: [1] }, { i: `0x${(2n ** 70n).toString(16)}` }], expected: { d: [['a', null]] } },
      { args: [{ d: [['a', 1]] }, { f: '0.5' }], expected: true },
    ]);
  });

  it('reads `[x, expected]` of one argument, and refuses what can be read in two ways', async () => {
    const fields = { ...one, function_signature: 'def f(x):' };
    assert.deepEqual(
      await testsOf({
        ...fields,
        baseline_tests: [
          [3, 4],
          [[1, 2], 3],
        ],
      }),
      [
        { args: [3], expected: 4 },
        { args: [[1, 2]], expected: 3 },
      ],
    );
    await refuses(
      [{ ...fields, baseline_tests: [[[5], 6]] }],
      /p\.json: problem 1 \(one\): baseline_tests\[0\] can be read in two ways/,
    );
  });

  it('names the file, the place and the field of what is missing', async () => {
    const { function_signature: _, ...unsigned } = record;
    await refuses([record, { ...unsigned, id: 'b' }], /^p\.json: problem 2 \(b\): missing field `function_signature`$/);
    await refuses(
      `${JSON.stringify(record)}\n\n{"id": "c"}`,
      /^lines\.jsonl: line 3 \(c\): missing field `description`$/,
      'lines.jsonl',
    );
    await refuses([{ ...record, reference_solution: '' }], /field `reference_solution`: must not be empty/);
    await refuses([{ ...record, tags: 'x' }], /field `tags`/);
    await refuses([{ ...record, function_signature: 'two_sum' }], /field `function_signature`: no `def/);
    await refuses([3], /problem 1: is not a problem/);
  });

  it('refuses broken JSON, an empty file, a doubled id and a missing file, each in one line', async () => {
    await refuses('[{"id": ]', /^p\.json: is not JSON: /);
    await refuses(`${JSON.stringify(record)}\n{oops`, /^p\.json: line 2 is not JSON/);
    await refuses('  \n', /is empty/);
    await refuses([record, record], /problem 2: id `two_sum` is taken by problem 1/);
    await assert.rejects(
      loadProblems(join(folder, 'none.json')),
      /cannot read problems from .*none\.json: no such file/,
    );
    await assert.rejects(loadProblems(folder), /it is a folder/);
  });

  it('refuses tests that do not fit, by index', async () => {
    const bad = (test: unknown, message: RegExp): Promise<void> =>
      refuses([{ ...record, baseline_tests: [record.baseline_tests[0], test] }], message);
    await bad([1, 2], /baseline_tests\[1\] gives 1 arguments, but two_sum takes 2 arguments/);
    await bad([], /baseline_tests\[1\] is an empty list/);
    await bad(5, /baseline_tests\[1\] is none of/);
    await bad({ inputs: 3, expected: 1 }, /has no list `inputs`/);
    await bad({ inputs: [1, 2] }, /has no `expected`/);
    await bad('assert other(1, 2) == 3', /baseline_tests\[1\] calls another function/);
    await bad('assert two_sum(1, 2) == g(3)', /baseline_tests\[1\] holds a value that would have to be computed/);
    await bad('assert two_sum(1) == 3', /another number of arguments/);
    await bad('nothing here', /holds no test/);
    await bad([1, 2, 1e300], /no longer exact/);
  });
});

describe('signatures', () => {
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

describe('splits of a file', () => {
  const problem = (id: string): Problem => ({ id }) as Problem;
  it('are 80 / 10 / 10 by id alone: order and company change nothing', () => {
    const all = Array.from({ length: 2000 }, (_, i) => problem(`p${i}`));
    const set = splitByHash(all);
    for (const split of ['validation', 'test'] as const) assert.ok(Math.abs(set[split].length - 200) < 45, split);
    const half = splitByHash(all.filter((_, i) => i % 2 === 0).reverse());
    const ids = new Set(set.test.map(({ id }) => id));
    for (const { id } of half.test) assert.ok(ids.has(id));
  });
  it('leave none empty from three problems on, and train with one', () => {
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
  it('of the shipped family come from the family', async () => {
    const set = await loadProblems('tiny');
    assert.deepEqual([set.train.length, set.validation.length, set.test.length], [1315, 157, 267]);
  });
});
