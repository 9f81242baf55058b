import assert from 'node:assert/strict';
import { problemSchema, SPLITS } from '../../../core/schema/problem.js';
import { allProblems, compositionOf } from '../../../lab/families/tiny/family.js';
import { withMovedComparison } from '../../../lab/families/tiny/flaws.js';
import { type Args, floorMod, interpret, keptItems } from '../../../lab/families/tiny/interpret.js';
import { loadTinyProblems } from '../../../lab/families/tiny/problems.js';
import { baselineTests, boundaryValue, hiddenTests, passesHidden } from '../../../lab/families/tiny/tests.js';

const family = allProblems();
const loaded = loadTinyProblems();
const argsOf = (test: { args: unknown[] }): Args => test.args as Args;

describe('the tiny family', () => {
  it('shares no composition between splits', () => {
    const owner = new Map<string, string>();
    for (const problem of family) {
      const composition = compositionOf(problem);
      assert.equal(owner.get(composition) ?? problem.split, problem.split, composition);
      owner.set(composition, problem.split);
    }
    const sizes = SPLITS.map((split) => family.filter((problem) => problem.split === split).length);
    assert.deepEqual(sizes, [1315, 157, 267]);
  });

  it('has all three sources in every split', () => {
    for (const split of SPLITS) {
      const sources = new Set(family.filter((problem) => problem.split === split).map((problem) => problem.source));
      assert.equal(sources.size, 3, split);
    }
  });

  it('gives every problem a unique id and description', () => {
    const problems = SPLITS.flatMap((split) => loaded[split]);
    assert.equal(new Set(problems.map((problem) => problem.id)).size, family.length);
    assert.equal(new Set(problems.map((problem) => problem.description)).size, family.length);
    for (const problem of problems) assert.deepEqual(problemSchema.parse(problem), problem);
  });

  it('is the same every time it is loaded', () => {
    assert.equal(JSON.stringify(loadTinyProblems()), JSON.stringify(loaded));
  });
});

describe('the baseline tests of the tiny family', () => {
  it('have a non-empty selection and do not contain the boundary value', () => {
    for (const problem of family) {
      for (const test of baselineTests(problem)) {
        const args = argsOf(test);
        assert.ok(keptItems(problem, args).length > 0, `${problem.id} selects nothing`);
        const boundary = boundaryValue(problem, args);
        const subject = args[0];
        if (boundary === undefined) continue;
        const meets = Array.isArray(subject)
          ? subject.includes(boundary)
          : typeof subject === 'number' && boundary >= 1 && boundary <= subject;
        assert.ok(!meets, `${problem.id} meets ${boundary} in ${JSON.stringify(args)}`);
      }
    }
  });

  it('are three distinct tests, or fewer if a range has fewer suitable inputs', () => {
    for (const problem of family) {
      const tests = baselineTests(problem);
      assert.equal(new Set(tests.map((test) => JSON.stringify(test.args))).size, tests.length);
      const few =
        problem.source === 'range' && (problem.filter === 'lt' || problem.filter === 'le' || problem.filter === 'ne');
      assert.ok(tests.length === 3 || (few && tests.length > 0), `${problem.id}: ${tests.length}`);
    }
  });

  it('accept a program without its guard, and one with a comparison that is off by one', () => {
    for (const problem of family) {
      const blind = [
        { ...problem, noGuard: true },
        ...[withMovedComparison(problem)].filter((spec) => spec !== undefined),
      ];
      for (const reading of blind) {
        for (const test of baselineTests(problem)) {
          assert.deepEqual(interpret(reading, argsOf(test)), { value: test.expected }, problem.id);
        }
      }
    }
  });
});

describe('the hidden tests of the tiny family', () => {
  it('are 20 per problem, and the correct reading passes them', () => {
    for (const problem of family) {
      assert.equal(hiddenTests(problem).length, 20);
      assert.ok(passesHidden(problem, problem), problem.id);
    }
  });

  it('fail every missing guard and nearly every comparison that is off by one', () => {
    let moved = 0;
    let caught = 0;
    for (const problem of family) {
      if (['max', 'min', 'first', 'last'].includes(problem.reduce)) {
        assert.ok(!passesHidden(problem, { ...problem, noGuard: true }), problem.id);
      }
      const reading = withMovedComparison(problem);
      if (!reading) continue;
      moved++;
      if (!passesHidden(problem, reading)) caught++;
    }
    assert.ok(caught / moved > 0.95, `${caught} of ${moved}`);
  });
});

describe('the interpreter of the tiny family', () => {
  const spec = { source: 'list', filter: 'odd', threshold: null, map: 'id', reduce: 'sum' } as const;
  it('gives the remainder the sign of the divisor, like Python', () => {
    assert.deepEqual([floorMod(-3, 2), floorMod(-1, 5), floorMod(7, 4)], [1, 4, 3]);
    assert.deepEqual(interpret(spec, [[-3, -2, 5]]), { value: 2 });
  });
  it('fails like Python on an empty selection: ValueError for max, IndexError for first', () => {
    assert.deepEqual(interpret({ ...spec, reduce: 'max', noGuard: true }, [[]]), { error: 'ValueError' });
    assert.deepEqual(interpret({ ...spec, reduce: 'first', noGuard: true }, [[2]]), { error: 'IndexError' });
    assert.deepEqual(interpret({ ...spec, reduce: 'max' }, [[]]), { value: 0 });
  });
  it('shows each flaw: a range that ends below n, and a skipped first element', () => {
    assert.deepEqual(interpret({ ...spec, source: 'range', belowN: true }, [5]), { value: 4 });
    assert.deepEqual(interpret({ ...spec, skipsFirst: true }, [[1, 3]]), { value: 3 });
  });
});
