// Scoring and gradients on one thread. Sequences are padded into batches of a few standard sizes, each with its own
// compiled graph. Weights and adapter are inputs of the graphs, so a new adapter needs no new graph and no copy of weights.
import { GauntletError } from '../../core/base/errors.js';
import type { TokenScores, Trajectory } from '../../core/schema/trajectory.js';
import type { BaseWeights } from '../device/baseWeights.js';
import { OpenGraphs } from '../device/openGraphs.js';
import {
  CPU,
  type Feeds,
  GraphSession,
  HeldFeeds,
  type SessionDevice,
  type Tensor,
  tensor,
  tensors,
} from '../device/runtime.js';
import type { SessionModel } from '../engine/base.js';
import type { Adapter, GradientSums, LossConfig } from '../engine/engine.js';
import type { Graph } from '../ir/graph.js';
import { type Half, toHalf } from '../ir/half.js';
import { projectedRows } from '../loss/head.js';
import { buildPpoGraph, buildScoreGraph, buildSupervisedGraph, type ScoreOutputs } from '../loss/trainingGraph.js';
import { QUERY_BLOCK } from '../nn/attention.js';
import type { DecoderConfig } from '../nn/config.js';
import { type LoraShape, layoutSize, loraLayout, loraViews, parameterLayout, viewsOf } from '../nn/layout.js';
import type { WeightLocations } from '../nn/separateWeights.js';
import { isLora } from '../nn/tensorNames.js';
import { shouldRecompute } from './activations.js';
import { Batch, countTrained, dropoutFeeds, ppoFeeds, ppoGraphLoss, ppoResult, trainedPositions } from './batch.js';
import type { Row } from './branches.js';
import { GradientTotal } from './statistics.js';

export interface TrainSessionOptions {
  device?: SessionDevice; // default: CPU
  checkpointing?: boolean; // recompute layers in the backward pass; default: if keeping them takes much memory
  activationBytes?: number; // see EngineOptions
  keptBytes?: number; // the most activations that are kept instead of recomputed
  base?: BaseWeights | undefined; // weights on a device, in the type of `half`; default: graphs get the weights of the model
  half?: Half | undefined; // the type of layers when they score and train policies; default: f32
  graphs?: OpenGraphs; // keeps graphs open; default: all stay open
}
/** A sequence of full-parameter training. mask 1: the token is trained; without a mask, all but the first are. */
export interface SupervisedSequence {
  tokens: readonly number[];
  mask?: readonly number[];
}
export interface SupervisedSums {
  gradients: Float32Array; // derivatives of −Σ log p over trained tokens, flat as parameterLayout
  lossSum: number;
  tokens: number;
}

/** The memory of a compiled graph for each of its nodes. Measured: 5 to 12 kB. */
const NODE_BYTES = 8e3;
const OWN = 'train '; // the names of the graphs of training start with it

type Tokens = { tokens: readonly number[] } & Pick<Row, 'branches'>;
type Scored = Tokens & { mask?: readonly number[] };

export class TrainSession {
  private readonly graphs: OpenGraphs;
  private readonly weights: HeldFeeds; // the weights that are inputs of all graphs
  private adapter: { values: Float32Array; held: HeldFeeds } | undefined; // the latest adapter
  private readonly config: DecoderConfig;
  private readonly device: SessionDevice;
  private threads = 1;

  constructor(
    private readonly model: SessionModel,
    private readonly options: TrainSessionOptions = {},
  ) {
    this.config = model.config;
    this.device = options.device ?? CPU;
    this.weights = new HeldFeeds(this.device, (options.base ? undefined : model.weights) ?? [], () => options.half);
    this.graphs = options.graphs ?? new OpenGraphs(Number.POSITIVE_INFINITY);
  }

  /** Sets the number of threads for the next runs. It changes no result. */
  use(threads: number): this {
    this.threads = threads;
    return this;
  }

  /** log p of each token given the tokens before it, aligned with the tokens; entry 0 is 0. With masks, other entries may be 0. */
  async score(sequences: readonly Scored[], adapter: Adapter | undefined, temperature: number): Promise<number[][]> {
    return (await this.runScore(sequences, adapter, { temperature })).logprobs!;
  }

