// The keyhole family: its splits, its frozen programs and the inputs that catch them. CPython checks the results of programs.
import assert from 'node:assert/strict';
import { RandomStream } from '../../../core/base/random.js';
import { problemSchema, SPLITS } from '../../../core/schema/problem.js';
import { compositionOf, type KeyholeArgs, LIMIT, STRATA } from '../../../lab/families/keyhole/family.js';
import { drawArgs, solveRule } from '../../../lab/families/keyhole/inputs.js';
import { applies, interpretKeyhole } from '../../../lab/families/keyhole/interpret.js';
import { parseCode } from '../../../lab/families/keyhole/parse.js';
import { FLAWS, keyholeProblems, toProblem } from '../../../lab/families/keyhole/problems.js';
import { renderCode } from '../../../lab/families/keyhole/render.js';
import { requirePython, runPython } from '../../support/cpython.js';

const family = SPLITS.flatMap((split) => keyholeProblems(split));
const stream = (...path: (string | number)[]): RandomStream => new RandomStream('keyhole-test', ...path);

describe('the keyhole family', () => {
  it('shares no composition between splits', () => {
    const owner = new Map<string, string>();
    for (const problem of family) {
      assert.equal(owner.get(compositionOf(problem)) ?? problem.split, problem.split);
      owner.set(compositionOf(problem), problem.split);
    }
    assert.deepEqual(
      SPLITS.map((split) => keyholeProblems(split).length),
      [600, 60, 120],
    );
    for (const problem of family.slice(0, 40)) problemSchema.parse(toProblem(problem));
  });

  it('reads the programs that it renders, and no other text', () => {
    const specs = family.flatMap(({ spec, wrong }) => [spec, ...wrong.map((one) => one.spec)]);
    for (const spec of specs) assert.deepEqual(parseCode(renderCode(spec)), spec);
    for (const [i, spec] of specs.slice(0, 400).entries()) {
      const code = renderCode(spec);
      const random = stream('damage', i);
      const lines = code.split('\n');
      const at = random.int(0, code.length - 1);
      const damaged = [
        `${code.slice(0, at)}?${code.slice(at)}`,
        lines.slice(0, -1).join('\n'),
        lines.toSpliced(random.int(0, lines.length - 1), 1, '    pass').join('\n'),
        `${code}\n`,
        code.replace('==', '!='),
        code.replace(/\d/, '0$&'),
      ];
      for (const text of damaged) if (text !== code) assert.equal(parseCode(text), undefined, text);
    }
    assert.equal(parseCode(''), undefined);
  });

  it('has twelve wrong programs for each problem, which no baseline test catches', () => {
    for (const { spec, known, wrong } of family) {
      assert.equal(new Set(wrong.map(({ id }) => id)).size, STRATA.length * FLAWS.length);
      for (const { spec: own } of wrong) {
        for (const args of known) {
          assert.ok(![...spec.rules, ...own.rules].some((rule) => applies(rule, args)));
          assert.equal(interpretKeyhole(own, args), interpretKeyhole(spec, args));
        }
      }
    }
  });

  it('has for each special case an input within the range, also without computed inputs', () => {
    for (const [i, { spec, wrong }] of family.entries()) {
      for (const rule of [...spec.rules, ...wrong.flatMap((program) => program.spec.rules)]) {
        for (const plain of [true, false]) {
          const args = solveRule(rule, stream('solve', i), plain);
          assert.ok(applies(rule, args), JSON.stringify([rule, args]));
          assert.ok(
            [...args[0], args[1], args[2]].every((x) => Math.abs(x) <= LIMIT),
            JSON.stringify([rule, args]),
          );
        }
      }
    }
  });

  it('has programs that differ from their reference on some input, with few exceptions', () => {
    let hidden = 0;
    for (const [i, { spec, wrong }] of family.entries()) {
      for (const { spec: own } of wrong) {
        const random = stream('differ', i);
        const differs = [...own.rules, ...spec.rules].some((rule) =>
          Array.from({ length: 6 }, () => solveRule(rule, random)).some(
            (args) => interpretKeyhole(spec, args) !== interpretKeyhole(own, args),
          ),
        );
        hidden += Number(!differs);
      }
    }
    assert.ok(hidden / family.length / 12 < 0.02, `${hidden}`);
  });

  describe('compared with CPython', () => {
    before(requirePython);

    it('computes the same as the interpreter, for references and wrong programs', () => {
      const cases = family.flatMap(({ spec, wrong }, i) => {
        const own = [spec, ...wrong.filter((_, j) => (i + j) % 6 === 0).map((program) => program.spec)];
        return own.map((program, j) => {
          const random = stream('python', i, j);
          const empty: KeyholeArgs = [[], random.int(-9, 9), random.int(-9, 9)];
          const solved = program.rules.map((rule, k) => solveRule(rule, random, k % 2 === 0));
          return { program, args: [drawArgs(random), [[random.int(-9, 9)], 1, 2] as KeyholeArgs, empty, ...solved] };
        });
      });
      const answers = runPython(cases.map(({ program, args }) => ({ code: renderCode(program), args, tests: [] })));
      for (const [i, { program, args }] of cases.entries()) {
        const expected = args.map((one) => ({ value: interpretKeyhole(program, one) }));
        assert.deepEqual(answers[i]!.answers, expected, `${renderCode(program)}\n${JSON.stringify(args)}`);
      }
    });
  });
});
