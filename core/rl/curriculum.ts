// Chooses problems by how often problems of their difficulty are solved. A problem that is always or never solved teaches
// nothing, because all samples of its group have the same reward.
import { type RandomStream, weightedSample } from '../random.js';

/** How often the generator solves problems of each difficulty, 0..1. Absent: not tried yet. */
export type SuccessRates = Readonly<Record<string, number>>;

const LEAST_WEIGHT = 0.1; // no difficulty is forgotten
const UPDATE = 0.3; // weight of a step in the moving average

/** The variance of a reward that is 0 or 1, with maximum 1. */
const weightOf = (rate = 0.5): number => Math.max(LEAST_WEIGHT, 4 * rate * (1 - rate));

/** `count` distinct problems. Difficulties have shares in proportion to their weights, as long as they have problems. */
export function sampleByDifficulty<P extends { difficulty: string }>(
  problems: readonly P[],
  count: number,
  rates: SuccessRates,
  random: Pick<RandomStream, 'uniform'>,
): P[] {
  const sizes: Record<string, number> = {};
  for (const { difficulty } of problems) sizes[difficulty] = (sizes[difficulty] ?? 0) + 1;
  return weightedSample(problems, ({ difficulty: d }) => weightOf(rates[d]) / sizes[d]!, count, random);
}

/** The rates after a step. `solved` is the fraction of a problem's samples that pass their whole suite. */
export function withOutcomes(
  rates: SuccessRates,
  outcomes: readonly { difficulty: string; solved: number }[],
): SuccessRates {
  const updated: Record<string, number> = { ...rates };
  for (const difficulty of new Set(outcomes.map((outcome) => outcome.difficulty))) {
    const own = outcomes.filter((outcome) => outcome.difficulty === difficulty);
    const mean = own.reduce((sum, { solved }) => sum + solved, 0) / own.length;
    const known = rates[difficulty];
    updated[difficulty] = known === undefined ? mean : known + UPDATE * (mean - known);
  }
  return updated;
}
