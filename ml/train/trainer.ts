// Full-parameter supervised training over the worker pool: what the embedded base model is made with.

import { openPool } from '../engine/ortEngine.js';
import type { ModelConfig } from '../hf/config.js';
import type { TensorData } from '../hf/safetensors.js';
import { parameterLayout } from '../nn/decoder.js';
import { viewsOf } from '../nn/lora.js';
import { type AdamWConfig, adamwStep, type Moments, newMoments } from '../optim/adamw.js';
import type { Job } from '../pool/jobs.js';
import { flattenWeights } from '../pool/shared.js';
import { planThreads } from '../pool/threads.js';
import type { SupervisedRow, SupervisedSums } from './trainSession.js';

const SHARD_ROWS = 4; // small enough that a batch of 24 keeps several workers busy

export interface TrainerStep {
  loss: number; // mean cross entropy over the trained tokens, before the step
  tokens: number;
  gradNorm: number;
}

export interface SupervisedTrainer {
  /** One AdamW step on the mean over all trained tokens; weight decay on matrices only. */
  step(rows: SupervisedRow[], config: Partial<AdamWConfig> & { learningRate: number }): Promise<TrainerStep>;
  /** A copy of the parameters under their Hugging Face names. */
  weights(): Map<string, TensorData>;
  close(): Promise<void>;
}

const DEFAULTS = { betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0.01, maxGradNorm: 1 };

/** @param options.weights the start; every name of parameterLayout */
export async function openTrainer(options: {
  config: ModelConfig;
  weights: ReadonlyMap<string, TensorData>;
  workers?: number;
}): Promise<SupervisedTrainer> {
  const layout = parameterLayout(options.config);
  const shared = flattenWeights(layout, options.weights); // rewritten between steps, read by the workers
  const model = { config: options.config, parameters: shared.length };
  const plan = planThreads(model, { workers: options.workers, threads: 1 });
  const pool = openPool(model, { kind: 'fed', weights: shared }, plan);
  let parameters: Float32Array = new Float32Array(shared);
  let state: Moments = newMoments(parameters.length);
  const decays = new Uint8Array(parameters.length);
  for (const { shape, offset } of layout)
    if (shape.length > 1) decays.fill(1, offset, offset + shape.reduce((a, b) => a * b, 1));
  return {
    async step(rows, config) {
      const sorted = [...rows].sort((a, b) => a.tokens.length - b.tokens.length); // stable: equal lengths keep their order
      const jobs: Job[] = [];
      for (let i = 0; i < sorted.length; i += SHARD_ROWS)
        jobs.push({ kind: 'supervised', version: state.step, rows: sorted.slice(i, i + SHARD_ROWS) });
      const parts = await pool.runAll<SupervisedSums>(jobs.reverse()); // longest first
      const total = new Float64Array(parameters.length);
      let loss = 0;
      let tokens = 0;
      for (const part of parts) {
        for (let i = 0; i < total.length; i++) total[i]! += part.gradients[i]!;
        loss += part.lossSum;
        tokens += part.tokens;
      }
      const mean = new Float32Array(total.length);
      for (let i = 0; i < mean.length; i++) mean[i] = total[i]! / tokens;
      const result = adamwStep(parameters, state, mean, { ...DEFAULTS, ...config }, (i) => decays[i] === 1);
      ({ parameters, state } = result);
      shared.set(parameters);
      return { loss: loss / tokens, tokens, gradNorm: result.gradNorm };
    },
    weights() {
      const copies = [...viewsOf(layout, parameters)].map(
        ([name, t]) => [name, { ...t, data: t.data.slice() }] as const,
      );
      return new Map(copies);
    },
    close: () => pool.close(),
  };
}
