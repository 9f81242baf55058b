// What a stage is given, what it tells and asks while it goes on, and the steps that it has.
import type { RunRef } from '../activities/types.js';
import type { Request } from '../core/control.js';
import { type PlannedStep, planStage } from '../core/schedule.js';
import type { Stage } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { ControlMetrics } from '../core/schema/metrics.js';
import { completed, type ProgressUpdate, type TrainingState } from './state.js';

export interface StageInput {
  run: RunRef;
  config: RunConfig;
  stage: Stage;
  state: TrainingState;
  next: number; // index in the stage's plan of the step to do next
  plan?: PlannedStep[]; // where it is no longer the one that the configuration gives
  asked: number; // how many requests of the run have been done
  stopped?: string; // why the run ends here
  controls?: ControlMetrics[]; // of a run that was started again: what was asked of it from here on, in order
}

export interface StageHooks {
  onProgress?(update: ProgressUpdate): void | Promise<void>;
  /** What was asked of the run so far. */
  requests?(): readonly Request[];
  /** Until more than `count` things were asked. */
  moreRequests?(count: number): Promise<void>;
  /** See StepContext; default: yes. */
  joined?: boolean;
  /** See RunContext; default: yes. */
  shortEpochs?: boolean;
  /** Whether what a step used that was left out counts; false for a stage that went on past one that did not. */
  countsLeftOut?(): boolean;
  /** Whether a change of the schedule lets a closed epoch be; false for a stage that went on past one that did not. */
  letsClosedEpochsBe?(): boolean;
  /** Of every live change, once it holds. */
  onConfig?(config: RunConfig): void;
  /** The time for records, ISO 8601. */
  now?(): string;
  /** Asked after every step and in a pause; true ends the call early, to be continued from what it returns. */
  endsAfter?(stepsDone: number): boolean;
}

/** A person's decision that the step at hand be left out: nothing of it is kept. */
export class StepLeftOut extends Error {
  constructor(readonly reason: string) {
    super(`left out: ${reason}`);
  }
}

/** The steps of a stage; an early configuration or none at all is no matter. */
export const planOf = ({ plan, config, stage }: Pick<StageInput, 'plan' | 'config' | 'stage'>): PlannedStep[] =>
  plan ?? planStage(completed(config), stage);
