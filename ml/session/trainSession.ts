// Scoring and gradients on one thread: rows are padded into a batch of a few standard sizes, each with its own compiled
// graph. Weights and adapter are inputs of those graphs, so a new adapter costs nothing and no weight is copied.
import type ort from 'onnxruntime-node';
import { GauntletError } from '../../core/errors.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import type { Graph } from '../ir/graph.js';
import { PPO_SUMS } from '../loss/objectives.js';
import { type BatchShape, buildPpoGraph, buildScoreGraph, buildSupervisedGraph } from '../loss/trainingGraph.js';
import { type DecoderConfig, parameterLayout } from '../nn/decoder.js';
import { layoutSize, loraLayout, viewsOf } from '../nn/lora.js';
import { encodeModel } from '../onnx/encode.js';
import type { Adapter, GradientSums, LossConfig } from './engine.js';
import { GraphSession, tensor } from './runtime.js';

/** What a session needs of a model. */
export interface LoadedWeights {
  config: DecoderConfig;
  weights: ReadonlyMap<string, { shape: readonly number[]; data: Float32Array }>;
}
export interface TrainSessionOptions {
  threads?: number; // 1 by default: workers, not threads, share the machine
  lengthStep?: number; // sequences are padded to a multiple of this
  maxSessions?: number; // compiled graphs kept; the one unused for longest goes first
}
/** A row of full-parameter training. mask 1 = the token is predicted; absent: every token but the first. */
export interface SupervisedRow {
  tokens: readonly number[];
  mask?: readonly number[];
}
export interface SupervisedSums {
  gradients: Float32Array; // of −Σ log p over trained tokens, flat as parameterLayout
  lossSum: number;
  tokens: number;
}

const LENGTH_STEP = 32;
const MAX_SESSIONS = 24;

export class TrainSession {
  private readonly sessions = new Map<string, Promise<GraphSession>>();
  private readonly weights: Record<string, ort.Tensor>;
  private readonly config: DecoderConfig;

  constructor(
    model: LoadedWeights,
    private readonly options: TrainSessionOptions = {},
  ) {
    this.config = model.config;
    this.weights = Object.fromEntries([...model.weights].map(([name, w]) => [name, tensor(w.data, w.shape)]));
  }

  /** log p of each token given those before it, per row and aligned with its tokens; entry 0 is 0. */
  async score(
    rows: readonly { tokens: readonly number[] }[],
    adapter: Adapter | undefined,
    temperature: number,
  ): Promise<number[][]> {
    if (rows.length === 0) return [];
    const batch = this.pack(rows);
    const lora = adapter && { rank: adapter.rank, alpha: adapter.alpha };
    const session = await this.session({ kind: 'score', ...batch.shape, temperature, ...lora }, () =>
      buildScoreGraph(this.config, batch.shape, temperature, lora),
    );
    const feeds = { ids: batch.ids, target: batch.target, ...this.weights, ...this.adapterTensors(adapter) };
    const logprobs = (await session.run(feeds)).logprobs!.data as Float32Array;
    return rows.map(({ tokens }, b) => tokens.map((_, t) => (t === 0 ? 0 : logprobs[b * batch.shape.length + t - 1]!)));
  }

  /** Gradient sums of the clipped surrogate over the masked tokens of some rows. */
  async ppo(rows: readonly Trajectory[], adapter: Adapter, loss: LossConfig): Promise<GradientSums> {
    const size = layoutSize(loraLayout(this.config, adapter.rank));
    if (rows.length === 0) return gradientSums(new Float32Array(size), new Float32Array(PPO_SUMS.length));
    const batch = this.pack(rows);
    const { rank, alpha } = adapter;
    const { clip, temperature } = loss;
    const session = await this.session({ kind: 'ppo', ...batch.shape, rank, alpha, clip, temperature }, () =>
      buildPpoGraph(this.config, batch.shape, { rank, alpha }, loss),
    );
    const out = await session.run({
      ids: batch.ids,
      target: batch.target,
      old: batch.perToken(rows.map((row) => row.oldLogprobs)),
      advantage: batch.perToken(rows.map((row) => row.tokens.map(() => row.advantage))),
      mask: batch.perToken(rows.map((row) => row.mask)),
      ...this.weights,
      ...this.adapterTensors(adapter),
    });
    return gradientSums(out.gradients!.data as Float32Array, out.sums!.data as Float32Array);
  }

