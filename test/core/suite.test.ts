import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import { addToArchive, type BugArchive, chooseTargetChain } from '../../core/rewards/archive.js';
import { mean, passRates, standardErrors, testRates } from '../../core/rewards/rates.js';
import {
  addToPool,
  assembleSuite,
  givenTests,
  hasHiddenTests,
  inputKey,
  poolOf,
  type TestPool,
} from '../../core/rewards/suite.js';
import type { TestCase } from '../../core/schema/problem.js';

const test = (input: number, expected = input): TestCase => ({ args: [[input]], expected });

describe('givenTests', () => {
  const source = ['a', 'b', 'c', 'd'].map((name) => ({ name, isValid: true }));
  const names = (tests: readonly object[]) => tests.map((one) => ('source' in one ? one.source : one));
  const given = (problem: { baselineTests: TestCase[]; hiddenTests: TestCase[] }, tests = source) =>
    (['baseline', 'hidden'] as const).map((suite) => names(givenTests(problem, suite, tests)));

  it('hides every second test of a source, also beside baseline values', () => {
    const none = { baselineTests: [], hiddenTests: [] };
    assert.deepEqual(given(none), [
      ['a', 'c'],
      ['b', 'd'],
    ]);
    assert.deepEqual(given({ ...none, baselineTests: [test(1)] }), [
      [test(1), 'a', 'c'],
      ['b', 'd'],
    ]);
  });

  it('hides no source test if there are hidden values, and uses the only test of a source for both purposes', () => {
    const both = { baselineTests: [test(1)], hiddenTests: [test(2)] };
    assert.deepEqual(given(both), [[test(1), 'a', 'b', 'c', 'd'], [test(2)]]);
    assert.deepEqual(given({ baselineTests: [], hiddenTests: [] }, source.slice(0, 1)), [['a'], ['a']]);
  });

  it('leaves out tests that the reference fails, and keeps the other tests visible or hidden as before', () => {
    const some = source.map((one, i) => ({ ...one, isValid: i > 1 }));
    assert.deepEqual(given({ baselineTests: [], hiddenTests: [] }, some), [['c'], ['d']]);
    const onlyBaseline = source.map((one, i) => ({ ...one, isValid: i % 2 === 0 }));
    assert.deepEqual(given({ baselineTests: [], hiddenTests: [] }, onlyBaseline), [
      ['a', 'c'],
      ['a', 'c'],
    ]);
  });
});

describe('assembleSuite', () => {
  it('contains every test of a source once, even beside an input that looks like a test', () => {
    const suite = assembleSuite([{ source: '[[1]]' }, { source: '[[1]]' }, test(1)], []);
    assert.deepEqual(
      suite.map((one) => one.test),
      [{ source: '[[1]]' }, test(1)],
    );
  });

  it('lists baseline tests first, then the valid generated tests, with one test per input', () => {
    const suite = assembleSuite([test(1), test(2)], [test(2, 99), test(3), test(3), test(4)]);
    assert.deepEqual(
      suite.map(({ origin, test }) => ({ origin, ...test })),
      [
        { origin: 'baseline', ...test(1) },
        { origin: 'baseline', ...test(2) },
        { origin: 'generated', ...test(3) },
        { origin: 'generated', ...test(4) },
      ],
    );
  });

  it('distinguishes inputs by their type and value', () => {
    const keys = [[1], [true], [{ f: '1.0' }], ['1'], [[1]], [{ t: [1] }], [1, 1]].map((args) => inputKey(args));
    assert.equal(new Set(keys).size, keys.length);
    assert.equal(inputKey([[1, 'a']]), inputKey([[1, 'a']]));
  });
});

