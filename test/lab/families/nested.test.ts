// The nested family: its splits, its tests and its flaws. CPython checks the results of programs.
import assert from 'node:assert/strict';
import { RandomStream } from '../../../core/base/random.js';
import { problemSchema, SPLITS } from '../../../core/schema/problem.js';
import { compositionOf, type NestedReading } from '../../../lab/families/nested/family.js';
import { drawReading } from '../../../lab/families/nested/flaws.js';
import { interpretNested, type NestedArgs } from '../../../lab/families/nested/interpret.js';
import { allNestedProblems, loadNestedProblems } from '../../../lab/families/nested/problems.js';
import { renderCode } from '../../../lab/families/nested/render.js';
import { drawArgs, passesHidden } from '../../../lab/families/nested/tests.js';
import { requirePython, runPython } from '../../support/cpython.js';

const stream = (...path: (string | number)[]): RandomStream => new RandomStream('nested-test', ...path);

describe('the nested family', () => {
  const family = allNestedProblems();
  const loaded = loadNestedProblems();

  it('shares no composition between splits, and has both sources in every split', () => {
    const owner = new Map<string, string>();
    for (const problem of family) {
      assert.equal(owner.get(compositionOf(problem)) ?? problem.split, problem.split);
      owner.set(compositionOf(problem), problem.split);
    }
    for (const split of SPLITS) {
      const own = family.filter((problem) => problem.split === split);
      assert.deepEqual([...new Set(own.map(({ source }) => source))], ['rows', 'words']);
    }
    assert.ok(loaded.test.length >= 200 && loaded.train.length >= 1000);
  });

  it('has valid problems with unique ids and descriptions', () => {
    const problems = SPLITS.flatMap((split) => loaded[split]);
    for (const field of ['id', 'description'] as const)
      assert.equal(new Set(problems.map((problem) => problem[field])).size, family.length);
    for (const problem of problems) {
      assert.deepEqual(problemSchema.parse(problem), problem);
      assert.equal(problem.baselineTests.length, 3);
      assert.ok(problem.hiddenTests.length >= 16);
    }
  });

  it('has flawed readings, most of which pass the baseline tests', () => {
    let flawed = 0;
    let unnoticed = 0;
    for (const [i, problem] of family.entries()) {
      const { reading, flaws } = drawReading(problem, stream('chain', i));
      if (flaws.length === 0 || passesHidden(problem, reading)) continue;
      flawed++;
      const tests = loaded[problem.split].find(({ id }) => id === problem.id)!.baselineTests;
      const agrees = tests.every(({ args, expected }) => {
        const outcome = interpretNested(reading, args as unknown as NestedArgs);
        return JSON.stringify(outcome) === JSON.stringify({ value: expected });
      });
      unnoticed += Number(agrees);
    }
    const share = flawed / family.length;
    assert.ok(share > 0.5 && share < 0.6, `${share}`);
    assert.ok(unnoticed / flawed > 0.5, `${unnoticed / flawed}`);
  });

  describe('compared with CPython', () => {
    before(requirePython);

    it('computes the same as the interpreter, for correct and flawed readings', () => {
      const cases = family.flatMap((problem, i): { reading: NestedReading; args: NestedArgs[]; code: string }[] => {
        const { reading } = drawReading(problem, stream('program', i));
        const args = [0, 1, 2, 3].map((j) => drawArgs(problem, j % 2 ? 'edge' : 'typical', stream('args', i, j)));
        return [problem, reading].map((one) => ({ reading: one, args, code: renderCode(one) }));
      });
      const answers = runPython(cases.map(({ code, args }) => ({ code, args, tests: [] })));
      for (const [i, { reading, args, code }] of cases.entries()) {
        const expected = args.map((one) => interpretNested(reading, one));
        assert.deepEqual(answers[i]!.answers, expected, `${code}\n${JSON.stringify(args)}`);
      }
    });
  });
});
