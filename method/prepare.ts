// The activities before and between the steps: they prepare a run, examine its problems, and change its configuration.
import type { Ref } from '../core/base/ref.js';
import type { ReplayBuffer } from '../core/rewards/archive.js';
import type { PlannedStep } from '../core/run/schedule.js';
import type { Stage } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { ControlMetrics } from '../core/schema/metrics.js';
import type { ProblemSet, Rejected } from '../core/schema/problem.js';
import type { PolicyState, RunRef, SamplingPolicy } from '../core/schema/runRef.js';
import type { SolveProblemsInput } from '../core/schema/solving.js';
import { effect } from './activity.js';

export interface PrepareRunInput {
  runId: string;
  input?: unknown; // a run configuration; default: the tiny preset
  keepsInput?: boolean; // true if only artifacts are computed again: then the recorded input of the run stays
}

export interface PrepareRunOutput {
  run: RunRef;
  config: RunConfig;
  state: PolicyState;
  replayBuffer: Ref<ReplayBuffer>;
  unfit?: Ref<Rejected[]>; // the problems that do not fit into the models' context; absent: all fit
  searchAttributes: boolean;
  origin?: Origin;
  controls?: ControlMetrics[]; // if the run starts again: its recorded control requests
}

/** The position of the checkpoint that a run starts from. */
export interface Origin {
  step: number; // how many policy updates are done
  stage: number; // the run continues in this stage; 0: at the start of the schedule
  next: number; // the index of the next step in the plan of that stage
  plan?: PlannedStep[]; // absent: the configured schedule
  supervisedSteps?: number; // how many of the steps done belong to the warm start
}

export const prepareRun = effect<PrepareRunInput, PrepareRunOutput>('prepareRun', { queue: 'gpu' });

export interface QuarantineProblemsInput {
  run: RunRef;
  unfit?: Ref<Rejected[]> | undefined; // problems that do not fit into the models' context
  again?: boolean; // the health gate runs even if the store has its verdicts
}

export interface QuarantineProblemsOutput {
  problems: Ref<ProblemSet>; // the healthy problems
  total: number;
  quarantined: number;
}

export const quarantineProblems = effect<QuarantineProblemsInput, QuarantineProblemsOutput>('quarantineProblems', {
  queue: 'sandbox',
  needs: 'sandbox',
});

export interface ReviseRunInput {
  run: RunRef;
  config: RunConfig; // it has the settings that runIdentity removes
  fields: Record<string, unknown>; // nested fields of the configuration with their new values
}

export interface ReviseRunOutput {
  run: RunRef;
  config: RunConfig;
}

export const reviseRun = effect<ReviseRunInput, ReviseRunOutput>('reviseRun', { queue: 'cpu' });

export interface PrepareSolvingInput extends SolveProblemsInput {
  run?: RunRef; // given if a run solves at its end: its engine settings and problems are used
  measures?: boolean; // true: `limit` chooses problems at random, but always the same problems
  gateOf?: string | undefined; // a run id; leaves out the problems that this run's health gate left out
}

export interface PrepareSolvingOutput {
  run: RunRef;
  stages: Stage[]; // the stages of a chain
  problems: number;
  hasHidden: boolean; // false: the hidden tests of every problem are its baseline tests
  skipped?: Ref<Rejected[]>; // problems that cannot be used, which `problems` does not count, and inputs that were left out
  temperature: number; // the temperature of evaluations
  generator: SamplingPolicy;
  discriminator: SamplingPolicy;
}

export const prepareSolving = effect<PrepareSolvingInput, PrepareSolvingOutput>('prepareSolving', { queue: 'gpu' });
