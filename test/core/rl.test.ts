import assert from 'node:assert/strict';
import fc from 'fast-check';
import { groupAdvantages } from '../../core/rl/advantages.js';
import { learningRateFactor, planMinibatches } from '../../core/rl/schedules.js';
import { checkpointScore, passAtK } from '../../core/rl/scores.js';
import {
  creditMask,
  sampledRanges,
  sequenceOf,
  type TokenTurn,
  type TrajectoryOptions,
  toTrajectories,
} from '../../core/rl/trajectories.js';
import { STAGES, type Stage } from '../../core/schema/chain.js';
import { trajectorySchema } from '../../core/schema/trajectory.js';

const turns: TokenTurn[] = [
  { stage: 1, promptTokens: [10, 11], answerTokens: [1, 2, 0] },
  { stage: 2, promptTokens: [12], answerTokens: [3, 0] },
  { stage: 3, promptTokens: [13], answerTokens: [4, 0] },
];

const WHOLE = { negativeWeight: 1 };

describe('groupAdvantages', () => {
  it('equals (r − mean) / (population std + offset)', () => {
    // mean 0, population std sqrt(0.125) of ±0.5, 0, 0
    const scale = Math.sqrt(0.125) + 0.05;
    const actual = groupAdvantages([0.5, -0.5, 0, 0], WHOLE);
    [0.5, -0.5, 0, 0].forEach((reward, i) => {
      assert.ok(Math.abs(actual[i]! - reward / scale) < 1e-12);
    });
  });

  it('is 0 for equal rewards, even without an offset and with rounding errors', () => {
    assert.deepEqual(groupAdvantages([0.1, 0.1, 0.1], { ...WHOLE, stdOffset: 0 }), [0, 0, 0]);
    assert.deepEqual(groupAdvantages([0.7], WHOLE), [0]);
    assert.deepEqual(groupAdvantages([], WHOLE), []);
  });

  it('sums to zero, keeps the order of rewards, and ignores a constant shift', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -8, max: 8 }), { minLength: 2, maxLength: 8 }), (eighths) => {
        const rewards = eighths.map((n) => n / 8);
        const advantages = groupAdvantages(rewards, WHOLE);
        assert.ok(Math.abs(advantages.reduce((sum, a) => sum + a, 0)) < 1e-9);
        const shifted = groupAdvantages(
          rewards.map((r) => r + 3),
          WHOLE,
        );
        rewards.forEach((r, i) => {
          assert.ok(Math.abs(shifted[i]! - advantages[i]!) < 1e-9);
          rewards.forEach((s, j) => {
            assert.ok(r <= s || advantages[i]! > advantages[j]!);
          });
        });
      }),
    );
  });

  it('multiplies negative advantages by negativeWeight', () => {
    const [whole, half, none] = [1, 0.5, 0].map((negativeWeight) => groupAdvantages([1, 0, -2], { negativeWeight }));
    assert.ok(whole!.some((a) => a > 0) && whole!.some((a) => a < 0));
    assert.deepEqual(
      half,
      whole!.map((a) => (a < 0 ? a / 2 : a)),
    );
    assert.ok(none!.every((a, i) => a === Math.max(0, whole![i]!)));
  });
});

