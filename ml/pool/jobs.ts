// The jobs that the engine sends to its workers. Large vectors are in shared memory: the engine writes them once per
// request, and a worker copies them if their digest or version is new to it.
import type { TokenScores, Trajectory } from '../../core/schema/trajectory.js';
import type { DecodeOptions, DecodeRequest, DecodeResult } from '../decode/decodeSession.js';
import type { Provider } from '../device/providers.js';
import type { Base } from '../engine/base.js';
import type { AdamWConfig, EngineOptions, GradientSums, LossConfig, OptimizerState } from '../engine/engine.js';
import type { ModelConfig } from '../hf/config.js';
import type { IdentifiedAdapter } from '../nn/layout.js';
import type { Row } from '../train/branches.js';
import type { SupervisedSequence, SupervisedSums } from '../train/trainSession.js';

export interface WorkerInit
  extends Pick<EngineOptions, 'precision' | 'checkpointing' | 'activationBytes' | 'decoderRows'> {
  config: ModelConfig;
  base: Base;
  provider: Provider;
  batchBytes?: number; // limit for the keys and values of the sequences that step together; others wait. Default: no limit
  keptBytes?: number; // see TrainSessionOptions
  graphBytes: number; // limit for the graphs that a worker keeps open; 0: it keeps one graph open
  alternates: boolean; // the graphs of generation close before training, because their weights need much memory
}

/** `threads` is the number of threads that one worker uses. */
export type Job =
  | {
      kind: 'generate';
      threads: number;
      adapter?: IdentifiedAdapter;
      requests: DecodeRequest[];
      options: DecodeOptions;
      cacheBytes: number; // the most bytes of keys and values to return
    }
  | {
      kind: 'logprobs' | 'scores'; // scores have entropies, too
      threads: number;
      adapter?: IdentifiedAdapter;
      sequences: ({ tokens: number[] } & Partial<Row>)[];
      temperature: number;
    }
  | {
      kind: 'gradients';
      threads: number;
      adapter: IdentifiedAdapter;
      sequences: (Trajectory & Row)[];
      indices: number[];
      loss: LossConfig;
    }
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