describe('addToPool', () => {
  it('keeps the last eight tests of a problem, skips duplicates, and does not change its argument', () => {
    const before: TestPool = { other: [test(7)], p: [test(0)] };
    const after = addToPool(before, 'p', [test(0), ...Array.from({ length: 9 }, (_, i) => test(i + 1)), test(9)]);
    assert.deepEqual(
      after.p!.map((entry) => 'args' in entry && entry.expected),
      [2, 3, 4, 5, 6, 7, 8, 9],
    );
    assert.deepEqual([after.other, before.p], [[test(7)], [test(0)]]);
  });

  it('adds no entry for a problem without tests, and accepts any problem id', () => {
    assert.deepEqual(addToPool({}, 'p', []), {});
    assert.deepEqual(addToPool({}, 'constructor', [test(1)]), { constructor: [test(1)] });
    assert.deepEqual(poolOf({}, 'constructor'), []);
  });
});

describe('passRates', () => {
  it('are the fractions of passed tests by origin', () => {
    const suite = assembleSuite([test(1), test(2)], [test(3), test(4)]);
    assert.deepEqual(passRates([{ suite, verdicts: ['pass', 'pass', 'fail', 'timeout'] }]), {
      combined: 0.5,
      baseline: 1,
      generated: 0,
    });
  });

  it('count each program once, and skip programs without a test of the origin', () => {
    const one = { suite: assembleSuite([test(1)], []), verdicts: ['pass'] as const };
    const two = {
      suite: assembleSuite([test(1), test(2)], [test(3), test(4)]),
      verdicts: ['fail', 'pass', 'pass', 'fail'] as const,
    };
    assert.deepEqual(passRates([one, two]), { combined: 0.75, baseline: 0.75, generated: 0.5 });
    assert.deepEqual(passRates([one]), { combined: 1, baseline: 1, generated: undefined });
    assert.deepEqual(passRates([]), { combined: undefined, baseline: undefined, generated: undefined });
  });
});

describe('testRates', () => {
  const turns = [
    {
      tests: [
        { inputs: 'a', valid: true, caught: true },
        { inputs: 'b', valid: false, caught: false },
      ],
      lost: 0,
    },
    { tests: [{ inputs: 'a', valid: true, caught: false }], lost: 1 },
  ];
  it('divide valid tests and distinct inputs by all tests, and turns that catch a bug by all turns', () => {
    assert.deepEqual(testRates([turns]), { validity: 0.5, bugCatchRate: 0.5, uniqueInputs: 0.5 });
    assert.deepEqual(testRates([[turns[0]!], [turns[1]!]]).uniqueInputs, 0.75, 'equal inputs of two problems differ');
    assert.deepEqual(testRates([]), { validity: undefined, bugCatchRate: undefined, uniqueInputs: undefined });
  });
});

describe('the function mean', () => {
  it('returns 0 without values', () => assert.deepEqual([mean([1, 2, 6]), mean([])], [3, 0]));
});

