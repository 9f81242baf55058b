// The training recipes of the shipped models. Only this file and lab/families determine their weights.
import type { FamilyName } from '../families/index.js';
import type { CorpusPhase } from '../families/tiny/corpus.js';

export interface TrainingPhase extends CorpusPhase {
  tokens: number; // of all sequences, prompts included
  learningRate: number; // peak
}

export interface Recipe {
  seed: number;
  batch: number; // sequences
  pool: number; // batches drawn at once, sorted by length and shuffled
  warmupSteps: number; // of each phase
  finalRate: number; // share of the peak left at the end of a phase (linear)
  betas: readonly [number, number];
  eps: number;
  weightDecay: number; // on matrices only
  maxGradNorm: number;
  phases: readonly TrainingPhase[];
}

const PHASES: Record<FamilyName, readonly TrainingPhase[]> = {
  tiny: [
    { name: 'broad', tokens: 6_000_000, learningRate: 4e-3, discriminatorShare: 0.6 },
    {
      name: 'balanced',
      tokens: 3_500_000,
      learningRate: 2.5e-3,
      discriminatorShare: 0.6,
      sources: { list: 0.45, range: 0.2, str: 0.35 },
    },
  ],
  nested: [
    { name: 'broad', tokens: 5_500_000, learningRate: 4e-3, discriminatorShare: 0.6 },
    { name: 'fine', tokens: 3_500_000, learningRate: 2.5e-3, discriminatorShare: 0.6 },
  ],
};

/** A `scale` below 1 shortens all phases. */
export function recipeOf(family: FamilyName, seed: number, scale = 1): Recipe {
  return {
    seed,
    batch: 24,
    pool: 8,
    warmupSteps: 100,
    finalRate: 0.03,
    betas: [0.9, 0.98],
    eps: 1e-8,
    weightDecay: 0.05,
    maxGradNorm: 1,
    phases: PHASES[family].map((phase) => ({ ...phase, tokens: phase.tokens * scale })),
  };
}

export const totalTokens = (recipe: Recipe): number => recipe.phases.reduce((sum, phase) => sum + phase.tokens, 0);

/** Learning rate of `step` (from 0) after `seen` tokens of the phase: warm-up, then linear decay. */
export function learningRateAt(recipe: Recipe, phase: TrainingPhase, step: number, seen: number): number {
  const warm = Math.min(1, (step + 1) / recipe.warmupSteps);
  const left = 1 - (1 - recipe.finalRate) * Math.min(1, seen / phase.tokens);
  return phase.learningRate * warm * left;
}
