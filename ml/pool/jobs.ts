// What the engine asks of its workers. Large vectors travel in shared memory: written once per request, copied by each
// worker when their digest or version is new to it.
import type { Trajectory } from '../../core/schema/trajectory.js';
import type { DecodeOptions, DecodeResult, DecodeRow } from '../decode/decodeSession.js';
import type { Provider } from '../device/providers.js';
import type { Base } from '../engine/base.js';
import type { AdamWConfig, Adapter, GradientSums, LossConfig, OptimizerState } from '../engine/engine.js';
import type { DecoderConfig } from '../nn/decoder.js';
import type { SupervisedRow, SupervisedSums } from '../train/trainSession.js';

export interface WorkerInit {
  config: DecoderConfig;
  contextLength: number;
  base: Base;
  checkpointing: boolean | undefined; // recompute layers in the backward pass; undefined: by their size
  provider: Provider;
}

/** An adapter whose values are shared; equal digests mean equal values. */
export interface SharedAdapter extends Adapter {
  digest: string;
}

/** What one worker runs with as many threads as there are cores for it. */
interface Threaded {
  threads: number;
}

export type Job =
  | (Threaded & { kind: 'generate'; adapter?: SharedAdapter; rows: DecodeRow[]; options: DecodeOptions; keep: boolean })
  | (Threaded & { kind: 'logprobs'; adapter?: SharedAdapter; rows: { tokens: number[] }[]; temperature: number })
  | (Threaded & { kind: 'values'; adapter: SharedAdapter; rows: { tokens: number[] }[] })
  | (Threaded & { kind: 'gradients'; adapter: SharedAdapter; rows: Trajectory[]; indices: number[]; loss: LossConfig })
  | { kind: 'update'; adapter: SharedAdapter; state: OptimizerState; sums: GradientSums; config: AdamWConfig }
  | { kind: 'supervised'; version: number; rows: SupervisedRow[] }; // of the weights that the main thread rewrites

export interface JobResults {
  generate: DecodeResult;
  logprobs: number[][];
  values: number[][];
  gradients: GradientSums;
  update: { values: Float32Array; state: OptimizerState; gradNorm: number };
  supervised: SupervisedSums;
}
