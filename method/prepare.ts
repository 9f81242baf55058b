// Before and between the steps: the run is prepared, its problems are examined, and its configuration may change.
import type { Ref } from '../core/base/ref.js';
import type { ReplayBuffer } from '../core/rewards/replayBuffer.js';
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
  input?: unknown; // a run configuration; absent: the tiny preset
  keepsInput?: boolean; // only artifacts are computed again: the recorded input of the run stays
}

export interface PrepareRunOutput {
  run: RunRef;
  config: RunConfig;
  state: PolicyState;
  replayBuffer: Ref<ReplayBuffer>;
  unfit?: Ref<Rejected[]>; // the problems that do not fit into the models' context, if there are some
  searchAttributes: boolean;
  origin?: Origin;
  controls?: ControlMetrics[]; // of a restarted run: its recorded control requests
}

/** The position of the checkpoint that a run starts from. */
export interface Origin {
  step: number; // policy updates done
  stage: number; // to continue in; 0: the start of the schedule
  next: number; // index in the plan of that stage
  plan?: PlannedStep[]; // if it differs from the configured schedule
  supervisedSteps?: number; // of the steps done, those of the warm start
}

export const prepareRun = effect<PrepareRunInput, PrepareRunOutput>('prepareRun', { queue: 'gpu' });

export interface QuarantineProblemsInput {
  run: RunRef;
  unfit?: Ref<Rejected[]> | undefined; // problems that do not fit into the models' context
  again?: boolean; // also if the store has the verdicts of the health gate
}

export interface QuarantineProblemsOutput {
  problems: Ref<ProblemSet>; // the healthy ones
  total: number;
  quarantined: number;
}

export const quarantineProblems = effect<QuarantineProblemsInput, QuarantineProblemsOutput>('quarantineProblems', {
  queue: 'sandbox',
  needs: 'sandbox',
});

export interface ReviseRunInput {
  run: RunRef;
  config: RunConfig; // with the settings that runIdentity removes
  fields: Record<string, unknown>; // of the configuration, nested
}

export interface ReviseRunOutput {
  run: RunRef;
  config: RunConfig;
}

export const reviseRun = effect<ReviseRunInput, ReviseRunOutput>('reviseRun', { queue: 'cpu' });

export interface PrepareSolvingInput extends SolveProblemsInput {
  run?: RunRef; // the run that ends here: its engine settings and problems are used
  measures?: boolean; // `limit` draws at random, always the same problems
  gateOf?: string | undefined; // without the problems that the health gate of this run left out
}

export interface PrepareSolvingOutput {
  run: RunRef;
  stages: Stage[]; // of a chain
  problems: number;
  skipped?: Ref<Rejected[]>; // problems that do not fit, which are not among them
  temperature: number; // of evaluations
  generator: SamplingPolicy;
  discriminator: SamplingPolicy;
}

export const prepareSolving = effect<PrepareSolvingInput, PrepareSolvingOutput>('prepareSolving', { queue: 'gpu' });
