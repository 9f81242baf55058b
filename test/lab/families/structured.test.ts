import assert from 'node:assert/strict';
import { RandomStream } from '../../../core/random.js';
import type { FrozenProblem } from '../../../lab/catches/programs.js';
import { openStructured } from '../../../lab/families/structured/frozen.js';
import { STRUCTURED } from '../../../lab/families/structured/problems.js';
import { openPython } from '../../../lab/families/structured/python.js';

describe('the family structured', function () {
  this.timeout(60_000);
  let problems: (FrozenProblem & { split: string })[];
  before(async () => {
    problems = await openStructured();
  });

  it('has legal baseline inputs, and experts that draw legal inputs', () => {
    for (const { id, known, isLegal, uniform } of problems) {
      const random = new RandomStream('test', id);
      const drawn = Array.from({ length: 200 }, () => uniform(random));
      for (const input of [...known, ...drawn]) assert.ok(isLegal!(input), `${id}: ${JSON.stringify(input)}`);
    }
  });

  it('has validators that refuse what the description excludes', () => {
    const refused: Record<string, unknown[][]> = {
      brackets: [['(]'], ['(('], ['())'], [3], ['()'.repeat(21)], ['a']],
      date: [['2023-02-29'], ['1900-02-29'], ['2024-13-01'], ['2024-4-01'], ['2024-04-31'], ['1599-12-31'], [20240101]],
      sorted: [
        [[2, 1], 0],
        [[1, 1], 0],
        [[1, 1000], 0],
        [[true, 2], 0],
        [[1], '1'],
      ],
      intervals: [
        [[[3, 2]]],
        [
          [
            [1, 4],
            [4, 6],
          ],
        ],
        [[[-1, 2]]],
        [[[1, 2, 3]]],
        [
          [
            [5, 6],
            [1, 2],
          ],
        ],
        [[[0, 1000]]],
      ],
      tree: [[[]], [[0]], [[-1, 1]], [[-1, 2, 0]], [[-1, -1]]],
      graph: [
        [3, [[0, 1]]],
        [2, [[1, 0]]],
        [
          2,
          [
            [0, 1],
            [0, 1],
          ],
        ],
        [
          2,
          [
            [0, 0],
            [0, 1],
          ],
        ],
        [0, []],
        [2, [[0, 2]]],
      ],
    };
    for (const { id, isLegal } of problems)
      for (const input of refused[id.split('-')[0]!]!)
        assert.equal(isLegal!(input as never), false, `${id}: ${JSON.stringify(input)}`);
  });

  it('has references that answer every legal input, also the smallest', () => {
    const smallest: Record<string, unknown[]> = {
      brackets: [''],
      date: ['1600-01-01'],
      sorted: [[], 0],
      intervals: [[]],
      tree: [[-1]],
      graph: [1, []],
    };
    for (const { id, reference, uniform, isLegal } of problems) {
      const random = new RandomStream('answers', id);
      const least = smallest[id.split('-')[0]!]! as never;
      assert.ok(isLegal!(least), id);
      for (const input of [least, ...Array.from({ length: 200 }, () => uniform(random))])
        assert.doesNotMatch(reference.run(input), /^raises/, `${id}: ${JSON.stringify(input)}`);
    }
  });

  it('has wrong programs that pass the baseline tests and fail another legal input', () => {
    for (const { id, wrong, known, reference, uniform } of problems) {
      assert.ok(wrong.length >= 2, `${id}: ${wrong.length}`);
      assert.equal(new Set(wrong.map(({ code }) => code)).size, wrong.length, id);
      for (const program of wrong) {
        for (const input of known) assert.equal(program.run(input), reference.run(input), program.code);
        const random = new RandomStream('structured', 'legal', id);
        const drawn = Array.from({ length: 2000 }, () => uniform(random));
        assert.ok(
          drawn.some((input) => program.run(input) !== reference.run(input)),
          program.code,
        );
      }
    }
  });

  it('has edits that change their reference', () => {
    for (const { id, reference, edits } of STRUCTURED)
      for (const [from] of edits) assert.ok(reference.includes(from), `${id}: ${from}`);
  });

  it('ends programs that do not end', async () => {
    const python = await openPython();
    const loop = python.load(
      'def solve(x):\n    while x:\n        for i in range(3):\n            pass\n    return 1',
      'solve',
    );
    assert.equal(loop([1]), 'raises TimeoutError');
    assert.equal(loop([0]), '1', 'the next call has all steps again');
  });
});
