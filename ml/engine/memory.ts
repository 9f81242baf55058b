// Estimates the memory that a model needs from its shapes, for `gauntlet model inspect` and to refuse a model before it is
// loaded. Each term is a tensor or a group of tensors that is alive at the peak. The share of ONNX Runtime and Node.js was
// measured. All numbers are bytes.
import { existsSync, readFileSync } from 'node:fs';
import { freemem, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { GauntletError } from '../../core/errors.js';
import { CONSTANT_FOLDED_PARAMETERS, hasStepGraph } from '../decode/decodeSession.js';
import type { ModelFiles } from '../hf/model.js';
import { packedLayout, type Quantization } from '../hf/packed.js';
import { rowChunks } from '../loss/head.js';
import { PROJECTIONS } from '../nn/config.js';
import { elements, layoutSize, loraLayout, projectionShape } from '../nn/layout.js';
import { planThreads } from '../pool/threads.js';
import { fitsOneRun, layerActivations, shouldRecompute } from '../train/activations.js';
import { paddedLength } from '../train/batch.js';
import { MAX_GRAPHS } from '../train/trainSession.js';
import { isLarge } from './base.js';
import type { EngineOptions } from './engine.js';

export interface MemoryUse {
  task: 'decode' | 'train';
  sequences: number; // decoded in parallel, or trained
  parts?: number; // that as many workers train at the same time; default 1
  length: number; // tokens of a sequence
  rank: number; // of the adapter; 0: none
  quantization?: Quantization;
  checkpointing?: boolean; // as EngineOptions
  activationBytes?: number; // as EngineOptions
}

const F32 = 4;
const PROCESS = 130e6; // Node.js, ONNX Runtime's library, compiled graphs
const GRAPH_PER_LAYER = 1.4e6; // of a compiled training graph
const LOGITS = 4; // tensors of a chunk that are alive at once: logits, log-probs, probabilities, gradient
const TABLES = 5; // copies of the tables of rotary positions while a worker opens its graphs of generation
/** Copies of the adapter and its gradient while a graph runs; for `update`, also of old and new moments. */
const ADAPTERS = { decode: 4, train: 6, update: 11 };

/** Peak of resident memory. */
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

/** The base model: mapped pages of its files, and copies. */
function weightBytes(model: ModelFiles, { quantization, task }: MemoryUse): number {
  const copies = F32 * model.parameters;
  const graphs = hasStepGraph(model.config) ? 2 : 1; // of generation
  if (quantization) {
    const packed = packedLayout(model.config, quantization).bytes;
    return task === 'decode' ? (1 + graphs) * packed : packed; // plus copies reordered for the kernels
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
  const checkpointing = use.checkpointing ?? shouldRecompute(c, batch, rank, use.activationBytes);
  const stored = entering + (checkpointing ? 0 : layer * c.layers);
  return stored + Math.max(head, layerWeights + 2 * layer);
}

function decodingBytes(model: ModelFiles, { sequences, length, quantization }: MemoryUse): number {
  const { config: c } = model;
  const positions = Math.ceil(length / 64) * 64;
  const caches = 2 * 2 * c.layers * sequences * positions * c.kvHeads * c.headDim * F32; // the batch, and the KV store
  const logits = 2 * F32 * sequences * c.vocab;
  const workers = isLarge(model) ? 1 : planThreads(model).workers;
  const tables = TABLES * workers * F32 * c.contextLength * c.headDim;
  const prompt = F32 * 1024 * (4 * c.hidden + 3 * c.ffn); // tokens per read
  const casts = !quantization && unpacks(model) && model.parameters > CONSTANT_FOLDED_PARAMETERS;
  const unpacked = casts ? F32 * Math.max(c.vocab * c.hidden, ...projectionSizes(model)) : 0;
  return caches + logits + tables + prompt + unpacked;
}

/** Whether matrices are converted to f32 at each use. */
const unpacks = (model: ModelFiles, quantization?: Quantization): boolean =>
  quantization !== undefined || (isLarge(model) && [...model.stored.values()].some(({ dtype }) => dtype !== 'F32'));

const projectionSizes = ({ config }: ModelFiles): number[] =>
  PROJECTIONS.map((p) => elements(projectionShape(config, p)));

/**
 * The memory that this process has or can get without swapping.
 * @param limit of its container; 0: none
 */
export function availableMemory(proc = '/proc', limit = process.constrainedMemory()): number {
  const bytes = (file: string, field: string): number | undefined => {
    const path = join(proc, file);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1];
    return found === undefined ? undefined : Number(found) * 1024;
  };
  // without mapped files: MemAvailable contains their pages, and every open graph maps the weights
  const own = bytes('self/status', 'RssAnon') ?? process.memoryUsage.rss();
  // macOS counts pages as used that it would give away
  const free = bytes('meminfo', 'MemAvailable') ?? (platform() === 'darwin' ? totalmem() / 2 : freemem());
  return Math.min(own + free, limit || Number.POSITIVE_INFINITY);
}

/**
 * How many workers can train at a time, and keep all their compiled graphs, if one of them also generates: with usual
 * sizes and half of the free memory. 0: graphs for generation and training cannot be open at the same time.
 * @param available as for `checkMemory`
 */
export function trainersThatFit(model: ModelFiles, quantization?: Quantization, available = availableMemory()): number {
  const use = { sequences: 32, length: 512, rank: 16, quantization };
  const trainer = estimateMemory(model, { ...use, task: 'train' }) + MAX_GRAPHS * GRAPH_PER_LAYER * model.config.layers;
  return Math.max(0, Math.floor((available / 2 - estimateMemory(model, { ...use, task: 'decode' })) / trainer));
}

/**
 * @param available the free memory of a device with its own; default: that of this process
 * @throws {GauntletError} OUT_OF_MEMORY if `needed` is more than `available`
 */
export function checkMemory(
  path: string,
  needed: number,
  { force, available = availableMemory() }: Pick<EngineOptions, 'force'> & { available?: number },
): void {
  if (force || needed <= available) return;
  const gb = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new GauntletError(
    'OUT_OF_MEMORY',
    `${path}: needs ${gb(needed)}, ${gb(available)} are free; --set engine.quantization=int8 needs less, ` +
      '--set engine.force=true opens it anyway (gauntlet model: --quantize int8, --force)',
  );
}