  /** Like `score`, with the entropy in nats of the distribution that each token is drawn from. */
  async scoreWithEntropies(
    sequences: readonly Scored[],
    adapter: Adapter | undefined,
    temperature: number,
  ): Promise<TokenScores[]> {
    const { logprobs, entropies } = await this.runScore(sequences, adapter, { temperature, entropies: true });
    return logprobs!.map((own, i) => ({ logprobs: own, entropies: entropies![i]! }));
  }

  /**
   * Gradient sums of the loss over the trained tokens of a part of a minibatch.
   * @param indices of the sequences in the minibatch, for the dropout mask; default: the part is the minibatch
   * @throws {GauntletError} BAD_INPUT naming an array that the loss needs and a sequence lacks
   */
  async ppo(
    sequences: readonly (Trajectory & Row)[],
    adapter: Adapter,
    { dropout, ...config }: LossConfig,
    indices: readonly number[] = [...sequences.keys()],
  ): Promise<GradientSums> {
    if (sequences.length === 0) return new GradientTotal(layoutSize(loraLayout(this.config, adapter.rank))).sums;
    const loss = ppoGraphLoss(config);
    const batch = this.pack(sequences);
    const lora = { ...shapeOf(adapter), dropout: dropout?.rate ?? 0 };
    const trained = this.projected(batch, sequences);
    const projected = trained?.dims[0];
    const { keptBytes, checkpointing = shouldRecompute(this.config, batch.shape, adapter.rank, keptBytes) } =
      this.options;
    const key = { kind: 'ppo', ...batch.shape, ...lora, loss, projected };
    const { half } = this.options;
    const options = { locations: this.locations, checkpointing, lossScaled: half !== undefined };
    const build = (): Graph => buildPpoGraph(this.config, batch.shape, lora, loss, options, projected);
    const session = await this.session(key, build, { checkpointing, half });
    const feeds = {
      ...this.weightFeeds,
      ...this.adapterFeeds(adapter),
      ...ppoFeeds(batch, sequences, loss),
      ...(trained && { trained }),
      ...(dropout && dropout.rate > 0 ? dropoutFeeds(batch, indices, dropout.key) : {}),
    };
    const out = await (half ? runScaled(session, feeds) : session.run(feeds));
    return ppoResult(batch, sequences, loss, out, trained);
  }

  /** Cross entropy and its gradient for every parameter. `parameters` is flat as parameterLayout. */
  async sft(parameters: Float32Array, sequences: readonly SupervisedSequence[]): Promise<SupervisedSums> {
    if (sequences.length === 0) return { gradients: new Float32Array(parameters.length), lossSum: 0, tokens: 0 };
    const batch = this.pack(sequences);
    const masks = sequences.map(({ tokens, mask }) => mask ?? tokens.map(() => 1));
    const session = await this.session({ kind: 'sft', ...batch.shape }, () =>
      buildSupervisedGraph(this.config, batch.shape),
    );
    const out = await session.run({
      ids: batch.ids,
      target: batch.target,
      mask: batch.perToken(masks),
      ...tensors(viewsOf(parameterLayout(this.config), parameters)),
    });
    const tokens = masks.reduce((sum, mask) => sum + countTrained(mask), 0);
    return { gradients: out.gradients!.data as Float32Array, lossSum: (out.loss!.data as Float32Array)[0]!, tokens };
  }

  async close(): Promise<void> {
    await this.graphs.close(OWN);
    this.weights.dispose();
    this.options.base?.close();
    this.adapter?.held.dispose();
    this.adapter = undefined;
  }

  /** All outputs, with one number per token. */
  private async runScore(
    sequences: readonly Scored[],
    adapter: Adapter | undefined,
    outputs: ScoreOutputs,
  ): Promise<Record<string, number[][]>> {
    if (sequences.length === 0) return { logprobs: [], entropies: [] };
    const batch = this.pack(sequences);
    const lora = adapter && shapeOf(adapter);
    const { locations } = this;
    const masked = sequences.flatMap(({ mask }) => (mask ? [{ mask }] : []));
    const trained = masked.length < sequences.length ? undefined : this.projected(batch, masked);
    const projected = trained?.dims[0];
    const session = await this.session(
      { kind: 'score', ...batch.shape, ...outputs, ...lora, projected },
      () => buildScoreGraph(this.config, batch.shape, outputs, lora, { locations }, projected),
      { half: this.options.half },
    );
    const out = await session.run({
      ids: batch.ids,
      ...batch.layout,
      target: batch.target,
      ...(trained && { trained }),
      ...this.weightFeeds,
      ...this.adapterFeeds(adapter),
    });
    return Object.fromEntries(
      Object.entries(out).map(([name, tensor]) => [name, batch.aligned(sequences, tensor, trained)]),
    );
  }

