// Inputs and outputs of activities: ids, digests and a few numbers, never tensors or texts.
import type { AlarmState } from '../core/alarms.js';
import type { MetricName } from '../core/evaluation/metrics.js';
import type { FreshTests } from '../core/freshInputs.js';
import type { Digest, Ref } from '../core/ref.js';
import type { Draw } from '../core/rewards/liveGroups.js';
import type { ReplayBuffer } from '../core/rewards/replayBuffer.js';
import type { Mismatch } from '../core/rl/importance.js';
import type { PlannedStep } from '../core/schedule.js';
import type { Chain, Role, Stage, TestBatch, TestTarget } from '../core/schema/chain.js';
import type { ChainView } from '../core/schema/chainView.js';
import type { EngineConfig, RunConfig } from '../core/schema/config.js';
import type { ProblemResult } from '../core/schema/evaluation.js';
import type { ControlMetrics, RewardMetrics, RunMetrics, StepMetrics } from '../core/schema/metrics.js';
import type { ProblemSet, Rejected } from '../core/schema/problem.js';
import type { EvaluationRates, RunResult } from '../core/schema/run.js';
import type { Solution, SolveProblemsInput } from '../core/schema/solving.js';
import type { PolicyStats, TokenNumbers, TokenScores, Trajectory } from '../core/schema/trajectory.js';
import type { SuiteVerdicts } from '../core/schema/verdicts.js';
import type { Shard } from '../core/shards.js';

/** `seconds` of the attempt that computed the result. They are stored outside of digested artifacts. */
export type Timed<O> = O & { seconds: number };

/** The base of a role and the shape of its adapters. */
export interface BaseRef {
  model: string; // name or folder, as this run found it
  modelDigest: Digest;
  adapterConfig: Digest; // PEFT's adapter_config.json
}

/** Identifies a run and its inputs. */
export interface RunRef {
  runId: string;
  bases: Record<Role, BaseRef>; // equal unless the discriminator has a base of its own
  engine: EngineConfig; // as requested; settings of the worker take precedence
  config: Ref<RunConfig>; // its identity, see runIdentity
  problems: Ref<ProblemSet>;
}

/** Standard errors of rates, by the name of the rate. */
export type StandardErrors = Record<string, number>;

/** What one shard of a batch computed. */
export interface ShardResult<T> {
  part: Ref<T>;
  tokens: number; // sampled
  seconds: number;
}

/** The position of a step in the schedule. It is part of all random keys of the step. */
export interface Position extends PlannedStep {
  stage: Stage;
}

/** The position of a step that may belong to the warm start, which is stage 0. */
export interface UpdatePosition extends PlannedStep {
  stage: Stage | 0;
}

/** Adapters that earlier stages keep. Other stages use the one in training. */
export type FrozenAdapters = Partial<Record<Stage, Digest>>;

/** The adapters to sample with. None: the base model. */
export interface SamplingPolicy {
  adapter?: Digest;
  frozen?: FrozenAdapters;
}

export interface RoleState {
  adapter: Digest; // the bytes of adapter_model.safetensors
  frozen?: FrozenAdapters; // with adapters per stage
  valueHead?: Digest; // of value_head.safetensors, with GAE
  optimizer: Digest;
}

export type PolicyState = Record<Role, RoleState>;

/** Which chains to sample: a training batch, a fixed evaluation batch, or all problems to solve. */
export type ChainBatch =
  | { kind: 'train'; role: Role; position: Position; draw?: Draw } // draw: further problems of a refilled batch
  | { kind: 'evaluation'; split: 'validation' | 'test'; problems: number; greedy: boolean }
  | { kind: 'solve'; samples: number; temperature: number };

/** What to write tests for: all stages of one random chain per problem, selected targets, or a random stage of each chain. */
export type TestTargets =
  | { kind: 'all-stages'; chains: Ref<Chain[]>; position?: Position }
  | { kind: 'selected'; targets: Ref<TestTarget[]>; position: Position }
  | { kind: 'evaluation'; chains: Ref<Chain[]> };

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

export interface ReviseRunInput {
  run: RunRef;
  config: RunConfig; // with the settings that runIdentity removes
  fields: Record<string, unknown>; // of the configuration, nested
}
export interface ReviseRunOutput {
  run: RunRef;
  config: RunConfig;
}

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

export interface GenerateReasoningInput {
  run: RunRef;
  batch: ChainBatch;
  stage: Stage;
  chains?: Ref<Chain[]>; // with earlier stages; absent for the first stage
  replayBuffer?: Ref<ReplayBuffer>; // in training with a curriculum
  adapter?: Digest; // absent: the base model
  shard?: Shard; // only the chains of some problems
  shards?: ShardResult<Chain[]>[]; // this stage of all shards: nothing is sampled
}
export interface GenerateReasoningOutput {
  chains: Ref<Chain[]>;
  tokens: number; // sampled
}

