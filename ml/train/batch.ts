// Turns sequences into the tensors of one compiled graph: they are padded to a few standard sizes, and values of a token move to the
// position that predicts the token.
import { GauntletError } from '../../core/base/errors.js';
import { philox } from '../../core/base/random.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import { type Tensor, tensor } from '../device/runtime.js';
import type { GradientSums, LossConfig } from '../engine/engine.js';
import { ppoSums } from '../loss/objectives.js';
import type { PpoGraphLoss } from '../loss/trainingGraph.js';
import { MASKED } from '../nn/attention.js';
import type { BatchShape } from '../nn/decoder.js';
import type { Row } from './branches.js';

const LENGTH_STEP = 32;

/** The standard length for sequences of up to `length` tokens. */
export const paddedLength = (length: number): number => Math.ceil(length / LENGTH_STEP) * LENGTH_STEP;

type BatchRow = { readonly tokens: readonly number[] } & Pick<Row, 'branches'>;

/** The inputs positions int64 [B, T] and visible [B, 1, T, T]: a token sees the opening, and its branch up to itself. */
function branchLayout(rows: readonly BatchRow[], { sequences, length: T }: BatchShape): Record<string, Tensor> {
  const positions = new BigInt64Array(sequences * T);
  const visible = new Float32Array(sequences * T * T).fill(MASKED);
  for (let b = 0; b < sequences; b++) {
    const branches = rows[b]?.branches ?? [0];
    const opening = branches[0]!;
    let branch = 0;
    for (let t = 0; t < T; t++) {
      if (t >= (branches[branch + 1] ?? T)) branch++;
      const start = t < opening ? 0 : branches[branch]!;
      positions[b * T + t] = BigInt(t < opening ? t : opening + t - start);
      const line = (b * T + t) * T;
      visible.fill(0, line, line + Math.min(opening, t + 1)).fill(0, line + start, line + t + 1);
    }
  }
  return {
    positions: tensor(positions, [sequences, T]),
    visible: tensor(visible, [sequences, 1, T, T]),
  };
}

/** Sequences are padded on the right with token 0, which the causal mask hides. Their number is padded to a power of two. */
export class Batch {
  readonly shape: BatchShape;
  readonly ids: Tensor; // [N]
  readonly target: Tensor; // [N, 1]: the next token
  readonly layout: Record<string, Tensor>; // what branchLayout returns; empty if no row has branches

  constructor(sequences: readonly BatchRow[], queryBlock?: number) {
    const longest = Math.max(...sequences.map(({ tokens }) => tokens.length));
    const length = paddedLength(longest);
    const branched = sequences.some(({ branches }) => branches);
    const count = 2 ** Math.ceil(Math.log2(sequences.length));
    this.shape = { sequences: count, length, branched, ...(queryBlock && { queryBlock }) };
    this.layout = branched ? branchLayout(sequences, this.shape) : {};
    const n = this.positions;
    const [ids, target] = [new BigInt64Array(n), new BigInt64Array(n)];
    sequences.forEach(({ tokens }, b) => {
      const at = b * length;
      tokens.forEach((token, t) => {
        ids[at + t] = BigInt(token);
        if (t > 0) target[at + t - 1] = BigInt(token);
      });
    });
    this.ids = tensor(ids, [n]);
    this.target = tensor(target, [n, 1]);
  }

  get positions(): number {
    return this.shape.sequences * this.shape.length;
  }

  /** Moves the value of each token to the position that predicts the token. Other positions are 0. */
  perToken(values: readonly (readonly number[])[]): Tensor {
    const flat = new Float32Array(this.positions);
    for (const [b, sequence] of values.entries()) flat.set(sequence.slice(1), b * this.shape.length);
    return tensor(flat, [flat.length, 1]);
  }

  /**
   * The inverse of perToken. Entry 0 is 0.
   * @param at the positions that the rows of the output have; default: all positions
   */
  aligned(sequences: readonly { tokens: readonly number[] }[], output: Tensor, at?: Tensor): number[][] {
    let data = output.data as Float32Array;
    if (at) {
      const all = new Float32Array(this.positions);
      (at.data as BigInt64Array).forEach((position, i) => {
        all[Number(position)] = data[i]!;
      });
      data = all;
    }
    return sequences.map(({ tokens }, b) => tokens.map((_, t) => (t === 0 ? 0 : data[b * this.shape.length + t - 1]!)));
  }
}

