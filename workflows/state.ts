// What a run carries from step to step: digests and figures, small enough for any workflow input.
import type { PolicyState, Position, RunRef } from '../activities/types.js';
import type { RunConfig } from '../core/schema/config.js';
import type { StepMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates, RunProgress } from '../core/schema/run.js';
import type { Acts } from './acts.js';

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