export interface SampleChainsInput
  extends SamplingPolicy,
    Pick<GenerateReasoningInput, 'run' | 'batch' | 'replayBuffer'> {
  stages: Stage[]; // of a chain, in order
  shard?: Shard; // only the chains of some problems
  shards?: ShardResult<Chain[]>[][]; // all shards of each stage: nothing is sampled
}
export interface SampleChainsOutput extends GenerateReasoningOutput {
  turns?: ShardResult<Chain[]>[]; // of each stage; only for a shard
}

export interface GenerateChainsInput extends Omit<SampleChainsInput, 'shard' | 'shards'> {
  /** The discriminator also writes tests for all stages of one chain of each problem. */
  tests?: ({ samples: number } & SamplingPolicy) | undefined;
}
/** Tokens and seconds include chains and tests. */
export interface GenerateChainsOutput extends GenerateReasoningOutput {
  tests?: Ref<TestBatch>;
}

export interface GenerateTestsInput extends SamplingPolicy {
  run: RunRef;
  targets: TestTargets;
  samples: number;
  shard?: Shard; // only the turns of some targets
  shards?: ShardResult<TestBatch>[]; // the turns of all shards: nothing is sampled
}
export interface GenerateTestsOutput {
  tests: Ref<TestBatch>;
  tokens: number;
}

export interface ExecuteSuiteInput {
  run: RunRef;
  /** 'problem': all chains of a problem share a suite. 'target': each chain is judged on the tests written for it. */
  per: 'problem' | 'target';
  suite: 'baseline' | 'hidden';
  chains?: Ref<Chain[]>; // for 'problem'
  tests?: Ref<TestBatch>;
  replayBuffer?: Ref<ReplayBuffer>; // in training: tests of the mistake book join the suite
  mutants?: number; // up to so many mutants of each reference run on the suite; default: as the reward scheme needs
}
export interface ExecuteSuiteOutput {
  verdicts: Ref<SuiteVerdicts[]>;
  executions: number; // of programs, references included
}

export interface SelectChainsInput {
  run: RunRef;
  chains: Ref<Chain[]>;
  replayBuffer: Ref<ReplayBuffer>;
  position: Position;
}
export interface SelectChainsOutput {
  targets: Ref<TestTarget[]>;
  replayBuffer: Ref<ReplayBuffer>;
  executions: number; // of programs
}

/** Some problems of a generator step: their chains, the tests for them, and the verdicts. */
export interface DrawnProblems {
  chains: Ref<Chain[]>;
  tests?: Ref<TestBatch>;
  verdicts: Ref<SuiteVerdicts[]>;
}
export interface CompleteBatchInput {
  run: RunRef;
  draws: DrawnProblems[]; // so far
}
/** One of both: what to draw next, or all draws as one. */
export interface CompleteBatchOutput {
  next?: Draw;
  batch?: DrawnProblems;
}

/** What was sampled for a step or an evaluation. */
export interface CountAnswersInput {
  run: RunRef;
  chains: Ref<Chain[]>[];
  tests: Ref<TestBatch>[];
}
/** Fields of a record. */
export type CountAnswersOutput = Pick<StepMetrics, 'answers' | 'warnings'>;

export interface ComputeRewardsInput {
  run: RunRef;
  role: Role;
  position: Position;
  verdicts: Ref<SuiteVerdicts[]>;
  chains?: Ref<Chain[]>; // generator
  tests?: Ref<TestBatch>; // discriminator
  replayBuffer: Ref<ReplayBuffer>;
}
export interface ComputeRewardsOutput {
  trajectories: Ref<Trajectory[]>;
  replayBuffer: Ref<ReplayBuffer>;
  rows: number; // trajectories
  metrics: RewardMetrics;
}

export type MeasureStepInput = Pick<ComputeRewardsInput, 'run' | 'role' | 'verdicts' | 'chains'>;

export interface ScoreOldPolicyInput {
  run: RunRef;
  role: Role;
  trajectories: Ref<Trajectory[]>;
  adapter: Digest;
  valueHead?: Digest;
  rows?: number; // trajectories, for a caller that spreads the work
  shards?: ShardResult<PartialScores>[]; // the scores of all shards
}
export type ScoreShardInput = Omit<ScoreOldPolicyInput, 'rows' | 'shards'> & { shard: Shard };
/** Null: a trajectory of another shard. */
export type PartialScores = (TokenScores | null)[];
export interface ScoreShardOutput {
  scores: Ref<PartialScores>;
}
export interface ScoreOldPolicyOutput {
  trajectories: Ref<Trajectory[]>;
  entropies?: Ref<TokenNumbers>; // absent if nothing is trained
  mismatch?: Mismatch; // of the trained tokens, with remote rollouts
}