describe('creditMask', () => {
  it("trains the answer of one stage, including its end token, and cuts after it (credit 'stage')", () => {
    assert.deepEqual(creditMask(turns, 2, 'stage'), [0, 0, 0, 0, 0, 0, 1, 1]);
    assert.deepEqual(creditMask(turns, 1, 'stage'), [0, 0, 1, 1, 1]);
  });

  it("trains one stage and all later ones, but never an instruction (credit 'suffix')", () => {
    assert.deepEqual(creditMask(turns, 2, 'suffix'), [0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1]);
  });

  it('is empty without a trained token', () => {
    assert.deepEqual(creditMask(turns, 5, 'stage'), []);
    assert.deepEqual(creditMask([], 1, 'suffix'), []);
    assert.deepEqual(creditMask([{ stage: 1, promptTokens: [1], answerTokens: [] }], 1, 'stage'), []);
  });

  it('never trains entry 0', () => {
    assert.deepEqual(creditMask([{ stage: 1, promptTokens: [], answerTokens: [5, 6] }], 1, 'stage'), [0, 1]);
  });

  it('ends at the last trained token and marks only sampled tokens', () => {
    const chain = fc.array(
      fc.tuple(fc.array(fc.nat(9), { minLength: 1, maxLength: 4 }), fc.array(fc.nat(9), { maxLength: 6 })),
      { minLength: 1, maxLength: 5 },
    );
    fc.assert(
      fc.property(
        chain,
        fc.constantFrom(...STAGES),
        fc.constantFrom('stage' as const, 'suffix' as const),
        (pairs, trained, credit) => {
          const list = pairs.map(
            ([promptTokens, answerTokens], i): TokenTurn => ({ stage: (i + 1) as Stage, promptTokens, answerTokens }),
          );
          const mask = creditMask(list, trained, credit);
          const owner = list.flatMap((t) => [
            ...t.promptTokens.map(() => 0),
            ...t.answerTokens.map(() => t.stage as number),
          ]);
          const wanted = owner.map((stage) => Number(credit === 'stage' ? stage === trained : stage >= trained));
          assert.ok(mask.length <= sequenceOf(list).length);
          assert.deepEqual(mask, wanted.slice(0, mask.length));
          assert.ok(mask.length === 0 || mask.at(-1) === 1);
          assert.ok(wanted.slice(mask.length).every((bit) => bit === 0));
        },
      ),
    );
  });
});

describe('toTrajectories', () => {
  const options: TrajectoryOptions = {
    trainedStage: 2,
    credit: 'stage',
    negativeWeight: 1,
    regularised: false,
  };

  it('returns rows whose tokens, mask and advantage have the same length', () => {
    const rows = toTrajectories(
      [
        [
          { turns, reward: 0.5 },
          { turns, reward: -0.5 },
        ],
      ],
      options,
    );
    const advantage = 0.5 / 0.55;
    assert.deepEqual(rows, [
      {
        tokens: [10, 11, 1, 2, 0, 12, 3, 0],
        mask: [0, 0, 0, 0, 0, 0, 1, 1],
        oldLogprobs: [0, 0, 0, 0, 0, 0, 0, 0],
        advantage,
      },
      {
        tokens: [10, 11, 1, 2, 0, 12, 3, 0],
        mask: [0, 0, 0, 0, 0, 0, 1, 1],
        oldLogprobs: [0, 0, 0, 0, 0, 0, 0, 0],
        advantage: -advantage,
      },
    ]);
    for (const row of rows) assert.ok(trajectorySchema.safeParse(row).success);
  });

  it('drops groups of equal rewards, samples at the mean, and samples without a trained token', () => {
    assert.deepEqual(
      toTrajectories(
        [
          [
            { turns, reward: 1 },
            { turns, reward: 1 },
          ],
        ],
        options,
      ),
      [],
    );
    const group = [
      { turns, reward: 1 },
      { turns, reward: 0 },
      { turns: turns.slice(0, 1), reward: -1 },
    ];
    const rows = toTrajectories([group], options);
    assert.equal(rows.length, 1);
    assert.ok(rows[0]!.advantage > 1);
  });

  it('keeps samples without an advantage for the regularisers, but drops groups of equal rewards', () => {
    const rewarded = (...rewards: number[]) => rewards.map((reward) => ({ turns, reward }));
    const groups = [rewarded(1, 0, 0.5), rewarded(1, 1, 1)];
    const zeros = (over: Partial<TrajectoryOptions>) =>
      toTrajectories(groups, { ...options, ...over }).map(({ advantage }) => advantage === 0);
    assert.deepEqual(zeros({}), [false, false]);
    assert.deepEqual(zeros({ regularised: true }), [false, false, true]);
  });
});