/**
 * The positions that predict a trained token, in their order, and then other positions, until there are `count`. undefined: these
 * are all positions of the batch.
 */
export function trainedPositions(
  batch: Batch,
  sequences: readonly { mask: readonly number[] }[],
  count: (trained: number, positions: number) => number,
): Tensor | undefined {
  const mask = batch.perToken(sequences.map((sequence) => sequence.mask)).data as Float32Array;
  const trained = [...mask.keys()].filter((at) => mask[at] !== 0);
  const size = count(trained.length, mask.length);
  if (size === mask.length) return undefined;
  const others = [...mask.keys()].filter((at) => mask[at] === 0).slice(0, size - trained.length);
  return tensor(BigInt64Array.from([...trained, ...others], BigInt), [size]);
}

/** Fills in the defaults of a loss. */
export function ppoGraphLoss(loss: LossConfig): PpoGraphLoss {
  const { supervised, clip, temperature } = loss;
  return {
    ...{ supervised, clip, temperature },
    clipHigh: loss.clipHigh ?? clip,
    average: loss.average ?? 'token',
    entropyBonus: loss.entropyBonus ?? 0,
    klCoefficient: loss.klCoefficient ?? 0,
  };
}

/** The number of trained tokens. The first token is never trained. */
export const countTrained = (mask: readonly number[]): number => mask.reduce((n, m, t) => (t === 0 ? n : n + m), 0);

/**
 * The inputs of the PPO graph besides weights and adapter.
 * @throws {GauntletError} BAD_INPUT naming an array that the loss needs and a sequence lacks
 */
export function ppoFeeds(batch: Batch, sequences: readonly Trajectory[], loss: PpoGraphLoss): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = {
    ids: batch.ids,
    ...batch.layout,
    target: batch.target,
    advantage: batch.perToken(sequences.map((s) => s.advantages ?? s.tokens.map(() => s.advantage))),
    mask: batch.perToken(sequences.map(({ mask }) => mask)),
  };
  if (!loss.supervised) feeds.old = batch.perToken(sequences.map(({ oldLogprobs }) => oldLogprobs));
  if (loss.average === 'sequence') {
    const weights = sequences.map(({ mask }) => {
      const trained = countTrained(mask);
      return mask.map((m) => (m === 0 ? 0 : m / trained));
    });
    feeds.weight = batch.perToken(weights);
  }
  if (loss.klCoefficient > 0)
    feeds.reference = batch.perToken(
      sequences.map(({ referenceLogprobs }) => {
        if (referenceLogprobs) return referenceLogprobs;
        throw new GauntletError('BAD_INPUT', 'a row has no referenceLogprobs, which a KL penalty needs');
      }),
    );
  return feeds;
}

/**
 * Turns the outputs of the PPO graph into GradientSums.
 * @param trained the positions that went through the output projection; default: all positions
 */
export function ppoResult(
  batch: Batch,
  sequences: readonly Trajectory[],
  loss: PpoGraphLoss,
  out: Record<string, Tensor>,
  trained?: Tensor,
): GradientSums {
  const vector = (name: string): Float32Array => out[name]!.data as Float32Array;
  const named = Object.fromEntries(ppoSums(loss).map((name, i) => [name, vector('sums')[i]!]));
  const sums = {
    ...named,
    gradients: vector('gradients'),
    ...(out.ratios && { ratios: batch.aligned(sequences, out.ratios, trained) }),
  } as Omit<GradientSums, 'divisor'>;
  const divisor =
    loss.average === 'token' ? sums.tokens : sequences.filter(({ mask }) => countTrained(mask) > 0).length;
  return { ...sums, divisor };
}

/**
 * The random numbers of a dropout mask, two int32 [N, 1]. Those of dropoutB are odd. They are a function of the key, the index of
 * the sequence in its minibatch, and the position.
 */
export function dropoutFeeds(
  { shape, positions: n }: Batch,
  indices: readonly number[],
  key: readonly [number, number],
): Record<string, Tensor> {
  const [sums, factors] = [new Int32Array(n), new Int32Array(n)];
  indices.forEach((index, b) => {
    for (let t = 0; t < shape.length; t++) {
      const [a, c] = philox([t, index, 0, 0], key);
      sums[b * shape.length + t] = a!;
      factors[b * shape.length + t] = c! | 1;
    }
  });
  return { dropoutA: tensor(sums, [n, 1]), dropoutB: tensor(factors, [n, 1]) };
}
