// The jobs that the engine sends to its workers. Large vectors are in shared memory: the engine writes them once per
// request, and a worker copies them if their digest or version is new to it.
import type { TokenScores, Trajectory } from '../../core/schema/trajectory.js';
import type { DecodeOptions, DecodeRequest, DecodeResult } from '../decode/decodeSession.js';
import type { Provider } from '../device/providers.js';
import type { Base } from '../engine/base.js';
import type { AdamWConfig, GradientSums, LossConfig, OptimizerState, Precision } from '../engine/engine.js';
import type { DecoderConfig } from '../nn/config.js';
import type { IdentifiedAdapter } from '../nn/layout.js';
import type { Row } from '../train/branches.js';
import type { SupervisedSequence, SupervisedSums } from '../train/trainSession.js';

export interface WorkerInit {
  config: DecoderConfig;
  contextLength: number;
  base: Base;
  precision: Precision | undefined; // as EngineOptions
  checkpointing: boolean | undefined; // recompute layers in the backward pass; undefined: depends on their size
  activationBytes: number | undefined; // as EngineOptions
  batchBytes: number | undefined; // of keys and values of sequences that step together; more sequences wait. Default: any
  keptBytes: number | undefined; // see TrainSessionOptions
  provider: Provider;
  decoderRows?: number | undefined; // as EngineOptions
  graphBytes: number; // of the graphs that a worker keeps open; 0: one at a time
  alternates: boolean; // the graphs of generation close before training, because their weights need much memory
}

interface Threaded {
  threads: number; // that one worker uses
}

export type Job =
  | (Threaded & {
      kind: 'generate';
      adapter?: IdentifiedAdapter;
      requests: DecodeRequest[];
      options: DecodeOptions;
      cacheBytes: number; // of keys and values to return
    })
  | (Threaded & {
      kind: 'logprobs' | 'scores'; // with entropies
      adapter?: IdentifiedAdapter;
      sequences: ({ tokens: number[] } & Partial<Row>)[];
      temperature: number;
    })
  | (Threaded & {
      kind: 'gradients';
      adapter: IdentifiedAdapter;
      sequences: (Trajectory & Row)[];
      indices: number[];
      loss: LossConfig;
    })
  | { kind: 'update'; adapter: IdentifiedAdapter; state: OptimizerState; sums: GradientSums; config: AdamWConfig }
  | { kind: 'supervised'; version: number; sequences: SupervisedSequence[] }; // the main thread rewrites the weights

export interface JobResults {
  generate: DecodeResult;
  logprobs: number[][];
  scores: TokenScores[];
  gradients: GradientSums;
  update: { values: Float32Array; state: OptimizerState; gradNorm: number };
  supervised: SupervisedSums;
}