  /** Cross entropy and its gradient for every parameter. `parameters` is flat as parameterLayout. */
  async sft(parameters: Float32Array, rows: readonly SupervisedRow[]): Promise<SupervisedSums> {
    if (rows.length === 0) return { gradients: new Float32Array(parameters.length), lossSum: 0, tokens: 0 };
    const batch = this.pack(rows);
    const masks = rows.map((row) => row.mask ?? row.tokens.map(() => 1));
    const session = await this.session({ kind: 'sft', ...batch.shape }, () =>
      buildSupervisedGraph(this.config, batch.shape),
    );
    const out = await session.run({
      ids: batch.ids,
      target: batch.target,
      mask: batch.perToken(masks),
      ...tensors(viewsOf(parameterLayout(this.config), parameters)),
    });
    const tokens = masks.reduce((sum, mask) => sum + mask.reduce((n, m, t) => (t === 0 ? n : n + m), 0), 0);
    return { gradients: out.gradients!.data as Float32Array, lossSum: (out.loss!.data as Float32Array)[0]!, tokens };
  }

  async close(): Promise<void> {
    const open = await Promise.all(this.sessions.values());
    this.sessions.clear();
    for (const session of open) await session.close();
  }

  private adapterTensors(adapter: Adapter | undefined): Record<string, ort.Tensor> {
    if (!adapter) return {};
    const layout = loraLayout(this.config, adapter.rank);
    if (adapter.values.length !== layoutSize(layout))
      throw new GauntletError(
        'BAD_ADAPTER',
        `the adapter has ${adapter.values.length} values, rank ${adapter.rank} of this model needs ${layoutSize(layout)}`,
      );
    return tensors(viewsOf(layout, adapter.values));
  }

  private pack(rows: readonly { tokens: readonly number[] }[]): Batch {
    const outside = rows.find(
      (row) => row.tokens.length === 0 || row.tokens.some((id) => !(id >= 0 && id < this.config.vocab)),
    );
    if (outside)
      throw new GauntletError('BAD_INPUT', `a row is empty or has a token outside 0..${this.config.vocab - 1}`);
    return new Batch(rows, this.options.lengthStep ?? LENGTH_STEP);
  }

  /** The compiled graph of a key; building is once per key, and the least recently used one makes room. */
  private async session(key: object, build: () => Graph): Promise<GraphSession> {
    const name = JSON.stringify(key);
    const known = this.sessions.get(name);
    const session = known ?? GraphSession.open(encodeModel(build()), this.options.threads ?? 1);
    this.sessions.delete(name);
    this.sessions.set(name, session); // most recent last
    session.catch(() => this.sessions.delete(name)); // a retry compiles afresh
    if (known || this.sessions.size <= (this.options.maxSessions ?? MAX_SESSIONS)) return session;
    const [oldest, unused] = this.sessions.entries().next().value!;
    this.sessions.delete(oldest);
    await (await unused).close();
    return session;
  }
}

const tensors = (
  views: ReadonlyMap<string, { shape: readonly number[]; data: Float32Array }>,
): Record<string, ort.Tensor> => Object.fromEntries([...views].map(([name, v]) => [name, tensor(v.data, v.shape)]));

function gradientSums(gradients: Float32Array, sums: Float32Array): GradientSums {
  const named = Object.fromEntries(PPO_SUMS.map((name, i) => [name, sums[i]!])) as Record<
    (typeof PPO_SUMS)[number],
    number
  >;
  return { gradients, ...named, divisor: named.tokens };
}

/** Rows padded on the right with token 0, which a causal mask hides; their number is padded to a power of two. */
class Batch {
  readonly shape: BatchShape;
  readonly ids: ort.Tensor; // [N]
  readonly target: ort.Tensor; // [N, 1]: the token that follows

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
  perToken(values: readonly (readonly number[])[]): ort.Tensor {
    const n = this.shape.rows * this.shape.length;
    const flat = new Float32Array(n);
    values.forEach((row, b) => {
      for (let t = 1; t < row.length; t++) flat[b * this.shape.length + t - 1] = row[t]!;
    });
    return tensor(flat, [n, 1]);
  }
}
