// The engine over ONNX Runtime. It splits every request into parts that depend on the request only, lets any worker compute
// any part, and combines the results in order. So the number of workers changes no result.
import { createHash } from 'node:crypto';
import { GauntletError } from '../../core/base/errors.js';
import { isIn, type Shard } from '../../core/run/shards.js';
import type { TokenScores, Trajectory } from '../../core/schema/trajectory.js';
import { KvStore } from '../decode/kvStore.js';
import { rangesFault, segmentsOf } from '../decode/segments.js';
import { ortApi } from '../device/ortApi.js';
import { checkHere, listProviders, type Provider, resolveDevice } from '../device/providers.js';
import { digestModel } from '../hf/digest.js';
import { describeModel, type ModelFiles } from '../hf/model.js';
import { HALF, type Half } from '../ir/half.js';
import type { IdentifiedAdapter } from '../nn/layout.js';
import { inThread } from '../pool/inThread.js';
import type { Job, JobResults, WorkerInit } from '../pool/jobs.js';
import { WorkerPool } from '../pool/pool.js';
import { shareVector } from '../pool/shared.js';
import { concurrentSequences, decodePlan, planThreads, type ThreadPlan, threadsOf } from '../pool/threads.js';
import { fitsOneRun } from '../train/activations.js';
import { joinRow, planRows, type RowPlan, splitRows } from '../train/branches.js';
import { policyStats } from '../train/statistics.js';
import { type Base, isLarge, openBase } from './base.js';
import { memoryBudget } from './budget.js';
import { type CardPlan, checkCard } from './cardPlan.js';
import type { CardTask } from './cardPlanThread.js';
import { byLength, inParts, partsByLength, split } from './chunks.js';
import type {
  AdamWConfig,
  Adapter,
  CallOptions,
  Engine,
  EngineOptions,
  GenerateCounts,
  Generated,
  GenerateOptions,
  GenerateRequest,
  GradientPart,
  GradientSums,
  ModelInfo,
  OptimizerState,
  Precision,
} from './engine.js';
import { EngineFiles } from './engineFiles.js';
import * as memory from './memory.js';
import { canShareRows, type GradientOptions, type GradientPlan, joinedRows, TotalOfParts } from './minibatch.js';
import { refuseFaults, samplingFault, tokensFault, trajectoryFault } from './validation.js';

const [EXPECTED_LENGTH, EXPECTED_RANK] = [2048, 16];
const SCORE_SEQUENCES = 16;
export const GRADIENT_SEQUENCES = 8;

interface Tokens {
  tokens: number[];
  mask?: number[];
}

type ScoreOptions = Parameters<Engine['logprobs']>[1];
type ScoreJob = (part: { sequences: Tokens[]; adapter: IdentifiedAdapter | undefined; threads: number }) => Job;

export function openPool(
  { config }: Pick<ModelFiles, 'config'>,
  base: Base,
  { workers }: ThreadPlan,
  options: Partial<Omit<WorkerInit, 'config' | 'base'>> = {},
): WorkerPool {
  const init: WorkerInit = { provider: 'cpu', graphBytes: 256e6, alternates: false, ...options, config, base };
  return new WorkerPool(new URL('../pool/worker.js', import.meta.url), init, workers);
}

/**
 * Opens a model folder.
 * @param devices the installed providers and the self-test; a benchmark that has tested the device replaces the self-test
 * @throws {GauntletError} BAD_MODEL naming what is wrong with it
 */
