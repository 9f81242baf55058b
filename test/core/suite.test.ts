import assert from 'node:assert/strict';
import fc from 'fast-check';
import { RandomStream } from '../../core/random.js';
import { addToArchive, type BugArchive, chooseSubject, emptyArchive } from '../../core/rewards/archive.js';
import { countTests, exposedShare, meanOf, meanRates, testRates } from '../../core/rewards/counts.js';
import { addToPool, assembleSuite, inputKey, suiteRates, type TestPool } from '../../core/rewards/suite.js';
import type { TestCase } from '../../core/schema/problem.js';

const test = (input: number, expected = input): TestCase => ({ args: [[input]], expected });

describe('assembleSuite', () => {
  it('is the baseline, then every valid generated test, one per inputs', () => {
    const suite = assembleSuite([test(1), test(2)], [test(2, 99), test(3), test(3), test(4)]);
    assert.deepEqual(
      suite.map(({ origin, test: { args, expected } }) => [origin, args, expected]),
      [
        ['baseline', [[1]], 1],
        ['baseline', [[2]], 2],
        ['generated', [[3]], 3],
        ['generated', [[4]], 4],
      ],
    );
  });

  it('keeps the baseline when it is capped', () => {
    const suite = assembleSuite([test(1), test(2)], [test(3), test(4)], 3);
    assert.deepEqual(
      suite.map((entry) => entry.test.expected),
      [1, 2, 3],
    );
  });

  it('inputs differ by type as well as by value', () => {
    const keys = [[1], [true], [{ f: '1.0' }], ['1'], [[1]], [{ t: [1] }], [1, 1]].map((args) => inputKey(args));
    assert.equal(new Set(keys).size, keys.length);
    assert.equal(inputKey([[1, 'a']]), inputKey([[1, 'a']]));
  });
});

describe('addToPool', () => {
  it('keeps the last eight tests of a problem, skips repeats, and leaves other problems and its input alone', () => {
    const before: TestPool = { other: [test(7)], p: [test(0)] };
    const after = addToPool(before, 'p', [test(0), ...Array.from({ length: 9 }, (_, i) => test(i + 1)), test(9)]);
    assert.deepEqual(
      after.p!.map((entry) => entry.expected),
      [2, 3, 4, 5, 6, 7, 8, 9],
    );
    assert.deepEqual([after.other, before.p], [[test(7)], [test(0)]]);
  });

  it('makes no entry for a problem without tests, whatever its name', () => {
    assert.deepEqual(addToPool({}, 'p', []), {});
    assert.deepEqual(addToPool({}, 'constructor', [test(1)]), { constructor: [test(1)] });
  });
});

describe('suiteRates and meanRates', () => {
  it('are shares of passed tests by origin', () => {
    const suite = assembleSuite([test(1), test(2)], [test(3), test(4)]);
    assert.deepEqual(suiteRates(suite, ['pass', 'pass', 'fail', 'timeout']), {
      combined: 0.5,
      baseline: 1,
      generated: 0,
    });
    assert.deepEqual(suiteRates(assembleSuite([test(1)], []), ['pass']), {
      combined: 1,
      baseline: 1,
      generated: undefined,
    });
  });

  it('programs count once each', () => {
    const rates = [
      { combined: 1, baseline: 1, generated: undefined },
      { combined: 0, baseline: 0.5, generated: 0.25 },
    ];
    assert.deepEqual(meanRates(rates), { combined: 0.5, baseline: 0.75, generated: 0.25 });
    assert.equal(meanOf([]), undefined);
  });
});

