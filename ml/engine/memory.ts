// What a model will need, foretold from its shapes: the figures of `gauntlet model inspect`, and the reason for a refusal
// before anything is loaded. Each term is a tensor or a group of tensors that is alive at the peak; what ONNX Runtime and
// Node.js themselves take was measured. Bytes throughout.
import { existsSync, readFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { GauntletError } from '../../core/errors.js';
import { UNFOLDED_PARAMETERS } from '../decode/decodeSession.js';
import type { ModelFiles } from '../hf/model.js';
import { packedLayout } from '../hf/packed.js';
import { rowChunks } from '../loss/head.js';
import { PROJECTIONS } from '../nn/config.js';
import { layoutSize, loraLayout, projectionShape } from '../nn/lora.js';
import { planThreads } from '../pool/threads.js';
import { layerActivations, recomputes } from '../train/activations.js';
import { isLarge } from './base.js';
import type { EngineOptions, Quantization } from './engine.js';

export interface MemoryUse {
  task: 'decode' | 'train';
  rows: number; // that decode side by side; training takes those of a large model one by one
  length: number; // tokens of a row
  rank: number; // of the adapter; 0: none
  quantization?: Quantization;
  checkpointing?: boolean; // as EngineOptions
}

const F32 = 4;
const PROCESS = 130e6; // Node.js, ONNX Runtime's library, compiled graphs
const LOGITS = 4; // copies of a chunk of logits that are alive together: themselves, logarithms, probabilities, gradient
/** Copies of the adapter and of its gradient while a graph runs; with moments, old and new, while AdamW does. */
const ADAPTERS = { decode: 4, train: 6, update: 11 };

/** Peak of resident memory. */
export function estimateMemory(model: ModelFiles, use: MemoryUse): number {
  const weights = weightBytes(model, use);
  const adapter = use.rank > 0 ? F32 * layoutSize(loraLayout(model.config, use.rank)) : 0;
  const work = use.task === 'train' ? trainingBytes(model, use) : decodingBytes(model, use);
  const update = use.task === 'train' ? ADAPTERS.update * adapter : 0;
  return PROCESS + weights + Math.max(work + ADAPTERS[use.task] * adapter, update);
}

/** The base, wherever it lies: pages of its files that are mapped, or copies. */
function weightBytes(model: ModelFiles, { quantization, task }: MemoryUse): number {
  const copies = F32 * model.parameters;
  if (quantization) {
    const packed = packedLayout(model.config, quantization).bytes;
    return task === 'decode' ? 2 * packed : packed; // once more in the order of the kernels
  }
  // shared, a worker's own, and joined for decoding
  if (!isLarge(model)) return (1 + (task === 'decode' ? 2 : 1) * planThreads(model).workers) * copies;
  const mapped = [...model.stored.values()].reduce((sum, { length }) => sum + length, 0);
  return task === 'decode' && model.parameters <= UNFOLDED_PARAMETERS ? mapped + copies : mapped;
}

function trainingBytes(model: ModelFiles, { rows, length, rank, ...use }: MemoryUse): number {
  const { config: c } = model;
  const batch = isLarge(model) ? 1 : Math.min(rows, 8);
  const padded = Math.ceil(length / 32) * 32;
  const tokens = batch * padded;
  const stored = unpacks(model, use.quantization);
  const { end, start } = rowChunks(tokens, c.vocab)[0]!;
  const head = LOGITS * F32 * (end - start) * c.vocab + (stored ? F32 * c.vocab * c.hidden : 0);
  const layerWeights = stored ? projectionSizes(model).reduce((a, b) => a + b, 0) * F32 : 0;
  const layer = layerActivations(c, batch, padded, rank);
  const entering = F32 * tokens * c.hidden * (c.layers + 1);
  const checkpointing = use.checkpointing ?? recomputes(c, batch, padded, rank);
  const kept = entering + (checkpointing ? 0 : layer * c.layers);
  return kept + Math.max(head, layerWeights + 2 * layer);
}

function decodingBytes(model: ModelFiles, { rows, length, quantization }: MemoryUse): number {
  const { config: c } = model;
  const places = Math.ceil(length / 64) * 64;
  const caches = 2 * 2 * c.layers * rows * places * c.kvHeads * c.headDim * F32; // the batch's, and those kept
  const logits = 2 * F32 * rows * c.vocab;
  const prompt = F32 * 1024 * (4 * c.hidden + 3 * c.ffn); // tokens that are read together
  const casts = !quantization && unpacks(model) && model.parameters > UNFOLDED_PARAMETERS;
  const unpacked = casts ? F32 * Math.max(c.vocab * c.hidden, ...projectionSizes(model)) : 0;
  return caches + logits + prompt + unpacked;
}

/** Whether matrices become f32 only when they are used. */
const unpacks = (model: ModelFiles, quantization?: Quantization): boolean =>
  quantization !== undefined || (isLarge(model) && [...model.stored.values()].some(({ dtype }) => dtype !== 'F32'));

const projectionSizes = ({ config }: ModelFiles): number[] =>
  PROJECTIONS.map((p) => projectionShape(config, p).reduce((a, b) => a * b, 1));

/** Memory that this process has, or could have without pushing anything out. */
export function availableMemory(): number {
  const meminfo = '/proc/meminfo';
  const said = existsSync(meminfo) && /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync(meminfo, 'utf8'))?.[1];
  return process.memoryUsage.rss() + (said ? Number(said) * 1024 : freemem());
}

/** @throws {GauntletError} OUT_OF_MEMORY with both numbers where `needed` is more than `available` */
export function refuseBeyond(
  path: string,
  needed: number,
  { force, available = availableMemory() }: Pick<EngineOptions, 'force'> & { available?: number },
): void {
  if (force || needed <= available) return;
  const gb = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new GauntletError(
    'OUT_OF_MEMORY',
    `${path}: needs ${gb(needed)}, ${gb(available)} are free; --quantize int4 needs less, --force opens it anyway`,
  );
}