export async function openEngine(
  path: string,
  options: EngineOptions = {},
  devices = { installed: listProviders(), check: checkHere },
): Promise<Engine> {
  const provider = await resolveDevice(options.device, devices.installed, devices.check);
  const model = describeModel(path);
  const half = HALF[options.precision ?? 'f32'];
  if (half) await checkHalf(provider, half, options.precision!, devices.check);
  const available = provider === 'cuda' ? ortApi().cuda().freeMemory() : undefined;
  if (provider === 'cpu') {
    const smallest = { sequences: 1, length: 256, rank: 0, quantization: options.quantization };
    const needs = (['decode', 'train'] as const).map((task) => memory.estimateMemory(model, { ...smallest, task }));
    memory.checkMemory(path, Math.min(...needs));
  } else if (available !== undefined) {
    checkCard(path, await expectedOnCard(path, options), available);
  }
  const { base, digest } = await openBase(model, await digestModel(path), options.quantization);
  const budget = memoryBudget().bytes;
  const room = available === undefined ? undefined : available / 2;
  const trainers = isLarge(model) ? memory.trainersThatFit(model, options.quantization, room) : 1;
  // one worker feeds a GPU
  const plan = planThreads(model, provider === 'cpu' ? { trainers, ...options } : { workers: 1, ...options });
  const kept = {
    graphBytes: memory.graphBytes(model, plan.workers, budget),
    keptBytes: memory.keptBytes(model, options, budget),
    batchBytes: memory.batchBytes(budget, plan.workers),
    alternates: trainers === 0,
  };
  const pool = openPool(model, base, plan, { ...options, provider, ...kept });
  const { kvCacheBytes = memory.kvBytes(model, options, usual(model, plan.workers, trainers, budget)) } = options;
  return new OrtEngine(model, digest, pool, plan, { ...options, kvCacheBytes }, available, budget);
}

/** @throws {GauntletError} DEVICE_UNAVAILABLE if a device computes something wrong in 16 bits, or cannot */
async function checkHalf(provider: Provider, half: Half, precision: Precision, check: typeof checkHere): Promise<void> {
  if (provider === 'cpu') {
    if (precision === 'bf16')
      throw new GauntletError('BAD_CONFIG', 'engine.precision bf16 needs device cuda: use f32, or f16');
    return; // a CPU computes f16 through f32
  }
  const fault = await check(provider, half);
  if (fault === undefined) return;
  const what = `engine.precision ${precision} cannot be used on device ${provider} (${fault}): use f32`;
  throw new GauntletError('DEVICE_UNAVAILABLE', what);
}

/** How much memory an engine of this model will use at most for training rows of up to 2,048 tokens. */
export function expectedMemory(path: string, options: EngineOptions): { bytes: number; length: number } {
  const model = describeModel(path);
  const budget = memoryBudget().bytes;
  const trainers = isLarge(model) ? memory.trainersThatFit(model, options.quantization) : 1;
  const use = usual(model, planThreads(model, { trainers, ...options }).workers, trainers, budget);
  return { bytes: memory.estimateTraining(model, options, use), length: use.length };
}

function usual({ config }: ModelFiles, workers: number, trainers: number, budget: number) {
  const length = Math.min(EXPECTED_LENGTH, config.contextLength);
  return { length, rank: EXPECTED_RANK, workers, trainers, budget };
}

/** How much memory of a GPU it will use. */
export const expectedOnCard = (path: string, options: EngineOptions): Promise<CardPlan> =>
  inThread(new URL('./cardPlanThread.js', import.meta.url), {
    config: describeModel(path).config,
    use: { ...options, rank: EXPECTED_RANK },
  } satisfies CardTask);

class OrtEngine extends EngineFiles implements Engine {
  readonly info: ModelInfo;
  private readonly kvStore: KvStore;
  private shared: IdentifiedAdapter | undefined; // the adapter of the last request
  private readonly counts: GenerateCounts = { prefilled: 0, redecoded: 0, reused: 0, sampled: 0 };

  constructor(
    model: ModelFiles,
    digest: string,
    private readonly pool: WorkerPool,
    private readonly plan: ThreadPlan,
    private readonly options: EngineOptions,
    private readonly onCard: number | undefined, // the free memory of a GPU; undefined: a CPU computes
    private readonly budget: number,
  ) {
    super(model);
    // half, because a batch may return as many bytes as the store holds before the store drops old entries
    this.kvStore = new KvStore((options.kvCacheBytes ?? 0) / 2);
    const { path, parameters, config, eosTokens, generation } = model;
    const { architecture, vocab: vocabSize, contextLength } = config;
    this.info = { path, architecture, digest, parameters, vocabSize, contextLength, eosTokens, generation };
  }

