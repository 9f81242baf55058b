// Generation on one thread. Sequences step together and leave the batch when they finish, which makes room for the next
// ones; prompts are read in between. The tokens of a sequence depend on weights, prompt, key and options only, not on the
// rest of the batch (see decodeGraph.ts).
import { uniformAt } from '../../core/base/random.js';
import { OpenGraphs } from '../device/openGraphs.js';
import { CPU, GraphSession, type SessionOptions, type Tensor, tensor } from '../device/runtime.js';
import type { SessionModel } from '../engine/base.js';
import type { GenerateCounts, Generated, GenerateRequest } from '../engine/engine.js';
import type { DecoderConfig } from '../nn/config.js';
import {
  buildDecodeGraph,
  buildStepGraph,
  type DecodeGraphOptions,
  type OutputKind,
  ropeOutsideAttention,
  type WeightsOf,
} from '../nn/decodeGraph.js';
import { FUSED_WEIGHTS, FusedWeights, fuseWeights } from '../nn/fusedWeights.js';
import { type IdentifiedAdapter, type LoraShape, layoutSize, loraViews, parameterLayout } from '../nn/layout.js';
import { mergeLora } from '../nn/mergeLora.js';
import { SeparateWeights, type WeightLocations } from '../nn/separateWeights.js';
import {
  type CachedPrefix,
  DecodeBatch,
  PREFILL_SEQUENCES,
  type PromptGroup,
  promptGroups,
  promptSegmentAt,
} from './decodeBatch.js';
import { cacheWidth } from './kvCaches.js';
import { outputKindFor, Sampler, type SamplingOptions } from './sampler.js';
import { segmentsOf } from './segments.js';

export interface DecodeOptions extends SamplingOptions {
  maxNewTokens: number;
  stopTokens: readonly number[];
  stopSequences?: readonly (readonly number[])[] | undefined;
  logprobs?: boolean;
}

/** Whether an answer, which begins at `start`, ends with a stop token or a stop sequence. */
export const isEnded = (
  tokens: readonly number[],
  start: number,
  { stopTokens, stopSequences = [] }: Pick<DecodeOptions, 'stopTokens' | 'stopSequences'>,
): boolean =>
  stopTokens.includes(tokens.at(-1)!) ||
  stopSequences.some((stop) => {
    const from = tokens.length - stop.length;
    return from >= start && stop.every((token, i) => tokens[from + i] === token);
  });

export interface DecodeHooks {
  /** Called before every run of the model; throws to stop. */
  check?: () => void;
  /** Reports the number of tokens sampled since the last call. */
  onTokens?: (count: number) => void;
}

export interface DecodeRequest extends GenerateRequest {
  cached?: CachedPrefix; // comes from a session with the same weights
}

export interface DecodeResult {
  answers: Generated[];
  caches: (CachedPrefix | undefined)[]; // one per request; undefined: nothing was computed for it, or there was no room
  counts: GenerateCounts;
}

/** Prompts and steps have the same graph if a second copy of the weights would be too large. */
interface Graphs {
  prompts: GraphSession;
  steps: GraphSession;
  close(): Promise<void>;
}
interface WeightSources extends Pick<SessionOptions, 'weights' | 'memory'> {
  weightsOf: WeightsOf;
}
interface Opened extends Omit<Graphs, 'close'> {
  /** The inputs that are the same in every run. */
  fixed: Record<string, Tensor>;
}

/** The most sequences that step together; others wait for a slot. More would not fit into the processor's cache. */
export const DECODE_SLOTS = 32;
/** Bytes per parameter of a small model that the graphs of one adapter take: our fused weights, and a reordered copy in both graphs. */
const FUSED_PARAMETER_BYTES = 12;
const GRAPH_BYTES = 3e6; // what a graph takes without weights
const OWN = 'generate '; // the names of the graphs of generation start with it
/** The weights of larger models are not converted to f32 when the session opens. */
export const CONSTANT_FOLDED_PARAMETERS = 2e9;
/** Larger models have one graph for prompts and steps, although it copies caches: each graph has a copy of the weights. */
const STEP_GRAPH_PARAMETERS = 2.5e8;

export class DecodeSession {
  private latest = ''; // the name of the graphs that were used last
  private adapter: IdentifiedAdapter | undefined;
  private readonly sampler: Sampler;
  private readonly minBatch: number;
  private threads = 1;

  constructor(
    private readonly model: SessionModel,
    private readonly contextLength: number,
    private readonly device = CPU,
    private readonly graphs = new OpenGraphs(Number.POSITIVE_INFINITY),
    private readonly batchBytes = Number.POSITIVE_INFINITY, // see WorkerInit
  ) {
    this.sampler = new Sampler(model.config.vocab);
    this.minBatch = model.locations ? 2 : 1; // a batch of one row rounds differently if weights are separate
  }

  /** Selects the adapter (undefined: the base) and the number of threads, which changes no result. */
  use(adapter: IdentifiedAdapter | undefined, threads = this.threads): void {
    this.adapter = adapter;
    this.threads = threads;
  }

