// The harder family: its splits, its tests and its flaws. CPython says what programs compute.
import assert from 'node:assert/strict';
import { RandomStream } from '../../../core/random.js';
import { problemSchema, SPLITS } from '../../../core/schema/problem.js';
import { compositionOf, type NestedReading } from '../../../lab/families/nested/family.js';
import { drawChain } from '../../../lab/families/nested/flaws.js';
import { interpretNested, type NestedArgs } from '../../../lab/families/nested/interpret.js';
import { allNestedProblems, loadNestedProblems } from '../../../lab/families/nested/problems.js';
import { renderCode } from '../../../lab/families/nested/render.js';
import { drawArgs, drawTestTurn, passesHidden } from '../../../lab/families/nested/tests.js';
import { requirePython, runPython } from '../../support/cpython.js';

const stream = (...path: (string | number)[]): RandomStream => new RandomStream('nested-test', ...path);

describe('the nested family', () => {
  const family = allNestedProblems();
  const loaded = loadNestedProblems();

  it('splits by composition, with both sources in every split', () => {
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

  it('has flawed chains, most of which pass the baseline tests', () => {
    let flawed = 0;
    let unnoticed = 0;
    for (const [i, problem] of family.entries()) {
      const { reading, flaws, origin, stages } = drawChain(problem, stream('chain', i));
      if (flaws.length === 0 || passesHidden(problem, reading)) continue;
      flawed++;
      assert.equal(stages.length, 5);
      assert.ok(origin >= 1 && origin <= 5);
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

  describe('under CPython', () => {
    before(requirePython);

    it('computes the same as the interpreter, for correct and flawed readings', () => {
      const cases = family.flatMap((problem, i): { reading: NestedReading; args: NestedArgs[]; code: string }[] => {
        const chain = drawChain(problem, stream('program', i));
        const args = [0, 1, 2, 3].map((j) => drawArgs(problem, j % 2 ? 'edge' : 'typical', stream('args', i, j)));
        return [
          { reading: problem, args, code: renderCode(problem) },
          { reading: chain.reading, args, code: chain.stages[4]! },
        ];
      });
      const answers = runPython(cases.map(({ code, args }) => ({ code, args, tests: [] })));
      for (const [i, { reading, args, code }] of cases.entries()) {
        const expected = args.map((one) => interpretNested(reading, one));
        assert.deepEqual(answers[i]!.answers, expected, `${code}\n${JSON.stringify(args)}`);
      }
    });

    it('writes tests, of which those marked as flawed are wrong', () => {
      const problems = family.filter((_, i) => i % 5 === 0);
      const turns = problems.map((problem, i) => drawTestTurn(problem, stream('turn', i)));
      const lines = turns.map(({ text }) => text.split('\n').filter((line) => !line.startsWith('#')));
      const parsed = runPython(lines.map((tests) => ({ code: '', args: [], tests })));
      const programs = problems.map((problem, i) => ({
        code: renderCode(problem),
        args: parsed[i]!.tests.map(([args]) => args),
        tests: [],
      }));
      const answers = runPython(programs);
      for (const [i, turn] of turns.entries()) {
        const wrong = parsed[i]!.tests.filter(([, expected], j) => {
          const answer = answers[i]!.answers[j] as { value: unknown };
          return JSON.stringify(answer.value) !== JSON.stringify(expected);
        });
        assert.equal(wrong.length, turn.flawed, turn.text);
      }
    });
  });
});
