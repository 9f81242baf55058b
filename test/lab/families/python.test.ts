// The interpreter and the renderer against an independent source: CPython itself.
import assert from 'node:assert/strict';
import { RandomStream } from '../../../core/random.js';
import { allProblems, type Reading } from '../../../lab/families/tiny/family.js';
import { CHAIN_FLAWS, drawChain } from '../../../lab/families/tiny/flaws.js';
import { type Args, interpret } from '../../../lab/families/tiny/interpret.js';
import { renderCode } from '../../../lab/families/tiny/render.js';
import { drawArgs, drawTestTurn } from '../../../lab/families/tiny/tests.js';
import { requirePython, runPython } from '../../support/cpython.js';

const stream = (...path: (string | number)[]): RandomStream => new RandomStream('python-test', ...path);

describe('rendered programs under CPython', () => {
  before(requirePython);

  it('compute the same as the interpreter, for correct and flawed readings', () => {
    const cases = allProblems().flatMap((problem, i): { reading: Reading; args: Args[]; code: string }[] => {
      const chain = drawChain(problem, stream('chain', i), {
        ...CHAIN_FLAWS,
        skip: 0.3,
        map: 0.3,
        reduce: 0.3,
        parity: 0.3,
      });
      const args = [...Array(6).keys()].map((j) => drawArgs(problem, j % 2 ? 'edge' : 'typical', stream('args', i, j)));
      return [
        { reading: problem, args, code: renderCode(problem) },
        { reading: chain.reading, args, code: chain.stages[4]! },
      ];
    });
    const answers = runPython(cases.map(({ code, args }) => ({ code, args, tests: [] })));
    for (const [i, { reading, args, code }] of cases.entries()) {
      const expected = args.map((one) => interpret(reading, one));
      assert.deepEqual(answers[i]!.answers, expected, `${code}\n${JSON.stringify(args)}`);
    }
  });

  it('pass the tests that the corpus marks as correct', () => {
    const problems = allProblems().filter((_, i) => i % 5 === 0);
    const turns = problems.map((problem, i) => drawTestTurn(problem, stream('turn', i)));
    const texts = turns.map(({ text }) => text.split('\n').filter((line) => !line.startsWith('#')));
    const parsed = runPython(problems.map((_, i) => ({ code: '', args: [], tests: texts[i]! })));
    const answers = runPython(
      problems.map((problem, i) => ({
        code: renderCode(problem),
        args: parsed[i]!.tests.map(([args]) => args),
        tests: [],
      })),
    );
    for (const [i, turn] of turns.entries()) {
      const wrong = parsed[i]!.tests.filter(([, expected], j) => {
        const answer = answers[i]!.answers[j] as { value: unknown };
        return JSON.stringify(answer.value) !== JSON.stringify(expected);
      });
      assert.equal(wrong.length, turn.flawed, turn.text);
    }
  });
});