  /**
   * Answers in the order of the requests. A prompt that leaves no room in the context gets an empty, unfinished answer.
   * @param cacheBytes how many bytes of keys and values to return at most, for later prompts that start with these tokens
   */
  async generate(
    requests: readonly DecodeRequest[],
    options: DecodeOptions,
    hooks: DecodeHooks = {},
    cacheBytes = 0,
  ): Promise<DecodeResult> {
    const counts: GenerateCounts = { prefilled: 0, redecoded: 0, reused: 0, sampled: 0 };
    const answers = requests.map((): Generated => ({ tokens: [], finished: false }));
    const logprobs = requests.map((): number[] => []);
    const caches = requests.map((): CachedPrefix | undefined => undefined);
    let room = cacheBytes;
    const limitOf = (prompt: readonly number[]): number =>
      Math.min(options.maxNewTokens, this.contextLength - prompt.length);
    const feasible = [...requests.entries()].filter(([, { prompt }]) => limitOf(prompt) > 0);
    if (feasible.length === 0) return { answers, caches, counts };

    const opened = await this.session(outputKindFor(options));
    const longest = Math.max(...feasible.map(([, { prompt }]) => prompt.length + limitOf(prompt)));
    const fitting = Math.max(1, Math.floor(this.batchBytes / (4 * longest * cacheWidth(this.model.config))));
    const slots = Math.min(DECODE_SLOTS, fitting, feasible.length);
    const stepGraph = opened.steps !== opened.prompts;
    const batch = new DecodeBatch(this.model.config, slots, this.minBatch, stepGraph, longest);
    while (batch.sequences.length > 0 || feasible.length > 0) {
      const free = slots - batch.sequences.length;
      const refill = batch.sequences.length === 0 || free >= PREFILL_SEQUENCES ? free : 0;
      for (const [index, { key, prompt, sampled, cached }] of feasible.splice(0, refill)) {
        const segments = segmentsOf(prompt.length, sampled);
        const sequence = { index, key, tokens: [...prompt], promptLength: prompt.length, segments, filled: 0 };
        batch.add({ ...sequence, limit: limitOf(prompt) }, cached);
        counts.reused += cached?.length ?? 0;
      }
      for (let groups = promptGroups(batch.sequences); groups.length > 0; groups = promptGroups(batch.sequences)) {
        for (const group of groups) {
          hooks.check?.();
          counts.prefilled += await this.readPrompts(opened, batch, group);
        }
      }
      hooks.check?.();
      const next = await this.step(opened, batch, options);
      let sampled = 0;
      for (let b = batch.sequences.length - 1; b >= 0; b--) {
        const sequence = batch.sequences[b]!;
        const { index, key, tokens, promptLength } = sequence;
        if (sequence.filled < tokens.length) {
          counts.redecoded++; // the next token is already known
          continue;
        }
        const done = tokens.length - promptLength;
        const { token, logprob } = this.sampler.sample(next, b, options, uniformAt(key, done), tokens);
        tokens.push(token);
        logprobs[index]!.push(logprob);
        sampled++;
        const finished = isEnded(tokens, promptLength, options);
        if (!finished && done + 1 < sequence.limit) continue;
        const answer = { tokens: tokens.slice(promptLength), finished };
        answers[index] = options.logprobs ? { ...answer, logprobs: logprobs[index]! } : answer;
        const bytes = batch.cacheBytes(b);
        if (bytes <= room) {
          caches[index] = batch.copyCache(b);
          room -= bytes;
        }
        batch.remove(b);
      }
      counts.sampled += sampled;
      hooks.onTokens?.(sampled);
    }
    return { answers, caches, counts };
  }

  async close(): Promise<void> {
    await this.graphs.close(OWN);
  }

  /** Reads the next segment of each sequence in the group. These segments have equal lengths. @returns the number of tokens read */
  private async readPrompts(opened: Opened, batch: DecodeBatch, group: PromptGroup): Promise<number> {
    const { config } = this.model;
    const firsts = group.map((same) => batch.sequences[same[0]!]!);
    const { from, to } = promptSegmentAt(firsts[0]!)!;
    batch.reserve(to);
    const rows = firsts.length;
    const length = Math.max(2, to - from); // a single token would be rounded as in a step
    const ids = new BigInt64Array(rows * length);
    const kvIndices = new BigInt64Array(rows * config.kvHeads * (to - from) * 3);
    let at = 0;
    firsts.forEach(({ tokens }, b) => {
      for (let t = from; t < to; t++) ids[b * length + t - from] = BigInt(tokens[t]!);
      for (let h = 0; h < config.kvHeads; h++)
        for (let t = from; t < to; t++) {
          kvIndices[at++] = BigInt(b);
          kvIndices[at++] = BigInt(h);
          kvIndices[at++] = BigInt(t);
        }
    });
    const first = group[0]![0]!;
    const outputs = this.device.provider === 'cpu' ? 0 : 1; // a GPU may refuse empty tensors; the output is not read
    const positions = (): BigInt64Array => ids.map((_, i) => BigInt(from + (i % length)));
    const out = await opened.prompts.run({
      ...opened.fixed,
      ...(from === 0 ? batch.caches.empty(rows) : batch.caches.feeds(first, first + 1)),
      ids: tensor(ids, [ids.length]),
      batch: tensor(BigInt64Array.of(BigInt(rows), BigInt(length), -1n), [3]),
      seqlensK: tensor(new Int32Array(rows).fill(from + length - 1), [rows]),
      totalSequenceLength: tensor(Int32Array.of(from + length), []),
      kvIndices: tensor(kvIndices, [kvIndices.length / 3, 3]),
      last: tensor(new BigInt64Array(outputs), [outputs]),
      ...(ropeOutsideAttention(config) && { positions: tensor(positions(), [ids.length, 1]) }),
    });
    const kv = out.kv!.data as Float32Array;
    group.forEach((same, g) => {
      for (const b of same) {
        batch.caches.write(b, from, to - from, kv, rows, g);
        batch.sequences[b]!.filled = to;
      }
    });
    return rows * (to - from);
  }

