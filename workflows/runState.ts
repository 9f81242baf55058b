// What a run carries from step to step, and what the code that trains it is given.

import type { GenerateEvaluationOutput } from '../activities/compositeActivities.js';
import type { Activities } from '../activities/index.js';
import type { PolicyState, RunRef, Timed } from '../activities/types.js';
import type { Usage } from '../core/budget.js';
import type { Request } from '../core/control.js';
import { type PlannedStep, planStage } from '../core/schedule.js';
import type { Role, Stage } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { ControlMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates, RunProgress } from '../core/schema/run.js';

/** The activities that workflows call. Tests and benchmarks call the same functions without Temporal. */
export type TrainingActivities = Activities;

/** A run between two steps: ids, digests and numbers. It is small enough to be the input of the next execution. */
export interface RunState {
  run: RunRef;
  config: RunConfig;
  stage: Stage | 0; // 0 before the first stage
  next: number; // index of the next step in the plan of the stage
  plan?: PlannedStep[] | undefined; // set if a live change made it differ from the plan that the configuration gives
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

/** Requests that people make while the run is running. */
export interface RequestQueue {
  take(): Request | undefined;
  /** True if the latest of `pause` and `resume` was `pause`. */
  isPaused?(): boolean;
  waitForRequest?(): Promise<void>;
}

/** What the host of a run provides: a Temporal workflow, or a program that calls the activities directly. */
export interface RunHooks {
  onProgress?(update: ProgressUpdate): void;
  /** Called after the run was prepared and after each live change. */
  onConfig?(state: RunState): void;
  /** Called when no step is left and no request can take effect any more. */
  onTrained?(): void;
  requests?: RequestQueue;
  /** True if the run must continue as a new execution before its next step. */
  isContinueAsNewDue?(state: RunState): boolean;
  continueAsNew?(state: RunState): Promise<never>;
  /** The time for records, ISO 8601. */
  now?(): string;
}

export interface RunContext {
  activities: TrainingActivities;
  hooks: RunHooks;
  /** The latest evaluation if its verdict is still being computed. It overlaps the next steps. */
  evaluation?: PendingEvaluation | undefined;
}

export interface PendingEvaluation {
  result: Promise<Pick<RunState, 'best' | 'validation'>>;
  failed: boolean;
}

/** What the models wrote for an evaluation. */
export type EvaluationSamples = Timed<GenerateEvaluationOutput>;

export const planOf = ({ plan, config }: RunState): PlannedStep[] => plan ?? planStage(config);

/** The next step of the current stage; undefined if none is left. */
export const nextStep = (state: RunState): PlannedStep | undefined =>
  state.stopped === undefined ? planOf(state)[state.next] : undefined;

/** The current stage, if it has begun, and all later stages. */
export const remainingStages = ({ config, stage }: RunState): Stage[] =>
  config.schedule.stages.filter((each) => each >= stage);

export const enterStage = (state: RunState, stage: Stage): RunState =>
  stage === state.stage ? state : { ...state, stage, next: 0, plan: undefined };

/** Policy updates of the whole run, done and planned. */
export function totalSteps(state: RunState): number {
  const later = state.config.schedule.stages.filter((stage) => stage > state.stage);
  const current = state.stage === 0 ? 0 : planOf(state).length - state.next;
  return state.step + current + later.length * planStage(state.config).length;
}
