// What a run carries from step to step: digests and figures, small enough for any workflow input.
import type { GenerateEvaluationOutput } from '../activities/compositeActivities.js';
import type { PolicyState, Position, RunRef, Timed } from '../activities/types.js';
import type { Spending } from '../core/control.js';
import { type Role, STAGES } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { StepMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates, RunProgress } from '../core/schema/run.js';
import type { Acts } from './acts.js';

const NO_BUDGET: RunConfig['budget'] = { tokens: null, seconds: null, executions: null };
const FAIL_AT_ONCE: RunConfig['failure'] = { onFailure: 'fail', waitHours: 1, attempts: null };

/**
 * A configuration with the fields that workflows look at, also of a run that began before a field was there: its
 * history is replayed whenever someone asks how it went.
 */
export function completed(config: RunConfig): RunConfig {
  const before: Partial<RunConfig> = { stages: [...STAGES], mode: 'two-adapters' };
  const rate: Partial<RunConfig['ppo']> = { schedule: 'constant', finalFactor: 0 };
  const unlimited = { budget: NO_BUDGET, failure: FAIL_AT_ONCE };
  return { ...unlimited, ...before, ...config, ppo: { ...rate, ...config.ppo } };
}

export interface BestCheckpoint {
  name: string;
  score: number;
  policy: PolicyState;
}

export interface TrainingState {
  policy: PolicyState;
  replayBuffer: string; // digest: test pool and bug archive
  step: number; // policy updates done in the whole run
  seconds: number; // of training activities, evaluations left out
  spent: Spending; // by training steps
  costs: Partial<Record<Role, Spending>>; // of the latest step of each role
  closedAt?: number; // `step` at the latest checkpoint
  records?: number; // of what people asked for
  best: BestCheckpoint;
  validation: Partial<EvaluationRates>;
  base?: string; // digest of the base model's chains on the validation split
}

export interface RunContext {
  acts: Acts;
  run: RunRef;
  config: RunConfig;
  /** An evaluation is two activities, and steps go on beside the second; false for what began when it was many. */
  shortEpochs: boolean;
}

export type WrittenEvaluation = Timed<GenerateEvaluationOutput>;

export interface StepContext extends RunContext {
  joined: boolean; // a step is few long activities; false for a stage that began when it was many
  position: Position;
  learningRate: number;
  closes: boolean; // the step is the last of its epoch
}

export interface StepOutcome {
  policy: PolicyState;
  replayBuffer: string;
  metrics: StepMetrics;
  cost: Spending;
  written?: WrittenEvaluation | undefined; // by the models, where the step ended its epoch
}

/** What changes while a run goes on. */
export type ProgressUpdate = Partial<Omit<RunProgress, 'runId' | 'totalSteps'>>;
