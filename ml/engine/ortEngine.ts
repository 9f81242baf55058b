// The engine over ONNX Runtime. It splits every request into parts that depend on the request alone, lets any worker do
// any part, and puts the results together in order: the number of workers never shows in a result.
import { createHash } from 'node:crypto';
import { GauntletError } from '../../core/errors.js';
import type { DecodeResult } from '../decode/decodeSession.js';
import { DEFAULT_KV_CACHE_BYTES, KvStore } from '../decode/kvStore.js';
import { rangesFault, segmentsOf } from '../decode/segments.js';
import { type Provider, resolveDevice } from '../device/providers.js';
import { digestModel } from '../hf/digest.js';
import { describeModel, type ModelFiles } from '../hf/model.js';
import type { Job, JobResults, SharedAdapter, WorkerInit } from '../pool/jobs.js';
import { WorkerPool } from '../pool/pool.js';
import { shareVector } from '../pool/shared.js';
import { concurrentRows, decodePlan, planThreads, type ThreadPlan, threadsOf } from '../pool/threads.js';
import { GradientTotal, policyStats } from '../train/statistics.js';
import { type Base, isLarge, openBase } from './base.js';
import { byLength, inChunks, lengthsOf, refuse, split } from './chunks.js';
import type {
  AdamWConfig,
  Adapter,
  Engine,
  EngineOptions,
  GenerateCounts,
  Generated,
  GradientSums,
  ModelInfo,
  OptimizerState,
} from './engine.js';
import { EngineFiles } from './engineFiles.js';
import { estimateMemory, type MemoryUse, refuseBeyond } from './memory.js';
import { samplingFault, tokensFault, trajectoryFault } from './validation.js';

export const SCORE_ROWS = 16;
export const GRADIENT_ROWS = 8;
/** Rows of a shard: a rule on the model alone, since sums depend on it. Activations of a large model's row fill memory. */
const shardRows = (model: { parameters: number }, rows: number): number => (isLarge(model) ? 1 : rows);

export interface PoolOptions extends Pick<EngineOptions, 'checkpointing'> {
  provider?: Provider;
}

export function openPool(
  { config }: Pick<ModelFiles, 'config'>,
  base: Base,
  { workers }: ThreadPlan,
  { provider = 'cpu', checkpointing }: PoolOptions = {},
): WorkerPool {
  const init: WorkerInit = {
    config,
    contextLength: config.contextLength,
    base,
    provider,
    checkpointing,
  };
  return new WorkerPool(new URL('../pool/worker.js', import.meta.url), init, workers);
}

/** Opens a model folder. @throws {GauntletError} BAD_MODEL naming what is wrong with it */
export async function openEngine(path: string, options: EngineOptions = {}): Promise<Engine> {
  const provider = await resolveDevice(options.device);
  const model = describeModel(path);
  const least = { rows: 1, length: 256, rank: 0, quantization: options.quantization };
  const needs = (['decode', 'train'] as const).map((task) => estimateMemory(model, { ...least, task }));
  refuseBeyond(path, Math.min(...needs), options);
  const { base, digest } = await openBase(model, await digestModel(path), options.quantization);
  const plan = planThreads(model, provider === 'cpu' ? options : { workers: 1, ...options }); // one feeds a GPU
  return new OrtEngine(model, digest, openPool(model, base, plan, { ...options, provider }), plan, options);
}

class OrtEngine extends EngineFiles implements Engine {
  readonly info: ModelInfo;
  private readonly kept: KvStore | undefined;
  private shared: SharedAdapter | undefined; // the one used last
  private readonly counts: GenerateCounts = { prefilled: 0, replayed: 0, reused: 0, sampled: 0 };

  constructor(
    model: ModelFiles,
    digest: string,
    private readonly pool: WorkerPool,
    private readonly plan: ThreadPlan,
    private readonly options: EngineOptions,
  ) {
    super(model);
    const { kvCacheBytes = DEFAULT_KV_CACHE_BYTES } = options;
    if (kvCacheBytes > 0) this.kept = new KvStore(kvCacheBytes);
    const { path, parameters, config, eosTokens } = model;
    const { architecture, vocab: vocabSize, contextLength } = config;
    this.info = { path, architecture, digest, parameters, vocabSize, contextLength, eosTokens };
  }

  async generate(
    rows: Parameters<Engine['generate']>[0],
    options: Parameters<Engine['generate']>[1],
  ): Promise<Generated[]> {
    const { adapter, signal, onProgress, ...decode } = options;
    // a prompt that leaves no room gets an empty answer
    refuse(rows, ({ prompt }) => tokensFault(prompt, { ...this.info, contextLength: Number.POSITIVE_INFINITY }));
    const fault = samplingFault(decode);
    if (fault !== undefined) throw new GauntletError('BAD_INPUT', fault);
    refuse(rows, ({ prompt, sampled }) => rangesFault(prompt.length, sampled));
    this.foresee(
      'decode',
      rows.map(({ prompt }) => Math.min(prompt.length + decode.maxNewTokens, this.info.contextLength)),
      adapter,
    );
    const shared = this.share(adapter);
    const chunk = decodePlan(this.model, rows.length, this.plan);
    const weights = shared?.digest ?? 'base';
    const segments = rows.map(({ prompt, sampled }) => segmentsOf(prompt.length, sampled));
    const known = rows.map((row, i) => ({ ...row, kept: this.kept?.find(weights, row.prompt, segments[i]!) }));
    const done = await inChunks(
      known,
      (row) => row.prompt.length,
      chunk.rows,
      async (parts) => {
        const jobs = parts.map(
          (part): Job => ({
            kind: 'generate',
            adapter: shared,
            rows: part,
            options: decode,
            threads: chunk.threads,
            keep: this.kept !== undefined,
          }),
        );
        const results = await this.pool.runAll<DecodeResult>(jobs, { signal, onProgress });
        return results.map(({ answers, kept, counts }) => {
          for (const name of Object.keys(counts) as (keyof GenerateCounts)[]) this.counts[name] += counts[name];
          return answers.map((answer, i) => ({ answer, cache: kept[i] }));
        });
      },
    );
    return done.map(({ answer, cache }, i) => {
      if (cache) {
        const all = segments[i]!;
        const last = { ...all.at(-1)!, to: cache.length }; // the steps that sampled
        this.kept!.add(weights, [...rows[i]!.prompt, ...answer.tokens], [...all.slice(0, -1), last], cache);
      }
      return answer;
    });
  }

