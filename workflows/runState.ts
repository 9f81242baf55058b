// What a run carries from step to step, and what the code that trains it is given.
import type { Activities } from '../activities/index.js';
import type { PolicyState, RunRef } from '../activities/types.js';
import type { Usage } from '../core/budget.js';
import type { RequestQueue } from '../core/control.js';
import type { SchedulePosition } from '../core/schedule.js';
import type { Role } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { ControlMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates, RunProgress } from '../core/schema/run.js';

/** A run between two steps: ids, digests and numbers. It is small enough to be the input of the next execution. */
export interface RunState extends SchedulePosition {
  run: RunRef;
  config: RunConfig;
  policy: PolicyState;
  replayBuffer: string; // digest: test pool and bug archive
  step: number; // policy updates done in the whole run
  seconds: number; // of training activities, without evaluations
  used: Usage; // by training steps
  latestUsage: Partial<Record<Role, Usage>>; // of the latest step of each role
  checkpointStep?: number; // `step` at the latest checkpoint
  best: { name: string; score: number; policy: PolicyState };
  validation: Partial<EvaluationRates>; // of the latest evaluation
  before: EvaluationRates; // of the base model on the test split
  baseChains: { test: string; validation?: string }; // digests of the base model's chains on each split
  records: number; // control records written
  recordedRequests: ControlMetrics[]; // by an earlier execution of this run, from here on
  stopped?: string; // why the run ends before its schedule
  searchAttributes: boolean; // the server knows them
}

/** The fields of a run's progress that change. */
export type ProgressUpdate = Partial<Omit<RunProgress, 'runId'>>;

/** What the host of a run provides: a Temporal workflow, or a program that calls the activities directly. */
export interface RunHooks {
  onProgress?(update: ProgressUpdate): void;
  /** Called after the run was prepared and after each live change. */
  onConfig?(state: RunState): void;
  requests?: Pick<RequestQueue, 'take'> & Partial<Pick<RequestQueue, 'isPaused' | 'close'>>;
  /** Absent: the run does not pause. */
  waitForRequest?(): Promise<void>;
  /** True if the run must continue as a new execution before its next step. */
  isContinueAsNewDue?(state: RunState): boolean;
  continueAsNew?(state: RunState): Promise<never>;
  /** The time for records, ISO 8601. */
  now?(): string;
}

export interface RunContext {
  activities: Activities;
  hooks: RunHooks;
  /** The latest evaluation if its verdict is still being computed. It overlaps the next steps. */
  evaluation?: { result: Promise<Pick<RunState, 'best' | 'validation'>>; failed: boolean } | undefined;
}
