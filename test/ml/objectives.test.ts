// Compares the optional terms of the loss with torch and peft (parity/record_objectives.py; versions in the fixture's
// metadata) through the whole training graph, and the learning rate schedules with those of torch.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { learningRateFactor } from '../../core/rl/schedules.js';
import { ROOT } from '../../infra/root.mjs';
import type { Adapter, LossConfig } from '../../ml/engine/engine.js';
import { layoutSize, loraLayout, viewsOf } from '../../ml/nn/layout.js';
import { isLora } from '../../ml/nn/tensorNames.js';
import { relativeError } from '../../ml/selfTest/selfTest.js';
import { policyStats } from '../../ml/train/statistics.js';
import { TrainSession } from '../../ml/train/trainSession.js';
import { RECORDED, RECORDED_CONFIG, Recorded } from './recorded.js';

const GRADIENT_TOLERANCE = 1e-4;
const VALUE_TOLERANCE = 1e-5;
const { rank, alpha, temperature, rows: B, length: T } = RECORDED;
const FIXTURE = process.env.GAUNTLET_OBJECTIVES ?? join(ROOT, 'test/ml/parity/objectives.safetensors');

/** The constants of record_objectives.py. The engine has no value loss, which that file also records. */
const RANGE = { clip: 0.2, clipHigh: 0.35, temperature };
const TERMS = { average: 'sequence', entropyBonus: 0.05, klCoefficient: 0.3 } as const;
const CASES: Record<string, LossConfig> = {
  clip: RANGE,
  sequence: { ...RANGE, ...TERMS },
};