describe('the function sampledRanges', () => {
  it('returns the ranges of non-empty answers', () => {
    const list: TokenTurn[] = [...turns.slice(0, 2), { stage: 3, promptTokens: [13], answerTokens: [] }, turns[2]!];
    const sequence = sequenceOf(list);
    const ranges = sampledRanges(list);
    assert.deepEqual(
      ranges.map(([from, to]) => sequence.slice(from, to)),
      [
        [1, 2, 0],
        [3, 0],
        [4, 0],
      ],
    );
    assert.deepEqual(sampledRanges([]), []);
  });
});

describe('planMinibatches', () => {
  const rows = Array.from({ length: 10 }, (_, i) => i);
  it('contains every row once per epoch, in a different order, in minibatches of the given size', () => {
    const plan = planMinibatches(rows, 2, 4, [1, 'x']);
    assert.deepEqual(
      plan.map((batch) => batch.length),
      [4, 4, 2, 4, 4, 2],
    );
    const [first, second] = [plan.slice(0, 3).flat(), plan.slice(3).flat()];
    for (const order of [first, second])
      assert.deepEqual(
        [...order].sort((a, b) => a - b),
        rows,
      );
    assert.notDeepEqual(first, second);
    assert.deepEqual(plan, planMinibatches(rows, 2, 4, [1, 'x']));
    assert.notDeepEqual(plan, planMinibatches(rows, 2, 4, [2, 'x']));
  });
});

describe('learningRateFactor', () => {
  it('is constant after the warm-up', () => {
    const constant = { schedule: 'constant', warmupSteps: 3 } as const;
    const factors = [1, 2, 3, 4, 60].map((step) => learningRateFactor(step, 60, constant));
    assert.deepEqual(factors, [1 / 3, 2 / 3, 1, 1, 1]);
    assert.equal(learningRateFactor(1, 60, { ...constant, warmupSteps: 0 }), 1);
  });
  it('decays to 0, linearly or by a cosine', () => {
    const at = (schedule: 'linear' | 'cosine') =>
      [1, 6, 10, 11, 12].map((step) => learningRateFactor(step, 10, { schedule, warmupSteps: 0 }));
    const quarter = learningRateFactor(6, 20, { schedule: 'cosine', warmupSteps: 0 });
    const expected: [number[], number[]][] = [
      [at('linear'), [1, 0.5, 0.1, 0, 0]],
      [at('cosine'), [1, 0.5, (1 - Math.cos(Math.PI / 10)) / 2, 0, 0]],
      [[quarter], [(1 + Math.SQRT1_2) / 2]],
    ];
    for (const [factors, wanted] of expected)
      wanted.forEach((factor, i) => {
        assert.ok(Math.abs(factors[i]! - factor) < 1e-12, `${factors} is ${wanted}`);
      });
    assert.equal(learningRateFactor(1, 1, { schedule: 'linear', warmupSteps: 0 }), 1);
  });
});

describe('the scores of a checkpoint', () => {
  it('weigh the generator 0.7 and the tests 0.3', () => {
    assert.ok(Math.abs(checkpointScore(0.5, 0.8) - 0.59) < 1e-12);
    assert.equal(checkpointScore(1, undefined), 0.7);
  });

  it('use pass@k as the fraction of k-subsets with a pass', () => {
    // counts all subsets of n samples, the first c of which pass
    for (let n = 1; n <= 7; n++) {
      for (let c = 0; c <= n; c++) {
        for (let k = 1; k <= n; k++) {
          let passing = 0;
          let all = 0;
          for (let subset = 0; subset < 1 << n; subset++) {
            const size = subset.toString(2).replaceAll('0', '').length;
            if (size !== k) continue;
            all++;
            if ((subset & ((1 << c) - 1)) !== 0) passing++;
          }
          assert.ok(Math.abs(passAtK(n, c, k) - passing / all) < 1e-12, `n=${n} c=${c} k=${k}`);
        }
      }
    }
    assert.ok(passAtK(10_000, 1, 5_000) > 0.49);
  });

  it('refuse invalid arguments of pass@k', () => {
    for (const [n, c, k] of [
      [3, 4, 1],
      [3, -1, 1],
      [3, 1, 4],
      [3, 1, 0],
      [3, 1.5, 1],
    ] as const) {
      assert.throws(() => passAtK(n, c, k), RangeError);
    }
  });
});
