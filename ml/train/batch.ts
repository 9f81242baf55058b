// Rows as the tensors of one compiled graph: padded to a few standard sizes, token-aligned values moved to the position
// that predicts the token.
import { GauntletError } from '../../core/errors.js';
import { philox } from '../../core/random.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import { type Tensor, tensor } from '../device/runtime.js';
import type { GradientSums, LossConfig } from '../engine/engine.js';
import { ppoSums, VALUE_SUMS } from '../loss/objectives.js';
import type { BatchShape, PpoGraphLoss } from '../loss/trainingGraph.js';

/** Rows padded on the right with token 0, which a causal mask hides; their number is padded to a power of two. */
export class Batch {
  readonly shape: BatchShape;
  readonly ids: Tensor; // [N]
  readonly target: Tensor; // [N, 1]: the token that follows

  constructor(rows: readonly { tokens: readonly number[] }[], lengthStep: number) {
    const longest = Math.max(...rows.map((row) => row.tokens.length));
    this.shape = { rows: 2 ** Math.ceil(Math.log2(rows.length)), length: Math.ceil(longest / lengthStep) * lengthStep };
    const n = this.shape.rows * this.shape.length;
    const [ids, target] = [new BigInt64Array(n), new BigInt64Array(n)];
    rows.forEach(({ tokens }, b) => {
      const at = b * this.shape.length;
      tokens.forEach((token, t) => {
        ids[at + t] = BigInt(token);
        if (t > 0) target[at + t - 1] = BigInt(token);
      });
    });
    this.ids = tensor(ids, [n]);
    this.target = tensor(target, [n, 1]);
  }

  /** Token-aligned values moved to the position that predicts the token; 0 elsewhere. */
  perToken(values: readonly (readonly number[])[]): Tensor {
    const n = this.shape.rows * this.shape.length;
    const flat = new Float32Array(n);
    values.forEach((row, b) => {
      for (let t = 1; t < row.length; t++) flat[b * this.shape.length + t - 1] = row[t]!;
    });
    return tensor(flat, [n, 1]);
  }

  /** The inverse of perToken for `rows`; entry 0 is 0. */
  aligned(rows: readonly { tokens: readonly number[] }[], output: Tensor): number[][] {
    const data = output.data as Float32Array;
    return rows.map(({ tokens }, b) => tokens.map((_, t) => (t === 0 ? 0 : data[b * this.shape.length + t - 1]!)));
  }
}

/**
 * Positions that predict a trained token, in order, and others behind them up to `count`; undefined where those are all
 * positions of the batch.
 */
export function trainedPositions(
  { shape }: Batch,
  rows: readonly Trajectory[],
  count: (trained: number, positions: number) => number,
): Tensor | undefined {
  const n = shape.rows * shape.length;
  const chosen = new Uint8Array(n);
  rows.forEach(({ mask }, b) => {
    for (let t = 1; t < mask.length; t++) if (mask[t] !== 0) chosen[b * shape.length + t - 1] = 1;
  });
  const trained = [...chosen.keys()].filter((at) => chosen[at] === 1);
  const size = count(trained.length, n);
  if (size === n) return undefined;
  const others = [...chosen.keys()].filter((at) => chosen[at] === 0).slice(0, size - trained.length);
  return tensor(BigInt64Array.from([...trained, ...others], BigInt), [size]);
}

/** What is on: a coefficient that is absent or 0 is off, and so is the value loss of an adapter without a head. */
export function ppoGraphLoss(loss: LossConfig, valueHead: boolean): PpoGraphLoss {
  const { clip, temperature, valueCoefficient = 0, valueClip } = loss;
  return {
    clip,
    clipHigh: loss.clipHigh ?? clip,
    temperature,
    average: loss.average ?? 'token',
    entropyBonus: loss.entropyBonus ?? 0,
    klCoefficient: loss.klCoefficient ?? 0,
    ...(valueHead && valueCoefficient > 0 ? { value: { coefficient: valueCoefficient, clip: valueClip } } : {}),
  };
}

