// Trains a model of the family `keyhole` with all its parameters: the untrained base from random weights, or one that is taught from it.
import { RandomStream } from '../../../core/base/random.js';
import type { ModelConfig } from '../../../ml/hf/config.js';
import type { TensorData } from '../../../ml/nn/layout.js';
import type { TrainingRow } from './tokenizer.js';
import { openTrainer } from './trainer.js';

const ADAM = { betas: [0.9, 0.98] as const, eps: 1e-8, weightDecay: 0.05, maxGradNorm: 1 };
const POOL = 8; // batches that are drawn at once, sorted by length and shuffled
const WARM_UP = 100; // steps
const FINAL_RATE = 0.03; // share of the peak that is left at the end

export interface Schooling {
  name: string;
  row(index: number): TrainingRow;
  seed: number;
  tokens: number; // of all sequences, prompts included
  learningRate: number; // peak
  batch: number; // sequences
}

export interface Schooled {
  weights: ReadonlyMap<string, TensorData>;
  tokens: number;
  loss: number; // of the last steps, smoothed
}

/** With the settings of the shipped models. The same arguments give the same bytes. */
export async function school(
  start: { config: ModelConfig; weights: ReadonlyMap<string, TensorData> },
  { name, row, seed, tokens: wanted, learningRate: peak, batch }: Schooling,
  onStep: (line: string) => void = () => {},
): Promise<Schooled> {
  const trainer = await openTrainer({ config: start.config, weights: start.weights });
  let [tokens, loss, step] = [0, Number.NaN, 0];
  try {
    while (tokens < wanted) {
      const from = step * batch;
      const drawn = Array.from({ length: batch * POOL }, (_, i) => row(from + i)).toSorted(
        (a, b) => a.tokens.length - b.tokens.length,
      );
      const batches = Array.from({ length: POOL }, (_, i) => drawn.slice(i * batch, (i + 1) * batch));
      for (const rows of new RandomStream('keyhole-batches', seed, step).shuffle(batches)) {
        const learningRate = rateAt(peak, step, tokens / wanted);
        const done = await trainer.step(rows, { ...ADAM, learningRate });
        tokens += rows.reduce((sum, row) => sum + row.tokens.length, 0);
        loss = Number.isNaN(loss) ? done.loss : 0.95 * loss + 0.05 * done.loss;
        if (++step % 60 === 0) onStep(`${name}: ${tokens} tokens, loss ${loss.toFixed(3)}`);
      }
    }
    return { weights: trainer.weights(), tokens, loss };
  } finally {
    await trainer.close();
  }
}

/** A warm-up, then a linear decay with the share of the tokens that were seen. */
function rateAt(peak: number, step: number, seen: number): number {
  const left = 1 - (1 - FINAL_RATE) * Math.min(1, seen);
  return peak * Math.min(1, (step + 1) / WARM_UP) * left;
}