export interface UpdatePolicyInput {
  run: RunRef;
  role: Role;
  position: UpdatePosition;
  trajectories: Ref<Trajectory[]>;
  state: RoleState;
  learningRate: number;
  rows?: number; // trajectories, for a caller that spreads the work
}
export interface UpdatePolicyOutput {
  state: RoleState;
  stats: PolicyStats;
  /**
   * π / π_old when the last epoch came to the trajectory, before the gradient of its minibatch was applied.
   * Absent if nothing was trained, and in the warm start.
   */
  ratios?: Ref<TokenNumbers>;
}

/** One minibatch of an update whose gradients several workers compute. */
export interface MinibatchInput {
  run: RunRef;
  update: Omit<UpdatePolicyInput, 'run' | 'rows'>;
  minibatch: number; // index
}
export type ComputeGradientsInput = MinibatchInput & { shard: Shard };
export type ApplyGradientsInput = MinibatchInput & { of: number; seconds: number }; // shards, and the time that they took

/** The part of a step that follows the execution of its programs: rewards, update, record. */
export interface TrainPolicyInput
  extends Omit<UpdatePolicyInput, 'trajectories' | 'position' | 'rows'>,
    Pick<ComputeRewardsInput, 'verdicts' | 'chains' | 'tests' | 'replayBuffer'> {
  position: Position;
  step: number; // of the whole run, this one included
  sampledTokens: number;
  generationSeconds: number;
  rolloutSeconds: number; // generation included
  /** All that was sampled for the step, by either role. Absent in steps that an earlier version planned. */
  sampled?: Omit<CountAnswersInput, 'run'>;
  refillRounds?: number; // of a generator step with `batch.refill`
  sandboxFaultRate?: number | undefined; // absent if no attempt failed
  alarms?: AlarmState | undefined; // after the step before
  /** At the end of an epoch. A policy without an adapter uses the one that this step trains. */
  evaluation?: (Omit<GenerateEvaluationInput, 'run'> & { policies: Record<Role, SamplingPolicy> }) | undefined;
}
export interface TrainPolicyOutput extends Omit<UpdatePolicyOutput, 'ratios' | 'stats'> {
  replayBuffer: Ref<ReplayBuffer>;
  metrics: StepMetrics; // as recorded
  alarms: AlarmState;
  evaluation?: EvaluationSamples; // if requested
}

/** A step of the warm start. */
export interface TrainOnExamplesInput extends Omit<UpdatePolicyInput, 'trajectories' | 'rows'> {
  step: number; // of the whole run, this one included
  tests?: Ref<FreshTests> | undefined; // for the discriminator
  examplesOfStep: number; // 1-based, of the role
}
export interface TrainOnExamplesOutput {
  state: UpdatePolicyOutput['state'];
  loss?: number | undefined; // on the validation split; absent if that gives no example
}

/** Reference answers on fresh inputs, for tests that the warm start teaches. */
export interface AnswerFreshInputsInput {
  run: RunRef;
}
export interface AnswerFreshInputsOutput {
  tests: Ref<FreshTests>;
  executions: number; // of programs
}

export interface WriteExamplesInput {
  run: RunRef;
  role: Role;
  tests?: Ref<FreshTests> | undefined; // for the discriminator
  /** A step of the warm start, or absent: the examples of the validation split. */
  step?: number;
}
export interface WriteExamplesOutput {
  examples: Ref<Trajectory[]>;
  rows: number;
}

export interface ScoreExamplesInput {
  run: RunRef;
  role: Role;
  examples: Ref<Trajectory[]>;
  adapter: Digest;
}
export interface ScoreExamplesOutput {
  loss?: number; // mean cross entropy of answer tokens, in nats; absent if there is no example
}

export interface GenerateEvaluationInput {
  run: RunRef;
  split: 'validation' | 'test';
  problems: number;
  stages: Stage[]; // of a chain, in order
  greedy: boolean; // also sample the chains greedily
  policies?: Record<Role, SamplingPolicy> | undefined; // absent: the base model
  base?: Ref<Chain[]> | 'sampled' | undefined; // chains to write tests for, if they are known; sampled: those of this policy
}
export interface GenerateEvaluationOutput {
  sampled: Ref<Chain[]>;
  greedy?: Ref<Chain[]>;
  base: Ref<Chain[]>; // that the discriminator writes tests for
  tests: Ref<TestBatch>;
}
/** What the models wrote for an evaluation. */
export type EvaluationSamples = Timed<GenerateEvaluationOutput>;

