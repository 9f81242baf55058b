// What passes between workflows and activities: ids, digests and a few numbers, never tensors or texts.
import type { PlannedStep } from '../core/schedule.js';
import type { Role, Stage } from '../core/schema/chain.js';
import type { EngineConfig, RunConfig } from '../core/schema/config.js';
import type { ControlMetrics, RewardMetrics, RunMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates, RunResult } from '../core/schema/run.js';
import type { PolicyStats } from '../core/schema/trajectory.js';
import type { Digest } from '../store/store.js';

/** `seconds` of the attempt that computed the result; kept beside the memo, never inside a digested artifact. */
export type Timed<O> = O & { seconds: number };

/** The base of a role and the shape of its adapters. */
export interface BaseRef {
  model: string; // name or folder; where it lies is the worker's business
  modelDigest: Digest;
  adapterConfig: Digest; // PEFT's adapter_config.json
}

/** Everything an activity needs to know of its run. */
export interface RunRef {
  runId: string;
  bases: Record<Role, BaseRef>; // equal unless the discriminator has a base of its own
  engine: EngineConfig; // as it was asked for; the worker's own settings go first
  config: Digest; // without the worker's business
  problems: Digest;
}

/** Where in the schedule a step is; every random draw of the step is keyed by it. */
export interface Position extends PlannedStep {
  stage: Stage;
}

export interface RoleState {
  adapter: Digest; // the bytes of adapter_model.safetensors
  valueHead?: Digest; // of value_head.safetensors, with GAE
  optimizer: Digest;
}

export type PolicyState = Record<Role, RoleState>;

/** Which chains are sampled: a training batch, an evaluation batch that is the same for every run, or all problems. */
export type ChainBatch =
  | { kind: 'train'; role: Role; position: Position }
  | { kind: 'evaluation'; split: 'validation' | 'test'; problems: number; greedy: boolean }
  | { kind: 'solve'; samples: number; temperature: number };

/** Which outputs get tests: one drawn chain of each problem at all stages; chosen targets; a drawn stage of each. */
export type TestTargets =
  | { kind: 'all-stages'; chains: Digest; position?: Position }
  | { kind: 'selected'; targets: Digest; position: Position }
  | { kind: 'evaluation'; chains: Digest };

export interface PrepareRunInput {
  runId: string;
  input?: unknown; // a run configuration; absent: the tiny preset
}
export interface PrepareRunOutput {
  run: RunRef;
  config: RunConfig;
  state: PolicyState;
  replayBuffer: Digest;
  searchAttributes: boolean;
  origin?: Origin;
  controls?: ControlMetrics[]; // of a run that is started again: what was asked of it before
}

/** What a run that begins at a checkpoint takes over from there. */
export interface Origin {
  step: number; // policy updates done
  stage: number; // to go on in, 0: from the beginning
  next: number; // index in the plan of that stage
  plan?: PlannedStep[]; // where it is not what the configuration gives
}

export interface ReviseRunInput {
  run: RunRef;
  config: RunConfig; // with what is the worker's business
  fields: Record<string, unknown>; // of the configuration, nested
}
export interface ReviseRunOutput {
  run: RunRef;
  config: RunConfig;
}

export interface QuarantineProblemsInput {
  run: RunRef;
}
export interface QuarantineProblemsOutput {
  problems: Digest; // what is left
  total: number;
  quarantined: number;
}

export interface GenerateReasoningInput {
  run: RunRef;
  batch: ChainBatch;
  stage: Stage;
  chains?: Digest; // the batch so far; absent for the first stage
  adapter?: Digest; // absent: the base model
}
export interface GenerateReasoningOutput {
  chains: Digest;
  tokens: number; // sampled
}

export interface GenerateTestsInput {
  run: RunRef;
  targets: TestTargets;
  samples: number;
  adapter?: Digest;
}
export interface GenerateTestsOutput {
  tests: Digest;
  tokens: number;
}