  stats(): GenerateCounts {
    return { ...this.counts };
  }

  async logprobs(rows: { tokens: number[] }[], options: Parameters<Engine['logprobs']>[1]): Promise<number[][]> {
    const { temperature } = options;
    return this.score(rows, options, (part) => ({ kind: 'logprobs', ...part, temperature }));
  }

  async values(rows: { tokens: number[] }[], options: Parameters<Engine['values']>[1]): Promise<number[][]> {
    if (!options.adapter.valueHead) throw new GauntletError('BAD_ADAPTER', 'the adapter has no value head');
    return this.score(rows, options, ({ adapter, ...part }) => ({ kind: 'values', adapter: adapter!, ...part }));
  }

  private async score(
    rows: { tokens: number[] }[],
    { adapter, signal }: { adapter?: Adapter; signal?: AbortSignal },
    jobOf: (part: { rows: { tokens: number[] }[]; adapter: SharedAdapter | undefined; threads: number }) => Job,
  ): Promise<number[][]> {
    refuse(rows, ({ tokens }) => tokensFault(tokens, this.info));
    this.foresee('train', lengthsOf(rows), adapter);
    const shared = this.share(adapter);
    // a row's log-probs do not hang on who is beside it
    const size = shardRows(this.model, Math.min(SCORE_ROWS, Math.ceil(rows.length / this.plan.workers)));
    const work = (parts: { tokens: number[] }[][]): Promise<number[][][]> => {
      const threads = threadsOf(parts.length, this.plan);
      return this.pool.runAll(
        parts.map((part) => jobOf({ rows: part, adapter: shared, threads })),
        { signal },
      );
    };
    return inChunks(rows, (row) => row.tokens.length, Math.max(1, size), work);
  }

  async gradients(
    rows: Parameters<Engine['gradients']>[0],
    options: Parameters<Engine['gradients']>[1],
  ): Promise<GradientSums> {
    const { adapter, loss, signal } = options;
    refuse(rows, (row) => trajectoryFault(row, this.info));
    this.foresee('train', lengthsOf(rows), adapter);
    const shared = this.share(adapter)!;
    const parts = split(
      byLength(rows, (row) => row.tokens.length),
      shardRows(this.model, GRADIENT_ROWS),
    );
    const threads = threadsOf(parts.length, this.plan);
    const jobs = parts.map((indices): Job => {
      return { kind: 'gradients', adapter: shared, threads, rows: indices.map((i) => rows[i]!), indices, loss };
    });
    const total = new GradientTotal(adapter.values.length);
    await this.pool.runInOrder<GradientSums>(jobs, { signal }, (part) => total.add(part));
    return total.sums;
  }

  async applyUpdate(
    adapter: Adapter,
    state: OptimizerState,
    sums: GradientSums,
    config: AdamWConfig,
  ): ReturnType<Engine['applyUpdate']> {
    this.checkAdapter(adapter);
    if (!(sums.tokens > 0)) throw new GauntletError('BAD_INPUT', 'an update needs at least one trained token');
    const shared = { m: shareVector(state.m), v: shareVector(state.v), gradients: shareVector(sums.gradients) };
    const job: Job = {
      kind: 'update',
      adapter: this.share(adapter)!,
      state: { step: state.step, m: shared.m, v: shared.v },
      sums: { ...sums, gradients: shared.gradients },
      config,
    };
    const { values, state: next, gradNorm } = await this.pool.run<JobResults['update']>(job);
    return { adapter: { ...adapter, values }, state: next, stats: policyStats(sums, gradNorm) };
  }

  async close(): Promise<void> {
    await this.pool.close();
  }

  /** @throws {GauntletError} OUT_OF_MEMORY where rows of these lengths need more than there is */
  private foresee(task: MemoryUse['task'], lengths: readonly number[], adapter: Adapter | undefined): void {
    const use = {
      ...this.options,
      task,
      rows: Math.min(lengths.length, concurrentRows(this.plan)),
      length: Math.max(0, ...lengths),
      rank: adapter?.rank ?? 0,
    };
    refuseBeyond(this.info.path, estimateMemory(this.model, use), this.options);
  }

  private share(adapter: Adapter | undefined): SharedAdapter | undefined {
    if (!adapter) return undefined;
    this.checkAdapter(adapter);
    const { rank, alpha, values, valueHead = false } = adapter;
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const digest = createHash('sha256').update(`${rank} ${alpha} ${valueHead} `).update(bytes).digest('hex');
    if (this.shared?.digest !== digest) this.shared = { rank, alpha, valueHead, values: shareVector(values), digest };
    return this.shared;
  }
}