export interface JudgeEvaluationInput {
  run: RunRef;
  samples: EvaluationSamples;
  /** Validation commits a checkpoint with the results. The test split only records them. */
  target:
    | {
        split: 'validation';
        checkpoint: Omit<
          CommitCheckpointInput,
          'run' | 'score' | 'validation' | 'standardErrors' | 'counted' | 'seconds'
        >;
      }
    | { split: 'test'; step: number; checkpoint: string };
}
export interface JudgeEvaluationOutput {
  rates: Partial<EvaluationRates>;
  score: number;
}

export interface SummariseEvaluationInput {
  run: RunRef;
  sampled?: Ref<SuiteVerdicts[]>; // on hidden tests
  greedy?: Ref<SuiteVerdicts[]>;
  tests?: Ref<SuiteVerdicts[]>; // of the frozen chains with the tests of the policy
}
/** Rates of the given verdicts. `reward` is the mean pass rate on hidden tests − 0.5. */
export type EvaluationSummary = Partial<EvaluationRates> & { reward?: number; standardErrors: StandardErrors };

export interface RecordMetricsInput {
  run: RunRef;
  metrics: RunMetrics;
}

export interface CommitCheckpointInput {
  run: RunRef;
  stage: number; // 0 before training
  epoch: number;
  step: number;
  score: number;
  validation: Partial<EvaluationRates>;
  standardErrors: StandardErrors; // of these rates
  counted?: CountAnswersOutput; // of its answers
  seconds: number; // of the evaluation
  state: PolicyState;
  replayBuffer: Ref<ReplayBuffer>;
  next: number; // index of the next step in the stage's plan
  nextStage?: number; // of the next step, in the first checkpoint of a fork
  plan?: PlannedStep[]; // if it differs from the configured schedule
  supervisedSteps?: number; // of the steps done, those of the warm start
}

export interface RenderReportInput {
  runId: string;
  result: RunResult;
  example?: Ref<ChainView[]>; // the first is shown
}
export interface RenderReportOutput {
  path?: string; // of the report; absent if no renderer is installed
}

/** Result of the workflow solveProblems. */
export interface SolveProblemsResult {
  solved: number; // problems with a sample that passes all its tests
  problems: number;
  solutions: Ref<Solution[]>;
  skipped?: Ref<Rejected[]>; // problems that do not fit
  chains: Ref<Chain[]>;
  verdicts: Ref<SuiteVerdicts[]>;
  views: Ref<ChainView[]>; // for people
  tests?: Ref<TestBatch>;
}
/** The input of the workflow evaluateCheckpoint. By default, five samples at the temperature of the run's evaluations. */
export interface EvaluateCheckpointInput extends Omit<SolveProblemsInput, 'tests'> {
  gateOf?: string | undefined; // the run whose health gate leaves problems out; default: that of the checkpoint
}
export interface EvaluateCheckpointResult extends MeasureEvaluationOutput {
  problems: number;
  samples: number; // of each problem
  temperature: number;
  tokens: number; // sampled with the policy
  /** What was measured: chains and their verdicts on hidden tests. */
  artifacts: Pick<RunRef, 'config' | 'problems'> & {
    chains: Ref<Chain[]>;
    verdicts: Ref<SuiteVerdicts[]>;
    tests?: Ref<TestBatch>;
  };
  skipped?: Ref<Rejected[]>; // problems that do not fit
}
export interface MeasureEvaluationInput {
  run: RunRef;
  chains: Ref<Chain[]>;
  hidden: Ref<SuiteVerdicts[]>; // of the chains on hidden tests and the tests written for one of them
  baseline: Ref<SuiteVerdicts[]>; // of the chains on baseline tests
  attacks: Ref<SuiteVerdicts[]>; // of the base model's chains on hidden tests and tests written for them
}
export interface MeasureEvaluationOutput {
  results: Ref<ProblemResult[]>;
  metrics: Partial<Record<MetricName, number>>;
}
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

export interface CollectSolutionsInput {
  run: RunRef;
  chains: Ref<Chain[]>;
  verdicts: Ref<SuiteVerdicts[]>;
  tests?: Ref<TestBatch>;
}
export interface CollectSolutionsOutput {
  solutions: Ref<Solution[]>;
  views: Ref<ChainView[]>;
  solved: number; // problems with a sample that passes every test
  problems: number;
}