const trainedTokens = ({ mask }: Trajectory): number => mask.reduce((n, m, t) => (t === 0 ? n : n + m), 0);

/**
 * The inputs of the PPO graph besides the model's.
 * @throws {GauntletError} BAD_INPUT naming the array that a term of the loss needs and a row lacks
 */
export function ppoFeeds(batch: Batch, rows: readonly Trajectory[], loss: PpoGraphLoss): Record<string, Tensor> {
  const needed = (name: 'referenceLogprobs' | 'oldValues' | 'returns', why: string): Tensor =>
    batch.perToken(
      rows.map((row) => {
        const values = row[name];
        if (!values) throw new GauntletError('BAD_INPUT', `a row has no ${name}, which ${why} needs`);
        return values;
      }),
    );
  const feeds: Record<string, Tensor> = {
    ids: batch.ids,
    target: batch.target,
    old: batch.perToken(rows.map((row) => row.oldLogprobs)),
    advantage: batch.perToken(rows.map((row) => row.advantages ?? row.tokens.map(() => row.advantage))),
    mask: batch.perToken(rows.map((row) => row.mask)),
  };
  if (loss.average === 'sequence') {
    const weights = rows.map((row) => {
      const trained = trainedTokens(row);
      return row.mask.map((m) => (m === 0 ? 0 : m / trained));
    });
    feeds.weight = batch.perToken(weights);
  }
  if (loss.klCoefficient > 0) feeds.reference = needed('referenceLogprobs', 'a KL penalty');
  if (loss.value) feeds.returns = needed('returns', 'a value loss');
  if (loss.value?.clip !== undefined) feeds.oldValues = needed('oldValues', 'a clipped value loss');
  return feeds;
}

/** What the PPO graph computed, by the names of the port. */
export function ppoResult(
  batch: Batch,
  rows: readonly Trajectory[],
  loss: PpoGraphLoss,
  out: Record<string, Tensor>,
): GradientSums {
  const vector = (name: string): Float32Array => out[name]!.data as Float32Array;
  const named = Object.fromEntries(ppoSums(loss).map((name, i) => [name, vector('sums')[i]!]));
  const sums = { ...named, gradients: vector('gradients') } as Omit<GradientSums, 'divisor'>;
  const divisor = loss.average === 'token' ? sums.tokens : rows.filter((row) => trainedTokens(row) > 0).length;
  if (!loss.value) return { ...sums, divisor };
  const ofValues = Object.fromEntries(VALUE_SUMS.map((name, i) => [name, vector('valueSums')[i]!]));
  const moments = valueMoments(rows, batch.aligned(rows, out.values!));
  return { ...sums, ...(ofValues as Record<string, number>), loss: sums.loss + ofValues.loss!, divisor, ...moments };
}

/** Moments of returns and of what the values miss, over trained tokens, in f64: their variances cancel in f32. */
function valueMoments(rows: readonly Trajectory[], values: readonly (readonly number[])[]) {
  const sums = { returns: 0, returnsSquared: 0, valueErrors: 0, valueErrorsSquared: 0 };
  rows.forEach(({ mask, returns }, b) => {
    for (let t = 1; t < mask.length; t++) {
      if (mask[t] === 0) continue;
      const target = returns![t]!;
      const error = target - values[b]![t]!;
      sums.returns += target;
      sums.returnsSquared += target * target;
      sums.valueErrors += error;
      sums.valueErrorsSquared += error * error;
    }
  });
  return sums;
}

/**
 * What a dropout mask draws from at each position, two int32 [N, 1] (the second odd): a function of the key, of a row's
 * index in its minibatch and of the position in the row.
 */
export function dropoutFeeds(
  { shape }: Batch,
  indices: readonly number[],
  key: readonly [number, number],
): Record<string, Tensor> {
  const n = shape.rows * shape.length;
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
