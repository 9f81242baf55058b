// Tests that sequences with the same opening share a row, and that the results change by rounding only.
import assert from 'node:assert/strict';
import { deriveKey, uniformAt } from '../../../core/base/random.js';
import type { Trajectory } from '../../../core/schema/trajectory.js';
import type { LossConfig } from '../../../ml/engine/engine.js';
import type { DecoderConfig } from '../../../ml/nn/config.js';
import { layoutSize, loraLayout, parameterLayout, viewsOf } from '../../../ml/nn/layout.js';
import { joinRow, MAX_ROW_TOKENS, planRows, splitRows } from '../../../ml/train/branches.js';
import { TrainSession } from '../../../ml/train/trainSession.js';
import { pluck } from '../../support/pluck.js';

const CONFIG: DecoderConfig = {
  hidden: 16,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  ffn: 24,
  vocab: 50,
  normEps: 1e-6,
  ropeTheta: 1e4,
  biases: [],
  qkNorm: true,
  tied: true,
};
const uniforms = (size: number, name: string): Float32Array => {
  const key = deriveKey(name);
  return Float32Array.from({ length: size }, (_, k) => 0.8 * (uniformAt(key, k) - 0.5));
};
const adapter = { rank: 2, alpha: 4, values: uniforms(layoutSize(loraLayout(CONFIG, 2)), 'a') };
const parameters = uniforms(layoutSize(parameterLayout(CONFIG)), 'parameters');
const session = (): TrainSession =>
  new TrainSession({ config: CONFIG, weights: viewsOf(parameterLayout(CONFIG), parameters), locations: undefined });

/** A sequence: the opening of a problem, then an answer of its own, which is trained. */
function sequence(
  problem: number,
  sample: number,
  opening: number,
  answer: number,
): Trajectory & { advantages: number[] } {
  const [prompt, own] = [deriveKey('prompt', problem), deriveKey('answer', problem, sample)];
  const tokens = Array.from({ length: opening + answer }, (_, t) =>
    Math.floor(CONFIG.vocab * (t < opening ? uniformAt(prompt, t) : uniformAt(own, t))),
  );
  const mask = tokens.map((_, t) => (t < opening ? 0 : 1));
  const oldLogprobs = tokens.map((_, t) => (t < opening ? 0 : -4 + uniformAt(own, 1000 + t)));
  return { tokens, mask, oldLogprobs, advantage: 0, advantages: tokens.map((_, t) => uniformAt(own, 2000 + t) - 0.5) };
}

const group = [
  sequence(1, 0, 40, 9),
  sequence(2, 0, 33, 30),
  sequence(1, 1, 40, 25),
  sequence(1, 2, 40, 3),
  sequence(2, 1, 33, 12),
  sequence(3, 0, 20, 18),
];
const rows = planRows(group).map((plan) => joinRow(group, plan));

describe('rows of sequences with the same opening', () => {
  it('hold the opening once, without the token that predicts the first trained one', () => {
    assert.deepEqual(planRows(group), [
      { members: [0, 2, 3], opening: 39 },
      { members: [1, 4], opening: 32 },
      { members: [5], opening: 19 },
    ]);
    const [row] = rows;
    assert.deepEqual(row!.branches, [39, 49, 75]);
    assert.deepEqual(row!.tokens.slice(0, 49), group[0]!.tokens);
    assert.deepEqual(row!.tokens.slice(75), group[3]!.tokens.slice(39));
    assert.equal(
      row!.mask.reduce((a, b) => a + b),
      9 + 25 + 3,
    );
    assert.equal(rows[2], group[5]);
  });

  it('share no short opening and none without a trained token, and stay within the limit of tokens', () => {
    const short = [sequence(4, 0, 10, 20), sequence(4, 1, 10, 20)];
    assert.deepEqual(pluck(planRows(short), 'members'), [[0], [1]]);
    const untrained = group.map((row) => ({ ...row, mask: row.mask.map(() => 0) }));
    assert.equal(planRows(untrained).length, group.length);
    const long = [0, 1, 2].map((sample) => sequence(5, sample, MAX_ROW_TOKENS / 2, MAX_ROW_TOKENS / 4 - 1));
    assert.deepEqual(pluck(planRows(long), 'members'), [[0, 1], [2]]);
  });

  it('lack an array that one of the sequences lacks', () => {
    const [first, second] = [
      { ...group[0]!, referenceLogprobs: group[0]!.tokens.map(() => -1) },
      { ...group[2]!, referenceLogprobs: undefined },
    ];
    const row = joinRow([first, second], { members: [0, 1], opening: 39 });
    assert.equal(row.referenceLogprobs, undefined);
  });

  it('have the log-probs of separate rows', async () => {
    const train = session();
    const separate = await train.score(group, adapter, 0.8);
    const joined = await train.score(rows, adapter, 0.8);
    assertClose(joined, separate);
    await train.close();
  });

  /** Compares trained tokens. */
  function assertClose(joined: number[][], separate: number[][]): void {
    splitRows(group, planRows(group), joined).forEach((values, member) => {
      const { mask, tokens } = group[member]!;
      assert.equal(values.length, tokens.length);
      values.forEach((value, t) => {
        if (mask[t] === 1) assert.ok(Math.abs(value - separate[member]![t]!) < 2e-6, `${member} ${t}`);
      });
    });
  }

  it('have the gradients and statistics of separate rows', async () => {
    const train = session();
    const loss: LossConfig = { clip: 0.2, temperature: 0.8, entropyBonus: 0.01 };
    const separate = await train.ppo(group, adapter, loss);
    const joined = await train.ppo(rows, adapter, loss);
    const largest = Math.max(...separate.gradients.map(Math.abs));
    separate.gradients.forEach((g, i) => {
      assert.ok(Math.abs(g - joined.gradients[i]!) < 1e-5 * largest, `${i}`);
    });
    for (const name of ['loss', 'ratio', 'entropy', 'exactEntropy', 'tokens', 'divisor'] as const)
      assert.ok(Math.abs(separate[name]! - joined[name]!) < 1e-4 * Math.abs(separate[name]!), name);
    assertClose(joined.ratios!, separate.ratios!);
    await train.close();
  });
});
