// Full-parameter training of the shipped model with this project's engine: cross entropy on answers, AdamW.

import type { ModelConfig } from '../../ml/hf/config.js';
import type { TensorData } from '../../ml/nn/layout.js';
import type { CorpusProblem } from '../families/tiny/corpus.js';
import type { TinyVocabulary } from '../families/tiny/tokenizer.js';
import { type CorpusCount, corpusBatches, emptyCount } from './batches.js';
import { learningRateAt, type Recipe, type TrainingPhase } from './recipe.js';
import { openTrainer } from './trainer.js';

export interface TrainingProgress {
  phase: string;
  step: number; // of all phases
  tokens: number; // seen so far, prompts included
  loss: number; // smoothed over about 50 steps, nats a trained token
  learningRate: number;
  seconds: number;
}

export interface TrainingResult {
  weights: ReadonlyMap<string, TensorData>;
  count: CorpusCount;
  steps: number;
  tokens: number;
  loss: number;
  seconds: number;
}

export interface TrainingHooks {
  onStep?: (progress: TrainingProgress) => void;
}

export interface TinyStart {
  config: ModelConfig;
  weights: ReadonlyMap<string, TensorData>;
  problems: readonly CorpusProblem[]; // the train split
  vocabulary: TinyVocabulary;
  workers?: number; // does not change the result
}

/** Trains by the recipe; each phase starts with new optimizer moments. The same recipe gives the same bytes. */
export async function trainTiny(start: TinyStart, recipe: Recipe, hooks: TrainingHooks = {}): Promise<TrainingResult> {
  const { config, problems, vocabulary, workers } = start;
  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  const count = emptyCount();
  const total = { steps: 0, tokens: 0, loss: Number.NaN };
  const { betas, eps, weightDecay, maxGradNorm } = recipe;

  async function runPhase(
    phase: TrainingPhase,
    weights: ReadonlyMap<string, TensorData>,
  ): Promise<ReadonlyMap<string, TensorData>> {
    const trainer = await openTrainer({ config, weights, workers });
    let seen = 0;
    let step = 0;
    try {
      for (const rows of corpusBatches(problems, vocabulary, recipe, phase, count)) {
        const learningRate = learningRateAt(recipe, phase, step, seen);
        const { loss } = await trainer.step(rows, { learningRate, betas, eps, weightDecay, maxGradNorm });
        const tokens = rows.reduce((sum, row) => sum + row.tokens.length, 0);
        seen += tokens;
        step++;
        total.tokens += tokens;
        total.steps++;
        total.loss = Number.isNaN(total.loss) ? loss : 0.98 * total.loss + 0.02 * loss;
        const progress = { step: total.steps, tokens: total.tokens, loss: total.loss, learningRate };
        hooks.onStep?.({ phase: phase.name, ...progress, seconds: elapsed() });
        if (seen >= phase.tokens) break;
      }
      return trainer.weights();
    } finally {
      await trainer.close();
    }
  }

  let weights = start.weights;
  for (const phase of recipe.phases) weights = await runPhase(phase, weights);
  return { weights, count, ...total, seconds: elapsed() };
}
