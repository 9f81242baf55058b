// The `steps` family: its programs under CPython, its tests, its splits and its texts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { type Problem, problemSchema, SPLITS } from '../../../core/schema/problem.js';
import { LEVELS, loadSteps, OPERATIONS } from '../../../lab/families/steps/family.js';
import type { Operation, StepValue } from '../../../lab/families/steps/operation.js';
import { isExposed, slipsOf, trace } from '../../../lab/families/steps/tests.js';
import { describe as describeChain } from '../../../lab/families/steps/wording.js';
import { requirePython } from '../../support/cpython.js';

const RUNNER = `
import json, sys
out = []
for job in json.load(sys.stdin):
    scope = {}
    exec(job["code"], scope)
    out.append([scope["solve"](*args) for args in job["args"]])
json.dump(out, sys.stdout)
`;

/** The operations of a problem, read from its title. */
const operationsOf = ({ title, tags }: Problem) => {
  let from = tags[0]!;
  return title!.split(', then ').map((name) => {
    const found = OPERATIONS.find((one) => one.name === name && one.from === from)!;
    from = found.to;
    return found;
  });
};
const words = (text: string): number => text.split(/\s+/).length;

describe('the steps family', () => {
  let sets: ReturnType<typeof loadSteps>[];
  let all: Problem[];
  before(() => {
    sets = LEVELS.map((level) => loadSteps([level]));
    all = sets.flatMap((set) => SPLITS.flatMap((split) => set[split]));
  });

  it('has references that give the expected values under CPython at all levels', function () {
    requirePython.call(this);
    const tests = all.map(({ baselineTests, hiddenTests }) => [...baselineTests, ...hiddenTests]);
    const jobs = all.map(({ referenceSolution: code }, i) => ({ code, args: tests[i]!.map(({ args }) => args) }));
    const answers = JSON.parse(
      execFileSync('python3', ['-I', '-c', RUNNER], { input: JSON.stringify(jobs), encoding: 'utf8' }),
    ) as unknown[][];
    for (const [i, problem] of all.entries()) {
      const expected = tests[i]!.map((test) => test.expected);
      assert.deepEqual(answers[i], expected, problem.id);
    }
  });

  it('has hidden tests that expose every slip, and baseline tests that miss at least half of them', () => {
    for (const problem of all) {
      const operations = operationsOf(problem);
      const slips = slipsOf(operations);
      const exposed = (tests: Problem['hiddenTests']): number => {
        const values = tests.map(({ args }) => trace(operations, args[0] as StepValue));
        return slips.filter((slip) => values.some((each) => isExposed(slip, each))).length;
      };
      assert.ok(slips.length > 0, problem.id);
      assert.equal(problem.baselineTests.length, 3);
      assert.equal(problem.hiddenTests.length, 10);
      assert.equal(exposed(problem.hiddenTests), slips.length, problem.id);
      assert.ok(exposed(problem.baselineTests) * 2 <= slips.length, problem.id);
    }
  });

  it('shares no composition between splits', () => {
    for (const [i, set] of sets.entries()) {
      const owner = new Map<string, string>();
      for (const split of SPLITS) {
        for (const problem of set[split]) {
          const composition =
            i === 0
              ? problem.title!
              : operationsOf(problem)
                  .map(({ kind }) => kind)
                  .join();
          assert.equal(owner.get(composition) ?? split, split, composition);
          owner.set(composition, split);
        }
      }
    }
    assert.deepEqual(
      sets.map((set) => SPLITS.map((split) => set[split].length)),
      [
        [328, 35, 35],
        [2199, 84, 84],
        [72, 24, 24],
        [72, 24, 24],
        [72, 24, 24],
      ],
    );
  });

  it('gives every problem its own id and description, which is short in levels 1 and 2', () => {
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    assert.equal(new Set(all.map(({ description }) => description)).size, all.length);
    for (const problem of all) assert.deepEqual(problemSchema.parse(problem), problem);
    const easy = all.filter(({ difficulty }) => difficulty === 'level 1' || difficulty === 'level 2');
    for (const { description, reasoning, id } of easy) {
      assert.ok(words(description) <= 70, `${id}: ${description}`);
      for (const text of reasoning!) assert.ok(words(text) <= 50, `${id}: ${text}`);
    }
  });

  it('keeps one wording of every operation out of training', () => {
    const uses = (operation: Operation, training: boolean): boolean[] => {
      const texts = Array.from({ length: 60 }, (_, i) => describeChain(`${i}`, [operation], training).toLowerCase());
      return operation.words.map((wording) => texts.some((text) => text.includes(`. ${wording.toLowerCase()} (`)));
    };
    for (const operation of OPERATIONS) {
      assert.deepEqual(uses(operation, true), [true, true, false], operation.name);
      assert.deepEqual(uses(operation, false), [true, true, true], operation.name);
    }
  });

  it('has the recorded digest on every machine', () => {
    const digest = createHash('sha256').update(JSON.stringify(sets)).digest('hex');
    assert.equal(digest.slice(0, 16), '7769fcfd5d623ca6');
  });
});
