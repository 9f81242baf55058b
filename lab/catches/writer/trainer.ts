// Full-parameter supervised training over the worker pool of the engine.
import { split } from '../../../ml/engine/chunks.js';
import { openPool } from '../../../ml/engine/ortEngine.js';
import type { ModelConfig } from '../../../ml/hf/config.js';
import type { TensorData } from '../../../ml/nn/layout.js';
import { elements, parameterLayout, viewsOf } from '../../../ml/nn/layout.js';
import { type AdamWConfig, adamwStep, newOptimizerState } from '../../../ml/optim/adamw.js';
import type { Job } from '../../../ml/pool/jobs.js';
import { flattenWeights } from '../../../ml/pool/shared.js';
import { planThreads } from '../../../ml/pool/threads.js';
import type { SupervisedSequence, SupervisedSums } from '../../../ml/train/trainSession.js';

const PART_SEQUENCES = 4; // small enough to keep several workers busy with a batch of 24 sequences

export interface TrainerStep {
  loss: number; // the mean cross entropy over the trained tokens, computed before the step
  tokens: number;
  gradNorm: number;
}

export interface SupervisedTrainer {
  /** Makes one AdamW step on the mean over all trained tokens. Only matrices have weight decay. */
  step(sequences: SupervisedSequence[], config: Partial<AdamWConfig> & { learningRate: number }): Promise<TrainerStep>;
  /** Copies the parameters under their Hugging Face names. */
  weights(): Map<string, TensorData>;
  close(): Promise<void>;
}

const DEFAULTS = { betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0.01, maxGradNorm: 1 };

/** @param options.weights the initial weights, with every name of parameterLayout */
export async function openTrainer(options: {
  config: ModelConfig;
  weights: ReadonlyMap<string, TensorData>;
  workers?: number;
}): Promise<SupervisedTrainer> {
  const layout = parameterLayout(options.config);
  const shared = flattenWeights(layout, options.weights); // shared with the workers, which read it; each step rewrites it
  const model = { config: options.config, parameters: shared.length };
  const plan = planThreads(model, { workers: options.workers, threads: 1 });
  const pool = openPool(model, { kind: 'fed', weights: shared }, plan);
  let parameters: Float32Array = new Float32Array(shared);
  let state = newOptimizerState(parameters.length);
  const decays = new Uint8Array(parameters.length);
  for (const { shape, offset } of layout) if (shape.length > 1) decays.fill(1, offset, offset + elements(shape));
  return {
    async step(sequences, config) {
      const sorted = [...sequences].sort((a, b) => a.tokens.length - b.tokens.length); // stable
      const jobs = split(sorted, PART_SEQUENCES).map((part): Job => {
        return { kind: 'supervised', version: state.step, sequences: part };
      });
      const parts = await pool.runAll<SupervisedSums>(jobs.reverse()); // starts the longest jobs first
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