describe('test counts', () => {
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
  it('validity counts lost tests, the bug-catch rate valid ones, unique inputs all that could be read', () => {
    const counts = countTests(turns);
    assert.deepEqual(counts, { tests: 4, valid: 2, caught: 1, turns: 2, catchingTurns: 1, distinctInputs: 2 });
    assert.deepEqual(testRates(counts), { validity: 0.5, bugCatchRate: 0.5, uniqueInputs: 0.5 });
    assert.deepEqual(testRates(countTests([])), {
      validity: undefined,
      bugCatchRate: undefined,
      uniqueInputs: undefined,
    });
  });
  it('the exposed share looks at faulty chains only', () => {
    const chains = [
      { faulty: true, turn: turns[0]! },
      { faulty: true, turn: turns[1]! },
      { faulty: false, turn: turns[0]! },
    ];
    assert.equal(exposedShare(chains), 0.5);
    assert.equal(exposedShare(chains.slice(2)), undefined);
  });
});

describe('bug archive', () => {
  const config = { enabled: true, size: 3, replay: 0.7 };
  const entry = (chain: string) => ({ problemId: 'old', chain });
  const filled: BugArchive = { entries: [entry('x'), entry('y')] };

  it('keeps to its size, drops by draw, and is the same for the same draws', () => {
    const fill = (seed: number): string[] => {
      const random = new RandomStream(seed);
      let archive = emptyArchive();
      for (let i = 0; i < 50; i++) archive = addToArchive(archive, entry(`c${i}`), 10, random);
      return archive.entries.map((kept) => kept.chain);
    };
    assert.equal(fill(1).length, 10);
    assert.deepEqual(fill(1), fill(1));
    assert.notDeepEqual(fill(1), fill(2));
    assert.notDeepEqual(
      fill(1),
      Array.from({ length: 10 }, (_, i) => `c${i + 40}`),
    ); // not just the newest
  });

  it('a faulty fresh chain is chosen and archived', () => {
    const candidates = [
      { chain: 'good', faulty: false },
      { chain: 'bad', faulty: true },
      { chain: 'good2', faulty: false },
    ];
    const chosen = chooseSubject('p', candidates, filled, config, new RandomStream(0));
    assert.deepEqual(chosen.subject, { problemId: 'p', chain: 'bad' });
    assert.deepEqual(chosen.archive.entries.at(-1), { problemId: 'p', chain: 'bad' });
    assert.equal(filled.entries.length, 2);
    assert.equal(chosen.replayed, false);
  });

  it('without a fault an archived chain is replayed in 7 of 10 groups, and the archive stays', () => {
    const candidates = [{ chain: 'good', faulty: false }];
    const random = new RandomStream('replay');
    let replayed = 0;
    for (let i = 0; i < 2000; i++) {
      const chosen = chooseSubject('p', candidates, filled, config, random);
      assert.equal(chosen.archive, filled);
      assert.equal(chosen.subject!.problemId, chosen.replayed ? 'old' : 'p');
      replayed += Number(chosen.replayed);
    }
    assert.ok(Math.abs(replayed / 2000 - 0.7) < 0.05, `${replayed}`);
  });

  it('switched off it neither prefers faults, nor keeps, nor replays', () => {
    const candidates = [
      { chain: 'good', faulty: false },
      { chain: 'bad', faulty: true },
    ];
    const random = new RandomStream('off');
    const seen = new Set<string>();
    for (let i = 0; i < 50; i++) {
      const chosen = chooseSubject('p', candidates, filled, { ...config, enabled: false }, random);
      assert.equal(chosen.archive, filled);
      seen.add(chosen.subject!.chain);
    }
    assert.deepEqual([...seen].sort(), ['bad', 'good']);
  });

  it('with nothing to choose from there is no subject', () => {
    assert.equal(chooseSubject('p', [], emptyArchive(), config, new RandomStream(0)).subject, undefined);
  });

  it('never grows beyond its size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.boolean(), { maxLength: 30 }), (size, faults) => {
        const random = new RandomStream(size, faults.length);
        let archive = emptyArchive();
        for (const faulty of faults)
          ({ archive } = chooseSubject('p', [{ chain: 'c', faulty }], archive, { ...config, size }, random));
        assert.ok(archive.entries.length <= size);
      }),
    );
  });
});