  async generate(requests: GenerateRequest[], options: GenerateOptions): Promise<Generated[]> {
    const { adapter, signal, onProgress, ...decode } = options;
    // a prompt that leaves no room is valid: it gets an empty answer
    refuseFaults(requests, ({ prompt }) => tokensFault(prompt, { ...this.info, contextLength: Infinity }));
    const fault = samplingFault(decode);
    if (fault !== undefined) throw new GauntletError('BAD_INPUT', fault);
    refuseFaults(requests, ({ prompt, sampled }) => rangesFault(prompt.length, sampled));
    const { contextLength } = this.info;
    const lengths = requests.map(({ prompt }) => Math.min(prompt.length + decode.maxNewTokens, contextLength));
    this.checkMemory('decode', lengths, adapter);
    const shared = this.share(adapter);
    const { size, threads } = decodePlan(this.model, requests.length, this.plan);
    const weights = shared?.digest ?? 'base';
    const segments = requests.map(({ prompt, sampled }) => segmentsOf(prompt.length, sampled));
    const withCache = requests.map((request, i) => {
      return { ...request, cached: this.kvStore.find(weights, request.prompt, segments[i]!) };
    });
    const work = async (parts: (typeof withCache)[]) => {
      const cacheBytes = this.kvStore.limit / parts.length;
      const jobs = parts.map((part): Job => {
        return { kind: 'generate', adapter: shared, requests: part, options: decode, threads, cacheBytes };
      });
      const results = await this.pool.runAll<JobResults['generate']>(jobs, { signal, onProgress });
      return results.map(({ answers, caches, counts }) => {
        for (const name of Object.keys(counts) as (keyof GenerateCounts)[]) this.counts[name] += counts[name];
        return answers.map((answer, i) => ({ answer, cache: caches[i] }));
      });
    };
    const order = byLength(withCache, ({ prompt }) => prompt.length);
    const done = await inParts(withCache, split(order, size), work);
    return done.map(({ answer, cache }, i) => {
      if (cache) {
        const all = segments[i]!;
        const last = { ...all.at(-1)!, to: cache.length }; // now includes the steps of the answer
        this.kvStore.add(weights, [...requests[i]!.prompt, ...answer.tokens], [...all.slice(0, -1), last], cache);
      }
      return answer;
    });
  }

  stats(): GenerateCounts {
    return { ...this.counts };
  }

  async logprobs(sequences: Tokens[], options: ScoreOptions): Promise<number[][]> {
    return this.scoreTokens('logprobs', sequences, options, splitRows);
  }

  async scores(sequences: Tokens[], options: ScoreOptions): Promise<TokenScores[]> {
    return this.scoreTokens('scores', sequences, options, separateScores);
  }

  async scoreShard(sequences: Tokens[], options: ScoreOptions & { shard: Shard }): Promise<(TokenScores | null)[]> {
    const scores = await this.scoreTokens('scores', sequences, options, separateScores);
    return sequences.map((_, i) => scores[i] ?? null);
  }

