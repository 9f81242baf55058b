// What a run carries from step to step: digests and figures, small enough for any workflow input.
import type { PolicyState, Position, RunRef } from '../activities/types.js';
import { STAGES } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { StepMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates, RunProgress } from '../core/schema/run.js';
import type { Acts } from './acts.js';

/**
 * A configuration with the fields that workflows look at, also of a run that began before a field was there: its
 * history is replayed whenever someone asks how it went.
 */
export function completed(config: RunConfig): RunConfig {
  const before: Partial<RunConfig> = { stages: [...STAGES], mode: 'two-adapters' };
  const rate: Partial<RunConfig['ppo']> = { schedule: 'constant', finalFactor: 0 };
  return { ...before, ...config, ppo: { ...rate, ...config.ppo } };
}

export interface BestCheckpoint {
  name: string;
  score: number;
  policy: PolicyState;
}

export interface TrainingState {
  policy: PolicyState;
  memory: string; // digest: test pool and bug archive
  step: number; // policy updates done in the whole run
  seconds: number; // of training activities, evaluations left out
  best: BestCheckpoint;
  validation: Partial<EvaluationRates>;
}

export interface RunContext {
  acts: Acts;
  run: RunRef;
  config: RunConfig;
}

export interface StepContext extends RunContext {
  position: Position;
  learningRate: number;
}

export interface StepOutcome {
  policy: PolicyState;
  memory: string;
  metrics: StepMetrics;
}

/** What changes while a run goes on. */
export type ProgressUpdate = Partial<Omit<RunProgress, 'runId' | 'totalSteps'>>;
