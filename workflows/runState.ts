// The state that a run carries from step to step, and the interface to what runs it.
import type { Ref } from '../core/base/ref.js';
import type { AlarmState } from '../core/run/alarms.js';
import type { Usage } from '../core/run/budget.js';
import type { RequestQueue } from '../core/run/control.js';
import type { SchedulePosition } from '../core/run/schedule.js';
import type { WarmStart } from '../core/run/warmStart.js';
import type { Chain, Role } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { ControlMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates, RunProgress } from '../core/schema/run.js';
import type { PolicyState, RoleState } from '../core/schema/runRef.js';
import type { Call } from '../method/activity.js';
import type { EvaluationSamples } from '../method/evaluate.js';
import type { RolloutState } from '../method/rollouts.js';
import { type RunShards, shared } from './layers.js';

/** A run between two steps: ids, digests and numbers. It is small enough to be the input of the next execution. */
export interface RunState extends SchedulePosition, RolloutState {
  config: RunConfig;
  step: number; // how many policy updates are done in the whole run
  seconds: number; // the time of training activities, without evaluations
  used: Usage; // what the training steps used
  latestUsage: Partial<Record<Role, Usage>>; // what the latest step of each role used
  checkpointStep?: number; // `step` at the latest checkpoint
  best: { name: string; score: number; policy: PolicyState };
  validation: Partial<EvaluationRates>; // the rates of the latest evaluation
  before: EvaluationRates; // the rates of the base model on the test split
  baseChains: Partial<Record<'test' | 'validation', Ref<Chain[]>>>; // of the base model, or of the policy after the warm start
  warmStart?: WarmStart; // what the warm start has done so far
  alarms?: AlarmState | undefined; // what the alarms remember of the steps of this run
  records: number; // how many control records are written
  recordedRequests: ControlMetrics[]; // requests that an earlier execution of this run applied after this position
  stopped?: string; // why the run ends before its schedule does
  searchAttributes: boolean; // whether the server knows the search attributes
}

/** The state before the base model is evaluated. */
export type OpeningState = Omit<RunState, 'before'>;

/** The policy after an update. In unified mode, both roles get the trained adapter. */
export function withTrained({ config, policy }: RunState, role: Role, trained: RoleState): PolicyState {
  const { frozen } = policy[role];
  const next: RoleState = { ...trained, frozen };
  return config.mode === 'unified' ? { generator: next, discriminator: next } : { ...policy, [role]: next };
}

/** The state at the start of a stage. With adapters per stage, earlier stages keep the adapters that they have now. */
export function enterStage(state: RunState, stage: RunState['stage']): RunState {
  const entered: RunState = { ...state, stage, next: 0, plan: undefined };
  const earlier = state.config.stages.filter((each) => each < stage);
  if (state.config.adapters !== 'per-stage' || earlier.length === 0) return entered;
  const freeze = (role: RoleState): RoleState => ({
    ...role,
    frozen: Object.fromEntries(earlier.map((each) => [each, role.frozen?.[each] ?? role.adapter])),
  });
  const { generator, discriminator } = state.policy;
  return { ...entered, policy: { generator: freeze(generator), discriminator: freeze(discriminator) } };
}

/** The fields of a run's progress that an update changes. */
export type ProgressUpdate = Partial<Omit<RunProgress, 'runId'>>;

/** What a step changes in the state of its run. */
export interface StepResult {
  changes: Partial<RunState>;
  evaluation?: EvaluationSamples | undefined;
  progress?: ProgressUpdate;
}

/** What executes a run: a Temporal workflow, or a program that calls the activities itself. */
export interface RunHost {
  /** @param step the label of the step to which the calls belong; if a call of a step fails, a person may skip the step */
  call(step?: string): Call;
  onProgress(update: ProgressUpdate): void;
  /** Called after the run was prepared and after each live change. */
  onConfig(state: OpeningState): void;
  requests: Pick<RequestQueue, 'take' | 'isPaused' | 'close'>;
  waitForRequest(): Promise<void>;
  /** True if the run must continue as a new execution before its next step. */
  isContinueAsNewDue(state: RunState): boolean;
  continueAsNew(state: RunState): Promise<never>;
  /** Runs the shards of a batch at the same time. */
  runShards: RunShards;
  /** The current time for records, in ISO 8601. */
  now(): string;
}

/** Executes a run in this process, as a single execution that nobody controls. */
export const localHost = (call: Call): RunHost => ({
  call: () => call,
  onProgress: () => undefined,
  onConfig: () => undefined,
  requests: { take: () => undefined, isPaused: false, close: () => undefined },
  waitForRequest: () => Promise.resolve(),
  isContinueAsNewDue: () => false,
  continueAsNew: () => Promise.reject(new Error('a local run does not continue as new')),
  runShards: (calls) => Promise.all(calls.map((each) => each())),
  now: () => new Date().toISOString(),
});

export interface RunContext extends RunHost {
  /** The latest evaluation if its verdict is still being computed. It overlaps the next steps. */
  evaluation?: { result: Promise<Pick<RunState, 'best' | 'validation'>>; failed: boolean } | undefined;
}

/** Calls whose model work is spread over the workers that the configuration asks for. */
export const modelCall = ({ call, runShards }: RunHost, { config }: Pick<RunState, 'config'>, step?: string): Call =>
  shared(config.engine.shards, runShards, config.ppo)(call(step));