  /**
   * @param options.shard computes only the rows of this shard; the results of other sequences are missing
   * @param separate turns the results of joined rows into those of their sequences
   */
  private async scoreTokens<T>(
    kind: 'logprobs' | 'scores',
    sequences: Tokens[],
    options: ScoreOptions & { shard?: Shard },
    separate: (sequences: Required<Tokens>[], plans: RowPlan[], rows: T[]) => T[],
  ): Promise<T[]> {
    // this check precedes the join of rows, because joined rows may be longer than the context
    refuseFaults(sequences, ({ tokens }) => tokensFault(tokens, this.info));
    if (!(options.temperature > 0))
      throw new GauntletError('BAD_INPUT', `temperature must be above 0, is ${options.temperature}`);
    const { temperature, shard = { index: 0, of: 1 } } = options;
    const jobOf: ScoreJob = (part) => ({ kind, ...part, temperature });
    if (isLarge(this.model) && sequences.every(hasMask)) {
      const plans = planRows(sequences).filter((_, row) => isIn(row, shard));
      const rows = plans.map((plan) => joinRow(sequences, plan));
      return separate(sequences, plans, await this.score(rows, options, jobOf));
    }
    const own = [...sequences.keys()].filter((i) => isIn(i, shard));
    const unmasked = own.map((i) => ({ tokens: sequences[i]!.tokens }));
    const scored = await this.score<T>(unmasked, options, jobOf);
    const results: T[] = []; // sequences of other shards stay empty
    own.forEach((i, j) => {
      results[i] = scored[j]!;
    });
    return results;
  }

  private async score<T>(
    sequences: Tokens[],
    { adapter, signal, onProgress }: { adapter?: Adapter } & CallOptions,
    jobOf: ScoreJob,
  ): Promise<T[]> {
    const shared = this.share(adapter);
    // log-probs do not depend on the rest of the batch, so the chunks may depend on the number of workers
    const size = Math.max(1, Math.min(SCORE_SEQUENCES, Math.ceil(sequences.length / this.plan.workers)));
    const work = (parts: Tokens[][]): Promise<T[][]> => {
      const concurrency = this.checkMemory('train', lengthsOf(sequences), adapter, parts.length);
      const threads = threadsOf(concurrency, this.plan);
      const jobs = parts.map((part) => jobOf({ sequences: part, adapter: shared, threads }));
      return this.pool.runAll(jobs, { signal, onProgress, concurrency });
    };
    return inParts(sequences, this.partsOf(sequences, size, adapter), work);
  }

  async gradients(sequences: Trajectory[], options: GradientOptions): Promise<GradientSums> {
    const plan = this.planGradients(sequences, options);
    const total = new TotalOfParts(plan, options);
    await this.runGradients(plan, [...plan.parts.keys()], options, (part) => total.add(part));
    return total.sums(sequences);
  }

  async gradientShard(sequences: Trajectory[], options: GradientOptions & { shard: Shard }): Promise<GradientPart[]> {
    const plan = this.planGradients(sequences, options);
    const own = [...plan.parts.keys()].filter((p) => isIn(p, options.shard));
    const parts: GradientPart[] = [];
    await this.runGradients(plan, own, options, (part) => parts.push(part));
    return parts;
  }

  sumGradients(sequences: Trajectory[], options: GradientOptions, parts: readonly GradientPart[]): GradientSums {
    const plan = this.planGradients(sequences, options);
    const total = new TotalOfParts(plan, options);
    for (const part of [...parts].sort((a, b) => a.index - b.index)) total.add(part);
    return total.sums(sequences);
  }

  private planGradients(sequences: Trajectory[], { adapter, loss }: GradientOptions): GradientPlan {
    refuseFaults(sequences, (trajectory) => trajectoryFault(trajectory, this.info));
    const joined = isLarge(this.model) && canShareRows(loss) ? planRows(sequences) : undefined;
    const rows = joined ? joinedRows(sequences, joined) : sequences;
    return { rows, joined, parts: this.partsOf(rows, GRADIENT_SEQUENCES, adapter) };
  }

  /** Computes some parts of a minibatch and passes them on in their order. */
  private async runGradients(
    { rows, parts }: GradientPlan,
    chosen: readonly number[],
    { adapter, loss, signal, onProgress }: GradientOptions,
    take: (part: GradientPart) => void,
  ): Promise<void> {
    const shared = this.share(adapter)!;
    const concurrency = this.checkMemory('train', lengthsOf(rows), adapter, chosen.length);
    const threads = threadsOf(concurrency, this.plan);
    const jobs = chosen.map((p): Job => {
      const indices = parts[p]!;
      return { kind: 'gradients', adapter: shared, threads, sequences: indices.map((i) => rows[i]!), indices, loss };
    });
    await this.pool.runInOrder<GradientSums>(jobs, { signal, onProgress, concurrency }, (sums, j) =>
      take({ index: chosen[j]!, sums }),
    );
  }

