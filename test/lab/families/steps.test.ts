// The shipped problems of `steps`: their references under CPython, their splits and their texts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { type Problem, type ProblemSet, problemSchema, SPLITS } from '../../../core/schema/problem.js';
import { loadProblems } from '../../../data/problems.js';
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
const words = (text: string): number => text.split(/\s+/).length;

describe('the problems of steps', () => {
  let sets: ProblemSet[];
  let all: Problem[];
  before(async () => {
    sets = await Promise.all([1, 2, 3, 4, 5].map((level) => loadProblems(`steps:${level}`)));
    all = sets.flatMap((set) => SPLITS.flatMap((split) => set[split]));
  });

  it('have references that give the expected values under CPython at all levels', function () {
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

  it('have as many problems in each split as the page on problems says', () => {
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

  it('have their own ids and descriptions, which are short in levels 1 and 2', () => {
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    assert.equal(new Set(all.map(({ description }) => description)).size, all.length);
    for (const problem of all) assert.deepEqual(problemSchema.parse(problem), problem);
    const easy = all.filter(({ difficulty }) => difficulty === 'level 1' || difficulty === 'level 2');
    for (const { description, reasoning, id } of easy) {
      assert.ok(words(description) <= 70, `${id}: ${description}`);
      for (const text of reasoning!) assert.ok(words(text) <= 50, `${id}: ${text}`);
    }
  });
});
