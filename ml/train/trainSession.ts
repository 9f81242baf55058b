// Scoring and gradients on one thread: rows are padded into a batch of a few standard sizes, each with its own compiled
// graph. Weights and adapter are inputs of those graphs, so a new adapter costs nothing and no weight is copied.
import { GauntletError } from '../../core/errors.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import { GraphSession, type SessionOptions, type Tensor, tensor } from '../device/runtime.js';
import type { SessionModel } from '../engine/base.js';
import type { Adapter, GradientSums, LossConfig } from '../engine/engine.js';
import type { Graph } from '../ir/graph.js';
import { projectedRows } from '../loss/head.js';
import {
  buildPpoGraph,
  buildScoreGraph,
  buildSupervisedGraph,
  type LoraShape,
  type ScoreOutputs,
} from '../loss/trainingGraph.js';
import { type DecoderConfig, parameterLayout } from '../nn/decoder.js';
import { layoutSize, viewsOf } from '../nn/lora.js';
import { adapterLayout } from '../nn/valueHead.js';
import { encodeModel } from '../onnx/encode.js';
import { recomputes } from './activations.js';
import { Batch, dropoutFeeds, ppoFeeds, ppoGraphLoss, ppoResult, trainedPositions } from './batch.js';
import { addSums } from './statistics.js';

export interface TrainSessionOptions {
  lengthStep?: number; // sequences are padded to a multiple of this
  checkpointing?: boolean; // recompute layers in the backward pass; absent: where they would take much memory
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
/** Of a model in files: a graph of thousands of nodes takes memory, and half a second to compile. */
const MAX_LARGE_SESSIONS = 1;

export class TrainSession {
  private readonly sessions = new Map<string, Promise<GraphSession>>();
  private readonly weights: Record<string, Tensor>;
  private readonly config: DecoderConfig;
  private threads = 1;

  constructor(
    private readonly model: SessionModel,
    private readonly options: TrainSessionOptions = {},
  ) {
    this.config = model.config;
    this.weights = Object.fromEntries([...(model.weights ?? [])].map(([name, w]) => [name, tensor(w.data, w.shape)]));
  }

  /** Threads of what runs from now on; they never show in a result. */
  use(threads: number): this {
    this.threads = threads;
    return this;
  }

  /** log p of each token given those before it, per row and aligned with its tokens; entry 0 is 0. */
  async score(
    rows: readonly { tokens: readonly number[] }[],
    adapter: Adapter | undefined,
    temperature: number,
  ): Promise<number[][]> {
    if (rows.length === 0) return [];
    const batch = this.pack(rows);
    const out = await this.runScore(batch, adapter, { temperature });
    return batch.aligned(rows, out.logprobs!);
  }

  /** The value head's estimate of the state in which each token was chosen, aligned as log-probs are. */
  async values(rows: readonly { tokens: readonly number[] }[], adapter: Adapter): Promise<number[][]> {
    if (rows.length === 0) return [];
    const batch = this.pack(rows);
    const out = await this.runScore(batch, adapter, { values: true });
    return batch.aligned(rows, out.values!);
  }

  /**
   * Gradient sums of the loss over the masked tokens of some rows. `indices`: their places in the minibatch, which a
   * dropout mask depends on; absent: these rows are the minibatch.
   * @throws {GauntletError} BAD_INPUT naming the array that a term of the loss needs and a row lacks
   */
  async ppo(
    rows: readonly Trajectory[],
    adapter: Adapter,
    { dropout, ...config }: LossConfig,
    indices: readonly number[] = [...rows.keys()],
  ): Promise<GradientSums> {
    if (rows.length === 0) return addSums([], layoutSize(adapterLayout(this.config, adapter)));
    const loss = ppoGraphLoss(config, adapter.valueHead === true);
    const batch = this.pack(rows);
    const lora = { ...shapeOf(adapter), dropout: dropout?.rate ?? 0 };
    const trained = trainedPositions(batch, rows, (few, all) => projectedRows(few, all, this.config.vocab));
    const projected = trained?.dims[0];
    const { rows: count, length } = batch.shape;
    const { checkpointing = recomputes(this.config, count, length, adapter.rank) } = this.options;
    const key = { kind: 'ppo', ...batch.shape, ...lora, loss, projected };
    const build = (): Graph =>
      buildPpoGraph(this.config, batch.shape, lora, loss, { plan: this.model.plan, checkpointing }, projected);
    const session = await this.session(key, build, checkpointing);
    const feeds = {
      ...ppoFeeds(batch, rows, loss),
      ...(trained && { trained }),
      ...(dropout && dropout.rate > 0 ? dropoutFeeds(batch, indices, dropout.key) : {}),
    };
    const out = await session.run({ ...feeds, ...this.weights, ...this.adapterTensors(adapter) });
    return ppoResult(batch, rows, loss, out);
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

  private async runScore(batch: Batch, adapter: Adapter | undefined, outputs: ScoreOutputs) {
    const lora = adapter && shapeOf(adapter);
    const session = await this.session({ kind: 'score', ...batch.shape, ...outputs, ...lora }, () =>
      buildScoreGraph(this.config, batch.shape, outputs, lora, { plan: this.model.plan }),
    );
    const target: Record<string, Tensor> = outputs.temperature === undefined ? {} : { target: batch.target };
    return session.run({ ids: batch.ids, ...target, ...this.weights, ...this.adapterTensors(adapter) });
  }

  private adapterTensors(adapter: Adapter | undefined): Record<string, Tensor> {
    if (!adapter) return {};
    const layout = adapterLayout(this.config, adapter);
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
  private async session(
    key: object,
    build: () => Graph,
    asWritten = this.model.plan !== undefined,
  ): Promise<GraphSession> {
    const options: SessionOptions = { threads: this.threads, weights: this.model.plan && 'mapped', asWritten };
    const name = JSON.stringify({ ...key, threads: this.threads });
    const known = this.sessions.get(name);
    const session = known ?? GraphSession.open(encodeModel(build()), options);
    this.sessions.delete(name);
    this.sessions.set(name, session); // most recent last
    session.catch(() => this.sessions.delete(name)); // a retry compiles afresh
    const most = this.options.maxSessions ?? (this.model.plan ? MAX_LARGE_SESSIONS : MAX_SESSIONS);
    if (known || this.sessions.size <= most) return session;
    const [oldest, unused] = this.sessions.entries().next().value!;
    this.sessions.delete(oldest);
    await (await unused).close();
    return session;
  }
}

const shapeOf = ({ rank, alpha, valueHead = false }: Adapter): LoraShape => ({ rank, alpha, valueHead });

const tensors = (
  views: ReadonlyMap<string, { shape: readonly number[]; data: Float32Array }>,
): Record<string, Tensor> => Object.fromEntries([...views].map(([name, v]) => [name, tensor(v.data, v.shape)]));