describe('terms of the loss', () => {
  let base: Recorded;
  let recorded: Recorded;
  let train: TrainSession;
  let adapter: Adapter;
  const layout = loraLayout(RECORDED_CONFIG, rank);

  before(() => {
    [base, recorded] = [new Recorded(), new Recorded(FIXTURE)];
    train = new TrainSession({ config: RECORDED_CONFIG, weights: base.all('base.') });
    const values = new Float32Array(layoutSize(layout));
    const tensors = base.all('lora.');
    for (const { name, offset } of layout) values.set(tensors.get(name)!.data, offset);
    adapter = { rank, alpha, values };
  });
  after(() => train.close());

  const row = (file: Recorded, name: string, b: number): number[] => [...file.get(name).subarray(b * T, (b + 1) * T)];
  const trajectories = () =>
    Array.from({ length: B }, (_, b) => ({
      tokens: row(base, 'ids', b),
      mask: row(base, 'mask', b),
      oldLogprobs: row(base, 'old', b),
      advantage: Number.NaN, // the advantages of tokens replace it
      advantages: row(recorded, 'advantages', b),
      referenceLogprobs: row(recorded, 'reference', b),
    }));

  for (const [name, loss] of Object.entries(CASES))
    it(`have the loss, the statistics and the gradients that torch computes: ${name}`, async () => {
      const sums = await train.ppo(trajectories(), adapter, loss);
      const stats = policyStats(sums, 0);
      const [total, , policyLoss, exactEntropy, kl, , , clipped] = recorded.get(`${name}.statistics`);
      const terms = loss.entropyBonus ? { policyLoss, exactEntropy, kl } : {};
      const expected = { loss: total, clipFraction: clipped, ...terms } as Record<string, number>;
      const always = ['loss', 'ratio', 'approxKl', 'clipFraction', 'entropy', 'gradNorm', 'tokens'];
      assert.deepEqual(Object.keys(stats).sort(), [...new Set([...always, ...Object.keys(expected)])].sort());
      for (const [key, value] of Object.entries(expected)) {
        const actual = stats[key as keyof typeof stats]!;
        assert.ok(
          Math.abs(actual - value) < VALUE_TOLERANCE * Math.max(1, Math.abs(value)),
          `${key}: ${actual} is not ${value}`,
        );
      }
      const gradients = viewsOf(layout, sums.gradients);
      const truth = new Map([...recorded.all(`${name}.grad.`)].filter(([tensor]) => isLora(tensor)));
      assert.deepEqual([...gradients.keys()].sort(), [...truth.keys()].sort());
      for (const [tensor, { data }] of truth) {
        const mean = gradients.get(tensor)!.data.map((g) => g / sums.divisor);
        const error = data.some((v) => v !== 0) ? relativeError(mean, data) : Math.max(...mean.map(Math.abs));
        assert.ok(error < GRADIENT_TOLERANCE, `${tensor}: relative error ${error}`);
      }
    });

  it('a supervised loss is the cross entropy, and its gradient is that of the surrogate at ratio 1', async () => {
    const rows = trajectories().map(({ tokens, mask }) => ({ tokens, mask, oldLogprobs: mask, advantage: 1 }));
    const logprobs = await train.score(rows, adapter, temperature);
    const supervised = await train.ppo(rows, adapter, { clip: 0.2, temperature, supervised: true });
    const onPolicy = rows.map((each, b) => ({ ...each, oldLogprobs: logprobs[b]! }));
    const surrogate = await train.ppo(onPolicy, adapter, { clip: 0.2, temperature });
    assert.ok(relativeError(supervised.gradients, surrogate.gradients) < VALUE_TOLERANCE);
    const crossEntropy = rows.flatMap(({ mask }, b) => mask.map((m, t) => (t === 0 ? 0 : -m * logprobs[b]![t]!)));
    const { loss, approxKl, clipFraction, ratio } = policyStats(supervised, 0);
    assert.ok(Math.abs(loss - crossEntropy.reduce((sum, x) => sum + x) / supervised.tokens) < VALUE_TOLERANCE);
    assert.deepEqual([ratio, approxKl, clipFraction], [1, 0, 0]);
  });

  it('sums over shards equal the sums over the whole minibatch', async () => {
    const rows = trajectories();
    const whole = await train.ppo(rows, adapter, CASES.sequence!);
    const parts = [
      await train.ppo(rows.slice(0, 1), adapter, CASES.sequence!),
      await train.ppo(rows.slice(1), adapter, CASES.sequence!),
    ];
    assert.equal(whole.divisor, B);
    const { gradients: _, ratios, ...sums } = whole;
    assert.deepEqual([...parts[0]!.ratios!, ...parts[1]!.ratios!], ratios);
    for (const key of Object.keys(sums) as (keyof typeof sums)[]) {
      const sum = parts[0]![key]! + parts[1]![key]!;
      assert.ok(Math.abs(sum - whole[key]!) < VALUE_TOLERANCE * Math.max(1, Math.abs(sum)), key);
    }
  });

  it('a disabled term does not change any sum or bit', async () => {
    const rows = trajectories().map(({ tokens, mask, oldLogprobs, advantages }) => ({
      tokens,
      mask,
      oldLogprobs,
      advantages,
      advantage: 0,
    }));
    const plain = await train.ppo(rows, adapter, { clip: 0.2, temperature });
    const off = { entropyBonus: 0, klCoefficient: 0, dropout: { rate: 0, key: [1, 2] as const } };
    assert.deepEqual(
      await train.ppo(rows, adapter, { clip: 0.2, clipHigh: 0.2, average: 'token', temperature, ...off }),
      plain,
    );
    assert.deepEqual(Object.keys(plain).sort(), [
      'approxKl',
      'clipped',
      'divisor',
      'entropy',
      'gradients',
      'loss',
      'ratio',
      'ratios',
      'tokens',
    ]);
  });

  it('refuses a row without the log-probs that a KL penalty needs', async () => {
    const rows = trajectories().map((r) => ({ ...r, referenceLogprobs: undefined }));
    await assert.rejects(train.ppo(rows, adapter, CASES.sequence!), {
      code: 'BAD_INPUT',
      message: /no referenceLogprobs/,
    });
  });

  it('a token without loss changes no result, however small its probability', async () => {
    const cold = 1e-3; // log-probs are below −88, so the exp of their difference from 0 overflows
    const old = await train.score(trajectories(), adapter, cold);
    assert.ok(Math.min(...old.flat()) < -89);
    const rows = trajectories().map((row, i) => ({
      ...row,
      oldLogprobs: old[i]!,
      referenceLogprobs: old[i]!.map((logprob, t) => (row.mask[t] ? logprob : 0)),
    }));
    const stats = policyStats(await train.ppo(rows, adapter, { ...CASES.sequence!, temperature: cold }), 0);
    assert.ok(Number.isFinite(stats.loss) && Number.isFinite(stats.gradNorm), JSON.stringify(stats));
    assert.equal(stats.kl, 0);
  });
});

describe('schedules of the learning rate', () => {
  const [STEPS, warmupSteps, LOWEST] = [12, 4, 0.1]; // the recorded rates decay to LOWEST, and ours to 0
  const recorded = new Recorded(FIXTURE);
  for (const schedule of ['constant', 'linear', 'cosine'] as const)
    it(`the ${schedule} schedule with warm-up is the product of torch's schedulers`, () => {
      const expected = recorded.get(`rates.${schedule}`);
      const factor = (name: typeof schedule, i: number): number =>
        learningRateFactor(i + 1, STEPS, { schedule: name, warmupSteps });
      const actual = Array.from(
        expected,
        (_, i) => (1 - LOWEST) * factor(schedule, i) + LOWEST * factor('constant', i),
      );
      assert.equal(expected.length, STEPS);
      assert.ok(relativeError(actual, expected) < 1e-6, `${actual} is not ${expected}`);
    });
});
