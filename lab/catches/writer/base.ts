// Trains a model of the family `keyhole` with all its parameters: the untrained base from random weights, or one that is taught from it.
import { RandomStream } from '../../../core/random.js';
import type { ModelConfig } from '../../../ml/hf/config.js';
import type { TensorData } from '../../../ml/nn/layout.js';
import type { TrainingRow } from '../../makeTiny/batches.js';
import { learningRateAt, recipeOf, type TrainingPhase } from '../../makeTiny/recipe.js';
import { openTrainer } from '../../makeTiny/trainer.js';

export interface Schooling {
  row(index: number): TrainingRow;
  seed: number;
  phase: TrainingPhase; // tokens and learning rate
  batch: number; // sequences
}

export interface Schooled {
  weights: ReadonlyMap<string, TensorData>;
  tokens: number;
  loss: number; // of the last steps, smoothed
}

/** The recipe of the shipped models with another corpus. The same arguments give the same bytes. */
export async function school(
  start: { config: ModelConfig; weights: ReadonlyMap<string, TensorData> },
  { row, seed, phase, batch }: Schooling,
  onStep: (line: string) => void = () => {},
): Promise<Schooled> {
  const recipe = recipeOf('tiny', seed);
  const { betas, eps, weightDecay, maxGradNorm, pool } = recipe;
  const trainer = await openTrainer({ config: start.config, weights: start.weights });
  let [tokens, loss, step] = [0, Number.NaN, 0];
  try {
    while (tokens < phase.tokens) {
      const from = step * batch;
      const drawn = Array.from({ length: batch * pool }, (_, i) => row(from + i)).toSorted(
        (a, b) => a.tokens.length - b.tokens.length,
      );
      const batches = Array.from({ length: pool }, (_, i) => drawn.slice(i * batch, (i + 1) * batch));
      for (const rows of new RandomStream('keyhole-batches', seed, step).shuffle(batches)) {
        const learningRate = learningRateAt(recipe, phase, step, tokens);
        const done = await trainer.step(rows, { learningRate, betas, eps, weightDecay, maxGradNorm });
        tokens += rows.reduce((sum, row) => sum + row.tokens.length, 0);
        loss = Number.isNaN(loss) ? done.loss : 0.95 * loss + 0.05 * done.loss;
        if (++step % 60 === 0) onStep(`${phase.name}: ${tokens} tokens, loss ${loss.toFixed(3)}`);
      }
    }
    return { weights: trainer.weights(), tokens, loss };
  } finally {
    await trainer.close();
  }
}
