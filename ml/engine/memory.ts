// Estimates the memory that a model needs from its shapes, for `gauntlet model inspect` and to refuse a model before it is
// loaded. Each term is a tensor or a group of tensors that is alive at the peak. The share of ONNX Runtime and Node.js was
// measured. All numbers are bytes.
import { freemem, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { CONSTANT_FOLDED_PARAMETERS, generationBytes, hasStepGraph } from '../decode/decodeSession.js';
import { cacheWidth } from '../decode/kvCaches.js';
import { layoutOf, type ModelFiles, packingOf } from '../hf/model.js';
import type { Quantization } from '../hf/packed.js';
import { rowChunks } from '../loss/head.js';
import { PROJECTIONS } from '../nn/config.js';
import { elements, layoutSize, loraLayout, projectionShape } from '../nn/layout.js';
import { planThreads } from '../pool/threads.js';
import { fitsOneRun, keptOnCpu, layerActivations, shouldRecompute } from '../train/activations.js';
import { paddedLength } from '../train/batch.js';
import { isLarge } from './base.js';
import { allocatedMemory, memoryBudget, memoryLimit, procBytes } from './budget.js';
import type { EngineOptions } from './engine.js';

export interface MemoryUse {
  task: 'decode' | 'train';
  sequences: number; // decoded in parallel, or trained
  parts?: number; // each has a worker that trains it, at the same time; default 1
  length: number; // tokens of a sequence
  rank: number; // the rank of the adapter; 0: there is none
  quantization?: Quantization;
  checkpointing?: boolean; // see EngineOptions
  activationBytes?: number; // see EngineOptions
  keptBytes?: number | undefined; // see the function of this name
  batchBytes?: number; // see the function of this name
  kvBytes?: number; // size of the KV store; default: as much as the sequences that are decoded need
}

const F32 = 4;
const PROCESS = 130e6; // Node.js, ONNX Runtime's library, compiled graphs
/** Compiled graphs of training that a worker keeps open: about 12 of a small model, 6 of SmolLM2. */
const KEPT_GRAPHS = { small: 96e6, large: 256e6 };
/** Temporal's SDK, the sandbox's client, the store, and what garbage collection and the allocator hold back. */
const TRAINING_PROCESS = 500e6;
const LOGITS = 4; // tensors of a chunk that are alive at once: logits, log-probs, probabilities, gradient
const TABLES = 5; // copies of the rotary tables that exist while a worker opens its graphs of generation
/** Shares of the memory budget that are kept between calls. */
const SHARE = { kvStore: 1 / 8, leastKvStore: 1 / 32, graphs: 0.1, large: 1 / 3, kept: 1 / 8, batch: 1 / 12 };
const KV_TOKENS = 200_000;
const ENOUGH_FOR_BATCH = 1e9; // bytes of 32 chains of SmolLM2-135M with 700 tokens
/** Copies of the adapter and its gradient while a graph runs. `update` also has old and new moments. */
const ADAPTERS = { decode: 4, train: 6, update: 11 };

/** Estimates the peak of resident memory. */
export function estimateMemory(model: ModelFiles, use: MemoryUse): number {
  const weights = weightBytes(model, use);
  const adapter = use.rank > 0 ? F32 * layoutSize(loraLayout(model.config, use.rank)) : 0;
  const work = use.task === 'train' ? trainingBytes(model, use) : decodingBytes(model, use);
  const update = use.task === 'train' ? ADAPTERS.update * adapter : 0;
  const { parts = 1 } = use;
  return PROCESS + weights + Math.max(parts * (work + ADAPTERS[use.task] * adapter), update);
}

/** How many of `parts` parts of a batch fit into the available memory at the same time; at least one. */
export function partsThatFit(model: ModelFiles, use: MemoryUse, parts: number, available: number): number {
  let count = parts;
  while (count > 1 && estimateMemory(model, { ...use, parts: count }) > available) count--;
  return count;
}

/** The bytes of the base model: mapped pages of its files, and copies. */
function weightBytes(model: ModelFiles, { quantization, task }: MemoryUse): number {
  const copies = F32 * model.parameters;
  const graphs = hasStepGraph(model.config) ? 2 : 1; // the graphs of generation
  const packing = packingOf(model, quantization);
  if (packing) {
    const { bytes, plain } = layoutOf(model, packing);
    const rows = plain.reduce((sum, { name }) => sum + F32 * elements(model.stored.get(name)!.shape), 0);
    const packed = bytes - rows; // few rows of an embedding are read
    return task === 'decode' ? (1 + graphs) * packed : packed; // each graph has a copy reordered for its kernels
  }
  // the shared copy, each worker's copy, and the fused weights for decoding
  if (!isLarge(model)) return (1 + (task === 'decode' ? 2 : 1) * planThreads(model).workers) * copies;
  const mapped = [...model.stored.values()].reduce((sum, { length }) => sum + length, 0);
  return task === 'decode' && model.parameters <= CONSTANT_FOLDED_PARAMETERS ? mapped + graphs * copies : mapped;
}

function trainingBytes(model: ModelFiles, { sequences, length, rank, ...use }: MemoryUse): number {
  const { config: c } = model;
  const most = [8, 4, 2, 1].filter((count) => count <= sequences);
  const together = isLarge(model)
    ? most.find((count) => fitsOneRun(c, { sequences: count, length }, rank, use.activationBytes))
    : most[0];
  const batch = { sequences: together ?? 1, length: paddedLength(length) };
  const tokens = batch.sequences * batch.length;
  const unpacked = unpacks(model, use.quantization);
  const { end, start } = rowChunks(tokens, c.vocab)[0]!;
  const head = LOGITS * F32 * (end - start) * c.vocab + (unpacked ? F32 * c.vocab * c.hidden : 0);
  const layerWeights = unpacked ? projectionSizes(model).reduce((a, b) => a + b, 0) * F32 : 0;
  const layer = layerActivations(c, batch, rank);
  const entering = F32 * tokens * c.hidden * (c.layers + 1);
  const checkpointing = use.checkpointing ?? shouldRecompute(c, batch, rank, use.keptBytes);
  const stored = entering + (checkpointing ? 0 : layer * c.layers);
  return stored + Math.max(head, layerWeights + 2 * layer);
}

function decodingBytes(model: ModelFiles, use: MemoryUse): number {
  const { sequences, length, quantization, kvBytes, batchBytes = Number.POSITIVE_INFINITY } = use;
  const { config: c } = model;
  const positions = Math.ceil(length / 64) * 64;
  const batch = Math.min(batchBytes, F32 * cacheWidth(c) * sequences * positions);
  const caches = batch + (kvBytes ?? batch);
  const logits = 2 * F32 * sequences * c.vocab;
  const workers = isLarge(model) ? 1 : planThreads(model).workers;
  const tables = TABLES * workers * F32 * c.contextLength * c.headDim;
  const prompt = F32 * 1024 * (4 * c.hidden + 3 * c.ffn); // a read has at most 1024 tokens
  const casts = !packingOf(model, quantization) && unpacks(model) && model.parameters > CONSTANT_FOLDED_PARAMETERS;
  const unpacked = casts ? F32 * Math.max(c.vocab * c.hidden, ...projectionSizes(model)) : 0;
  return caches + logits + tables + prompt + unpacked;
}

/** Whether matrices are converted to f32 at each use. */
const unpacks = (model: ModelFiles, quantization?: Quantization): boolean =>
  packingOf(model, quantization) !== undefined ||
  (isLarge(model) && [...model.stored.values()].some(({ dtype }) => dtype !== 'F32'));

const projectionSizes = ({ config }: ModelFiles): number[] =>
  PROJECTIONS.map((p) => elements(projectionShape(config, p)));

/**
 * The memory that this process has or can get without swapping.
 * @param limit the limit of its container, or a configured one; 0: there is none
 */
export function availableMemory(proc = '/proc', limit = memoryLimit()): number {
  // mapped files do not count here: MemAvailable contains their pages, and every open graph maps the weights
  const own = allocatedMemory(join(proc, 'self')) ?? process.memoryUsage.rss();
  // macOS counts pages as used that it would give away
  const free = procBytes(proc, 'meminfo', 'MemAvailable') ?? (platform() === 'darwin' ? totalmem() / 2 : freemem());
  return Math.min(own + free, limit || Number.POSITIVE_INFINITY);
}

/**
 * How many workers can train sequences of usual sizes at a time and keep their graphs, while one of them also generates. 0:
 * graphs for generation and training cannot be open at the same time.
 * @param room the bytes for the model; default: half of the free memory, and at most a third of the budget
 */
export function trainersThatFit(
  model: ModelFiles,
  quantization?: Quantization,
  room = Math.min(availableMemory() / 2, SHARE.large * memoryBudget().bytes),
): number {
  const use = { sequences: 32, length: 512, rank: 16, quantization };
  const trainer = estimateMemory(model, { ...use, task: 'train' }) + KEPT_GRAPHS.large;
  return Math.max(0, Math.floor((room - estimateMemory(model, { ...use, task: 'decode' })) / trainer));
}

/**
 * The bytes of activations that training may keep instead of computing them again; undefined: what suits a CPU. The budget
 * decides for large models only: for small ones the choice would change the last bits.
 */
export const keptBytes = (
  model: ModelFiles,
  { activationBytes }: Pick<EngineOptions, 'activationBytes'>,
  budget: number,
): number | undefined =>
  activationBytes ?? (isLarge(model) ? Math.min(keptOnCpu(model.config), SHARE.kept * budget) : undefined);

/** The bytes for keys and values of sequences that step together in one of `workers` workers. With fewer bytes, more wait. */
export const batchBytes = (budget: number, workers: number): number =>
  Math.max(SHARE.batch * budget, Math.min(2 * SHARE.batch * budget, ENOUGH_FOR_BATCH)) / workers;

/** The bytes that compiled graphs may take in one of `workers` workers. */
export const graphBytes = (model: ModelFiles, workers: number, budget: number): number =>
  isLarge(model)
    ? generationBytes(model.config, true) + Math.min(KEPT_GRAPHS.large, SHARE.graphs * budget)
    : generationBytes(model.config) + Math.min(KEPT_GRAPHS.small, (SHARE.graphs * budget) / workers);

/** Chains of up to `length` tokens. `trainers` is the result of `trainersThatFit`. */
type TrainingUse = Record<'length' | 'rank' | 'workers' | 'trainers' | 'budget', number>;

/** The peak of a process that samples and trains chains, with everything that it keeps between calls. */
export function estimateTraining(model: ModelFiles, options: EngineOptions, use: TrainingUse): number {
  const { length, rank, workers, trainers, budget } = use;
  const kv = options.kvCacheBytes ?? kvBytes(model, options, use);
  const limits = { keptBytes: keptBytes(model, options, budget), batchBytes: batchBytes(budget, workers) };
  const rows = { ...options, ...limits, sequences: 32, length, rank };
  const decode = estimateMemory(model, { ...rows, task: 'decode', kvBytes: kv });
  const parts = isLarge(model) ? Math.max(1, trainers) : workers;
  const train = estimateMemory(model, { ...rows, task: 'train', parts });
  const work = isLarge(model) && trainers === 0 ? Math.max(decode, train + kv) : decode + train;
  return TRAINING_PROCESS + workers * graphBytes(model, workers, budget) + work;
}

/** The default size of the KV store, with what a batch adds. A large model gets what the rest of its process leaves, up to a quarter. */
export function kvBytes(model: ModelFiles, options: EngineOptions, use: TrainingUse): number {
  const { budget } = use;
  const left = (): number => budget - estimateTraining(model, { ...options, kvCacheBytes: 0 }, use);
  const share = isLarge(model) ? Math.max(SHARE.leastKvStore, Math.min(1 / 4, left() / budget)) : SHARE.kvStore;
  return Math.floor(Math.min(share * budget, KV_TOKENS * F32 * cacheWidth(model.config))); // two batches of chains need no more
}

/**
 * @param available the free memory of a device; default: the memory that is available to this process
 * @throws {GauntletError} OUT_OF_MEMORY if `needed` is more than `available`
 */
export function checkMemory(path: string, needed: number, available = availableMemory()): void {
  if (needed <= available) return;
  const gb = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new GauntletError(
    'OUT_OF_MEMORY',
    `${path}: needs ${gb(needed)}, ${gb(available)} are free; it needs less with engine.quantization=int8, ` +
      'engine.checkpointing=true or shorter answers (sampling.maxNewTokens)',
  );
}