  async applyUpdate(
    adapter: Adapter,
    state: OptimizerState,
    sums: GradientSums,
    config: AdamWConfig,
  ): ReturnType<Engine['applyUpdate']> {
    this.checkAdapter(adapter);
    if (!(sums.tokens > 0)) throw new GauntletError('BAD_INPUT', 'an update needs at least one trained token');
    const job: Job = {
      kind: 'update',
      adapter: this.share(adapter)!,
      state: { step: state.step, m: shareVector(state.m), v: shareVector(state.v) },
      sums: { ...sums, gradients: shareVector(sums.gradients), ratios: undefined },
      config,
    };
    const { values, state: next, gradNorm } = await this.pool.run<JobResults['update']>(job);
    return { adapter: { ...adapter, values }, state: next, stats: policyStats(sums, gradNorm) };
  }

  async close(): Promise<void> {
    await this.pool.close();
  }

  /** Sums depend on the parts, so the parts depend on the request, the model and the run's configuration only. */
  private partsOf(sequences: readonly Tokens[], size: number, adapter: Adapter | undefined): number[][] {
    const { config } = this.model;
    const { activationBytes } = this.options;
    const fits = (count: number, length: number): boolean =>
      !isLarge(this.model) || fitsOneRun(config, { sequences: count, length }, adapter?.rank ?? 0, activationBytes);
    return partsByLength(sequences, ({ tokens }) => tokens.length, size, fits);
  }

  /**
   * @returns how many of the parts can be trained at the same time
   * @throws {GauntletError} OUT_OF_MEMORY if one part with sequences of these lengths needs more than the available memory
   */
  private checkMemory(
    task: memory.MemoryUse['task'],
    lengths: readonly number[],
    adapter: Adapter | undefined,
    parts = 1,
  ): number {
    if (this.onCard !== undefined) return 1; // the plan of the card was checked, and one worker feeds it
    const available = memory.availableMemory();
    const room = Math.min(available, this.budget);
    const use = {
      ...this.options,
      task,
      sequences: Math.min(lengths.length, concurrentSequences(this.model, this.plan)),
      length: Math.max(0, ...lengths),
      rank: adapter?.rank ?? 0,
      keptBytes: memory.keptBytes(this.model, this.options, this.budget),
      batchBytes: memory.batchBytes(this.budget, this.plan.workers),
    };
    const count = memory.partsThatFit(this.model, use, Math.min(parts, this.plan.workers), room);
    memory.checkMemory(this.info.path, memory.estimateMemory(this.model, { ...use, parts: count }), available);
    return count;
  }

  private share(adapter: Adapter | undefined): IdentifiedAdapter | undefined {
    if (!adapter) return undefined;
    this.checkAdapter(adapter);
    const { rank, alpha, values } = adapter;
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const digest = createHash('sha256').update(`${rank} ${alpha} `).update(bytes).digest('hex');
    if (this.shared?.digest !== digest) this.shared = { rank, alpha, values: shareVector(values), digest };
    return this.shared;
  }
}

/** Divides the scores of rows among the sequences in each row. */
function separateScores(masked: Required<Tokens>[], plans: RowPlan[], rows: TokenScores[]): TokenScores[] {
  const [logprobs, entropies] = (['logprobs', 'entropies'] as const).map((name) => {
    const values = rows.map((row) => row[name]);
    return splitRows(masked, plans, values);
  }) as [number[][], number[][]];
  return logprobs.map((own, i) => ({ logprobs: own, entropies: entropies[i]! }));
}

const lengthsOf = (sequences: readonly Tokens[]): number[] => sequences.map(({ tokens }) => tokens.length);

const hasMask = (sequence: Tokens): sequence is Required<Tokens> => sequence.mask !== undefined;
