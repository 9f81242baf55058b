// The interpreter and the renderer against an independent source: CPython itself.
import assert from 'node:assert/strict';
import { RandomStream } from '../../../core/base/random.js';
import { allProblems, type Reading } from '../../../lab/families/tiny/family.js';
import { CHAIN_FLAWS, drawReading } from '../../../lab/families/tiny/flaws.js';
import { type Args, interpret } from '../../../lab/families/tiny/interpret.js';
import { renderCode } from '../../../lab/families/tiny/render.js';
import { drawArgs } from '../../../lab/families/tiny/tests.js';
import { requirePython, runPython } from '../../support/cpython.js';

const stream = (...path: (string | number)[]): RandomStream => new RandomStream('python-test', ...path);

describe('rendered programs compared with CPython', () => {
  before(requirePython);

  it('compute the same as the interpreter, for correct and flawed readings', () => {
    const cases = allProblems().flatMap((problem, i): { reading: Reading; args: Args[]; code: string }[] => {
      const rates = { ...CHAIN_FLAWS, skip: 0.3, map: 0.3, reduce: 0.3, parity: 0.3 };
      const { reading } = drawReading(problem, rates, stream('chain', i));
      const args = [...Array(6).keys()].map((j) => drawArgs(problem, j % 2 ? 'edge' : 'typical', stream('args', i, j)));
      return [problem, reading].map((one) => ({ reading: one, args, code: renderCode(one) }));
    });
    const answers = runPython(cases.map(({ code, args }) => ({ code, args, tests: [] })));
    for (const [i, { reading, args, code }] of cases.entries()) {
      const expected = args.map((one) => interpret(reading, one));
      assert.deepEqual(answers[i]!.answers, expected, `${code}\n${JSON.stringify(args)}`);
    }
  });
});