  /** The positions that go through the output projection; undefined: all positions. */
  private projected(batch: Batch, sequences: readonly { mask: readonly number[] }[]): Tensor | undefined {
    return trainedPositions(batch, sequences, (needed, all) => projectedRows(needed, all, this.config.vocab));
  }

  /** The weights that are constants of the graphs, in files. */
  private get locations(): WeightLocations | undefined {
    return this.options.base ? undefined : this.model.locations;
  }
  private get weightFeeds(): Feeds {
    return this.options.base?.tensors.parts ?? this.weights.feeds;
  }

  private adapterFeeds(adapter: Adapter | undefined): Feeds {
    if (!adapter) return {};
    const { values } = adapter;
    if (this.adapter?.values !== values) {
      this.adapter?.held.dispose();
      this.adapter = {
        values,
        held: new HeldFeeds(this.device, loraViews(this.config, adapter), () => this.options.half),
      };
    }
    return this.adapter.held.feeds;
  }

  /** The names of inputs that are weights or LoRA tensors. */
  private halfInputs({ inputs }: Graph): ReadonlySet<string> {
    const names = inputs.map(({ name }) => name);
    return new Set(names.filter((name) => name in this.weightFeeds || isLora(name)));
  }

  private pack(sequences: readonly Tokens[]): Batch {
    const invalid = ({ tokens }: Tokens): boolean =>
      tokens.length === 0 || tokens.some((id) => !(id >= 0 && id < this.config.vocab));
    if (sequences.some(invalid))
      throw new GauntletError('BAD_INPUT', `a row is empty or has a token outside 0..${this.config.vocab - 1}`);
    const { activationBytes, base } = this.options;
    return new Batch(sequences, activationBytes === undefined && !base ? undefined : QUERY_BLOCK.device);
  }

  /** The compiled graph of a key. */
  private session(
    key: object,
    build: () => Graph,
    { checkpointing = false, half }: Pick<TrainSessionOptions, 'checkpointing' | 'half'> = {},
  ): Promise<GraphSession> {
    const { device, threads, model } = this;
    const optimizationsDisabled = checkpointing || model.locations !== undefined;
    const weights = this.locations && ('mapped' as const);
    return this.graphs.open(OWN + JSON.stringify({ ...key, threads }), () => {
      const graph = build();
      if (half) toHalf(graph, half, this.halfInputs(graph), model.config.vocab);
      const open = () => GraphSession.open(graph, { device, threads, weights, optimizationsDisabled });
      return { bytes: NODE_BYTES * graph.nodes.length, open };
    });
  }
}

const LOSS_SCALE = 2 ** 10;
const LEAST_LOSS_SCALE = 2 ** -14;

/**
 * Runs a graph whose gradient is multiplied by the loss scale, so that small numbers do not vanish in 16 bits. If large ones
 * overflow, it runs again with half of the scale, so the result depends on nothing that ran before.
 * @throws {GauntletError} ENGINE_FAULT if the gradient is not finite at any scale
 */
async function runScaled(session: GraphSession, feeds: Feeds): Promise<Record<string, Tensor>> {
  for (let scale = LOSS_SCALE; scale >= LEAST_LOSS_SCALE; scale /= 2) {
    const out = await session.run({ ...feeds, lossScale: tensor(Float32Array.of(scale), [1]) });
    const gradients = (out.gradients!.data as Float32Array).map((x) => x / scale);
    if (gradients.every(Number.isFinite)) return { ...out, gradients: tensor(gradients, [gradients.length]) };
  }
  throw new GauntletError('ENGINE_FAULT', 'the gradient is not finite in 16 bits: set engine.precision to f32');
}

const shapeOf = ({ rank, alpha }: Adapter): LoraShape => ({ rank, alpha });
