// What the engine asks of its workers. Large vectors travel in shared memory: written once per request, copied by each
// worker when their digest or version is new to it (ONNX Runtime does not read shared memory in place).
import type { Trajectory } from '../../core/schema/trajectory.js';
import type { TensorData } from '../hf/safetensors.js';
import type { DecoderConfig } from '../nn/decoder.js';
import { parameterLayout } from '../nn/decoder.js';
import { type LayoutEntry, layoutSize, viewsOf } from '../nn/lora.js';
import type { DecodeOptions } from './decodeSession.js';
import type { Adapter, Generated, GenerateRow, GradientSums, LossConfig } from './engine.js';
import type { Provider } from './providers.js';
import type { SupervisedRow, SupervisedSums } from './trainSession.js';

/** All parameters, flat as parameterLayout, over shared memory. */
export type SharedWeights = Float32Array;

export interface WorkerInit {
  config: DecoderConfig;
  contextLength: number;
  weights: SharedWeights;
  threads: number; // of each session
  provider: Provider;
}

/** An adapter whose values are shared; equal digests mean equal values. */
export interface SharedAdapter extends Adapter {
  digest: string;
}

export type Job =
  | { kind: 'generate'; adapter?: SharedAdapter; rows: GenerateRow[]; options: DecodeOptions }
  | { kind: 'logprobs'; adapter?: SharedAdapter; rows: { tokens: number[] }[]; temperature: number }
  | { kind: 'gradients'; adapter: SharedAdapter; rows: Trajectory[]; loss: LossConfig }
  | { kind: 'supervised'; version: number; rows: SupervisedRow[] }; // of the weights that the main thread rewrites

export interface JobResults {
  generate: Generated[];
  logprobs: number[][];
  gradients: GradientSums;
  supervised: SupervisedSums;
}

export function shareVector(values: Float32Array): Float32Array {
  const shared = new Float32Array(new SharedArrayBuffer(values.byteLength));
  shared.set(values);
  return shared;
}

export function flattenWeights(
  layout: readonly LayoutEntry[],
  weights: ReadonlyMap<string, TensorData>,
): SharedWeights {
  const flat = new Float32Array(new SharedArrayBuffer(layoutSize(layout) * 4));
  for (const { name, offset } of layout) flat.set(weights.get(name)!.data, offset);
  return flat;
}

/** Tensors over a copy of their own. */
export function copyWeights(config: DecoderConfig, shared: SharedWeights): Map<string, TensorData> {
  return viewsOf(parameterLayout(config), new Float32Array(shared));
}