describe('the archive of buggy chains', () => {
  const config = { enabled: true };
  const entry = (chain: string) => ({ problemId: 'old', chain });
  const filled: BugArchive<string> = { entries: [entry('x'), entry('y')] };

  it('has a maximum size, drops random entries, and is deterministic', () => {
    const fill = (seed: number): string[] => {
      const random = new RandomStream(seed);
      let archive: BugArchive<string> = { entries: [] };
      for (let i = 0; i < 50; i++) archive = addToArchive(archive, entry(`c${i}`), random, 10);
      return archive.entries.map((kept) => kept.chain);
    };
    assert.equal(fill(1).length, 10);
    assert.deepEqual(fill(1), fill(1));
    assert.notDeepEqual(fill(1), fill(2));
    assert.notDeepEqual(
      fill(1),
      Array.from({ length: 10 }, (_, i) => `c${i + 40}`),
    ); // the archive keeps more than the newest entries
  });

  it('chooses and archives a new chain that is faulty', () => {
    const candidates = [
      { chain: 'good', faulty: false },
      { chain: 'bad', faulty: true },
      { chain: 'good2', faulty: false },
    ];
    const chosen = chooseTargetChain('p', candidates, filled, config, new RandomStream(0));
    assert.deepEqual(chosen.target, { problemId: 'p', chain: 'bad' });
    assert.deepEqual(chosen.archive.entries.at(-1), { problemId: 'p', chain: 'bad' });
    assert.equal(filled.entries.length, 2);
  });

  it('replays an archived chain in 7 of 10 groups without a faulty chain', () => {
    const candidates = [{ chain: 'good', faulty: false }];
    const random = new RandomStream('replay');
    let replayed = 0;
    for (let i = 0; i < 2000; i++) {
      const chosen = chooseTargetChain('p', candidates, filled, config, random);
      assert.equal(chosen.archive, filled);
      replayed += Number(chosen.target!.problemId === 'old');
    }
    assert.ok(Math.abs(replayed / 2000 - 0.7) < 0.05, `${replayed}`);
  });

  it('does not prefer, archive or replay faulty chains when it is disabled', () => {
    const candidates = [
      { chain: 'good', faulty: false },
      { chain: 'bad', faulty: true },
    ];
    const random = new RandomStream('off');
    const seen = new Set<string>();
    for (let i = 0; i < 50; i++) {
      const chosen = chooseTargetChain('p', candidates, filled, { enabled: false }, random);
      assert.equal(chosen.archive, filled);
      seen.add(chosen.target!.chain);
    }
    assert.deepEqual([...seen].sort(), ['bad', 'good']);
  });

  it('chooses no target without candidates', () => {
    assert.equal(chooseTargetChain('p', [], { entries: [] }, config, new RandomStream(0)).target, undefined);
  });

  it('has at most 400 entries', () => {
    const random = new RandomStream('size');
    let archive: BugArchive<string> = { entries: [] };
    for (let i = 0; i < 410; i++)
      ({ archive } = chooseTargetChain('p', [{ chain: 'c', faulty: true }], archive, config, random));
    assert.equal(archive.entries.length, 400);
  });
});

describe('the standard errors of a step', () => {
  it('are computed over the means of groups, without the groups that lack a rate', () => {
    // deviations −0.5, 0, 0.5: variance 0.25, and √(0.25 / 3) = 0.2887
    const errors = standardErrors([
      { passRate: 0, validity: 0.2 },
      { passRate: 0.5, validity: undefined },
      { passRate: 1, validity: 0.6, bugCatchRate: 1 },
    ]);
    assert.deepEqual(Object.keys(errors), ['passRate', 'validity']); // a single group gives no standard error
    assert.ok(Math.abs(errors.passRate! - Math.sqrt(0.25 / 3)) < 1e-12);
    assert.ok(Math.abs(errors.validity! - Math.sqrt(0.08 / 2)) < 1e-12);
    assert.deepEqual(standardErrors([]), {});
  });
});

describe('the hidden tests of a problem', () => {
  const CHECK = 'def helper(x):\n    return x\n\ndef check(candidate):\n    assert candidate(1) == 1\n';
  for (const [source, expected] of [
    [undefined, false],
    [CHECK, false],
    [`${CHECK}\ndef check(candidate):\n    pass\n`, true],
    [`${CHECK}\ndef test_more():\n    pass\n`, true],
    [`${CHECK}\nclass TestMore:\n    pass\n`, true],
    [`${CHECK}\ntest_more = make()\n`, true],
    ['assert f(1) == 1\nassert f(2) == 2\n', true],
    [`${CHECK}\nassert f(2) == 2\n`, true],
    ['def verify(f):\n    pass\n', true],
  ] as const)
    it(`${expected ? 'may be' : 'are not'} in the source ${JSON.stringify(source)?.slice(-40)}`, () => {
      assert.equal(hasHiddenTests({ hiddenTests: [], ...(source && { testSource: source }) }), expected);
      assert.ok(hasHiddenTests({ hiddenTests: [{ args: [], expected: 1 }], testSource: source }));
    });
});
