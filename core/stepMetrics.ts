// The record of one policy update, from what its parts gave.
import type { Role, Stage } from './schema/chain.js';
import type { RewardMetrics, StepMetrics } from './schema/metrics.js';
import type { PolicyStats } from './schema/trajectory.js';

export interface StepParts {
  step: number; // of the whole run, this one included
  position: { stage: Stage; phase: StepMetrics['phase']; epoch: number };
  role: Role;
  learningRate: number;
  sampledTokens: number;
  generationSeconds: number;
  rolloutSeconds: number; // generation included
  rewarded: { metrics: RewardMetrics; rows: number; seconds: number };
  updated: { stats: PolicyStats; seconds: number };
  artifacts: NonNullable<StepMetrics['artifacts']>;
}

export function stepMetrics({ position, rewarded, updated, ...parts }: StepParts): StepMetrics {
  const { step, role, learningRate, sampledTokens, generationSeconds, rolloutSeconds, artifacts } = parts;
  return {
    kind: 'step',
    step,
    stage: position.stage,
    phase: position.phase,
    epoch: position.epoch,
    role,
    ...rewarded.metrics,
    update: updated.stats,
    rows: rewarded.rows,
    learningRate,
    sampledTokens,
    tokensPerSecond: sampledTokens / Math.max(generationSeconds, 1e-9),
    seconds: rolloutSeconds + rewarded.seconds + updated.seconds,
    artifacts,
  };
}