export interface ExecuteSuiteInput {
  run: RunRef;
  /** 'problem': all chains of a problem on one suite. 'target': the chain that a target's tests were written for. */
  per: 'problem' | 'target';
  suite: 'baseline' | 'hidden';
  chains?: Digest; // for 'problem'
  tests?: Digest;
}
export interface ExecuteSuiteOutput {
  verdicts: Digest;
  executions: number; // of programs, references included
}

export interface SelectChainsInput {
  run: RunRef;
  chains: Digest;
  replayBuffer: Digest;
  position: Position;
}
export interface SelectChainsOutput {
  targets: Digest;
  replayBuffer: Digest;
  executions: number; // of programs
}

export interface ComputeRewardsInput {
  run: RunRef;
  role: Role;
  position: Position;
  verdicts: Digest;
  chains?: Digest; // generator
  tests?: Digest; // discriminator
  replayBuffer: Digest;
}
export interface ComputeRewardsOutput {
  trajectories: Digest;
  replayBuffer: Digest;
  rows: number; // that train something
  metrics: RewardMetrics;
}

export interface ScoreOldPolicyInput {
  run: RunRef;
  role: Role;
  trajectories: Digest;
  adapter: Digest;
  valueHead?: Digest;
}
export interface ScoreOldPolicyOutput {
  trajectories: Digest;
}

export interface UpdatePolicyInput {
  run: RunRef;
  role: Role;
  position: Position;
  trajectories: Digest;
  state: RoleState;
  learningRate: number;
}
export interface UpdatePolicyOutput {
  state: RoleState;
  stats: PolicyStats;
}

export interface SummariseEvaluationInput {
  run: RunRef;
  sampled?: Digest; // verdicts on hidden tests
  greedy?: Digest;
  tests?: Digest; // verdicts of the frozen chains with the tests of the policy
}
/** Of what was given. `reward` is the mean share of hidden tests passed, less one half. */
export type EvaluationSummary = Partial<EvaluationRates> & { reward?: number };

export interface RecordMetricsInput {
  run: RunRef;
  metrics: RunMetrics;
}

export interface CommitCheckpointInput {
  run: RunRef;
  stage: number; // 0 before the first
  epoch: number;
  step: number;
  score: number;
  validation: Partial<EvaluationRates>;
  seconds: number; // of the evaluation
  state: PolicyState;
  replayBuffer: Digest;
  next: number; // index of the next step in the stage's plan
  plan?: PlannedStep[]; // where it is no longer what the configuration gives
}

export interface RenderReportInput {
  runId: string;
  result: RunResult;
  example?: Digest; // ChainView[]; the first is shown
}

/** Input of the workflow solveProblems too. */
export interface SolveProblemsInput {
  source?: string; // 'tiny' (default) or a problem file
  split?: 'train' | 'validation' | 'test'; // default: test of the shipped set; a file is taken whole
  limit?: number;
  preset?: string; // without a checkpoint
  model?: string;
  /** Absent: the base model. `name`: 'best', 'latest' or a checkpoint's name. */
  checkpoint?: { runId: string; name: string };
  samples?: number; // a problem, default 1
  temperature?: number; // default 0 = greedy
  tests?: boolean; // let the discriminator write tests for every stage
  seed?: number;
}
/** Result of the workflow solveProblems. */
export interface SolveProblemsResult {
  solved: number; // problems with a sample that passes all its tests
  problems: number;
  solutions: string; // digest of Solution[]: programs and how many tests they pass
  chains: string; // digest of Chain[]
  verdicts: string; // digest of SuiteVerdicts[]
  views: string; // digest of ChainView[]: answers, tests, verdicts and rewards for people
  tests?: string; // digest of TestBatch
}
export interface PrepareSolvingOutput {
  run: RunRef;
  stages: Stage[]; // of a chain
  problems: number;
  generator: { adapter?: Digest };
  discriminator: { adapter?: Digest };
}

export interface CollectSolutionsInput {
  run: RunRef;
  chains: Digest;
  verdicts: Digest;
  tests?: Digest;
}
export interface CollectSolutionsOutput {
  solutions: Digest; // Solution[]
  views: Digest; // ChainView[]
  solved: number; // problems with a sample that passes every test
  problems: number;
}
