// Trains all parameters of a `keyhole` model: the untrained base from random weights, or a model that is taught from the base.
import { RandomStream } from '../../../core/base/random.js';
import type { ModelConfig } from '../../../ml/hf/config.js';
import type { TensorData } from '../../../ml/nn/layout.js';
import type { TrainingRow } from './tokenizer.js';
import { openTrainer } from './trainer.js';

const ADAM = { betas: [0.9, 0.98] as const, eps: 1e-8, weightDecay: 0.05, maxGradNorm: 1 };
const POOL = 8; // the number of batches that are drawn at once, sorted by length and shuffled
const WARM_UP = 100; // the number of steps with an increasing learning rate
const FINAL_RATE = 0.03; // the share of the peak learning rate at the end

export interface Schooling {
  name: string;
  row(index: number): TrainingRow;
  seed: number;
  tokens: number; // the tokens of all sequences, including prompts
  learningRate: number; // the peak
  batch: number; // in sequences
}

export interface Schooled {
  weights: ReadonlyMap<string, TensorData>;
  tokens: number;
  loss: number; // the smoothed loss of the last steps
}

/** Uses the settings of the shipped models. The same arguments give the same bytes. */
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

/** The learning rate warms up, then decays linearly with the share of tokens that were seen. */
function rateAt(peak: number, step: number, seen: number): number {
  const left = 1 - (1 - FINAL_RATE) * Math.min(1, seen);
  return peak * Math.min(1, (step + 1) / WARM_UP) * left;
}