  /** Feeds every sequence the token at its first free position. @returns the graph's output about the next tokens */
  private async step({ steps, fixed }: Opened, batch: DecodeBatch, { temperature }: DecodeOptions) {
    if (fixed.scale) (fixed.scale.data as Float32Array)[0] = 1 / temperature;
    const out = await steps.run({ ...fixed, ...batch.feeds() });
    batch.write(out.kv!.data as Float32Array);
    return out.next!.data as Float32Array | BigInt64Array;
  }

  /** The graphs over the weights in use. Fused weights are prepared per adapter; other graphs take an adapter as input. */
  private async session(output: OutputKind): Promise<Opened> {
    const { adapter, model } = this;
    const lora = model.locations && adapter ? { rank: adapter.rank, alpha: adapter.alpha } : undefined;
    const weights = model.locations ? [lora?.rank, lora?.alpha] : [adapter?.digest];
    const name = OWN + [output, this.threads, ...weights].join(' ');
    // a large model has its weights in each graph
    if (model.locations && name !== this.latest) await this.graphs.close(OWN);
    this.latest = name;
    const bytes = generationBytes(model.config, model.locations !== undefined);
    const session = await this.graphs.open(name, () => ({ bytes, open: () => this.open(output, lora) }));
    const fixed: Record<string, Tensor> = {};
    if (output === 'probabilities') fixed.scale = tensor(new Float32Array(1), [1]);
    if (lora) for (const [key, { data, shape }] of loraViews(model.config, adapter!)) fixed[key] = tensor(data, shape);
    return { ...session, fixed };
  }

  private async open(output: OutputKind, lora: LoraShape | undefined): Promise<Graphs> {
    const { config } = this.model;
    const graph: DecodeGraphOptions = { positions: this.contextLength, output };
    const { weightsOf, ...sources } = this.weightSources(lora);
    const open = (build: typeof buildStepGraph): Promise<GraphSession> =>
      GraphSession.open(build(config, weightsOf, graph), { device: this.device, threads: this.threads, ...sources });
    const prompts = await open(buildDecodeGraph);
    if (!hasStepGraph(config)) return { prompts, steps: prompts, close: () => prompts.close() };
    try {
      const steps = await open(buildStepGraph);
      const close = async (): Promise<void> => {
        await prompts.close();
        await steps.close();
      };
      return { prompts, steps, close };
    } catch (error) {
      await prompts.close();
      throw error;
    }
  }

  private weightSources(lora: LoraShape | undefined): WeightSources {
    const { config, locations, weights } = this.model;
    if (locations) {
      const options = { locations, lora, packedMatMul: true };
      return { weightsOf: (g) => new SeparateWeights(g, config, options), weights: weightMode(config, locations) };
    }
    const data = fuseWeights(config, this.adapter ? mergeLora(config, weights, this.adapter) : weights);
    return { weightsOf: (g) => new FusedWeights(g, config), memory: { location: FUSED_WEIGHTS, data } };
  }
}

/** The memory that the graphs of one adapter take. @param mapped the weights are not counted, because `estimateMemory` counts them */
export const generationBytes = (config: DecoderConfig, mapped = false): number =>
  2 * GRAPH_BYTES + (mapped ? 0 : FUSED_PARAMETER_BYTES * layoutSize(parameterLayout(config)));

/** Whether steps have a graph of their own. It depends on the model only, because it changes the last bits. */
export const hasStepGraph = (config: DecoderConfig): boolean =>
  layoutSize(parameterLayout(config)) <= STEP_GRAPH_PARAMETERS;

/** How the runtime treats weights in files. It depends on the model only, because it changes the last bits. */
function weightMode(config: DecoderConfig, locations: WeightLocations): SessionOptions['weights'] {
  if ([...locations.values()].some((tensor) => 'bits' in tensor)) return 'packed';
  return layoutSize(parameterLayout(config)) <= CONSTANT_FOLDED_PARAMETERS ? 'constantFolded' : 'mapped';
}
