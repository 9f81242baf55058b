// The JSON that the pages receive for each resource. data/resources.ts maps paths to resources. This file has only
// types, because the pages run in a browser and may import nothing else from the server.

export type Role = 'generator' | 'discriminator';
export type Verdict = 'pass' | 'fail' | 'error' | 'timeout' | 'memory' | 'output';

/** The resource `runs`. */
export interface RunList {
  runs: RunSummary[]; // sorted: the run with the latest record comes first
}

export interface RunSummary {
  id: string;
  state: 'finished' | 'stopped' | 'unfinished' | 'damaged';
  problem?: string; // says why a run is damaged
  model: string;
  stage?: number; // 0 stands for the warm start
  phase?: string;
  step: number; // the number of recorded policy updates
  totalSteps: number;
  bestScore?: number;
  best?: string; // the name of the checkpoint with the best score
  sampledTokens: number;
  seconds: number; // the sum over all steps
  secondsLeft?: number; // set only if the run has steps and is unfinished
  recordedAt: number; // milliseconds since 1970
  curves: { passRate: number[]; validity: number[] }; // each shortened to a few means
}

/** The resource `runs/ID`. */
export interface RunView extends RunSummary {
  facts: { name: string; value: string }[];
  config: unknown; // includes all recorded changes
  bands: Band[];
  charts: Chart[];
  steps: StepRow[];
  warnings: { field: string; text: string }[]; // about answers that cannot be judged
  events: RunEvent[];
  checkpoints: { name: string; step: number; score: number; digest: string }[];
  rates: RateRow[]; // measured on the test split; empty until the run ends
  example?: ExampleView;
}

export interface RateRow {
  title: string;
  before?: number;
  warmStart?: number; // measured after the warm start
  after?: number; // measured with the best checkpoint
}

/** One chain in full: its answers, the tests that were written for each, and the rewards of both roles. */
export interface ExampleView extends Rewarded {
  by?: string; // the checkpoint that wrote the chain
  problemId: string;
  description: string;
  signature: string;
  stages: ExampleStage[];
  given: Omit<WrittenTest, 'outcome'>[]; // the baseline tests of the problem
}

/** One stage of a chain. Its reward is the reward of the tests, not of the answer. */
export interface ExampleStage extends Rewarded {
  stage: number;
  title: string;
  text: string;
  tests: WrittenTest[];
  lost: number; // counts tests that are unreadable or missing
}

/** A phase of the schedule: the policy updates from `start + 1` to `end`. */
export interface Band {
  stage: number;
  phase: string;
  start: number;
  end: number;
  done: number; // the number of finished updates
}

export interface Chart {
  id: string;
  group: string; // the heading above the chart
  title: string;
  percent: boolean;
  lines: { name: string; points: Point[]; colour?: string }[]; // `colour` defaults to the name
}

export interface Point {
  step: number;
  value: number;
  low?: number; // where the 95 % interval begins
  high?: number; // where it ends
  problems?: number; // how many problems were evaluated
}

export interface StepRow {
  step: number;
  stage: number;
  phase: string;
  epoch: number;
  role: Role;
  reward: number;
  passRate: number;
  validity?: number;
  bugCatchRate?: number;
  outcomes: Record<string, number>; // outcome → number of samples
  rows: number;
}

/** A control request, an exceeded budget or a skipped step. It took effect after `step`. */
export interface RunEvent {
  step: number;
  kind: string;
  text: string;
  at: string;
}

/** The resource `runs/ID/steps/N`. */
export interface StepView extends StepRow {
  run: string;
  previous?: number;
  next?: number;
  groups: GroupSummary[];
}

/** The samples of one problem (generator), or of one program of a problem (discriminator). */
export interface GroupSummary {
  index: number;
  problemId: string;
  stage?: number; // the tests are written for the answer of this stage
  tests: number; // the size of the suite
  samples: SampleSummary[];
}

export interface SampleSummary {
  sample: number;
  reward: number;
  outcome: string; // see `Rewarded`
  advantage: number; // the advantage of the whole sequence
  good: number; // counts passed tests (generator) or valid tests (discriminator)
  of: number; // counts all tests of the sample
  empty?: boolean; // true if there is no program or no readable test
}

export interface ShownCase {
  call: string;
  expected: string;
  origin: 'baseline' | 'book' | 'generated';
}

/** The resource `runs/ID/steps/N/groups/INDEX`. */
export interface GroupView {
  run: string;
  step: number;
  role: Role;
  index: number;
  problem: { id: string; description: string; signature: string; difficulty: string; reference?: string };
  suite: ShownCase[];
  programs: ProgramView[]; // the samples of the generator, or the one program that the discriminator tests
  turns: TestTurnView[]; // the samples of the discriminator, or the tests written for the programs
}

export interface ProgramView extends Rewarded {
  sample: number;
  stages: { stage: number; title: string; text: string; truncated: boolean }[];
  program: string;
  verdicts: Verdict[]; // has one entry per test of the suite
}

export interface TestTurnView extends Rewarded {
  sample: number;
  chainSample: number; // the sample whose program the tests are written for
  stage: number;
  text: string;
  truncated: boolean;
  tests: WrittenTest[];
  lost: number; // counts tests that are unreadable or missing
}

export interface WrittenTest {
  call: string;
  expected: string;
  outcome: 'caught' | 'valid' | 'corrected' | 'invalid';
  verdict?: Verdict; // the verdict on the program that the test was written for
}

/** The credit of a sample. All fields are absent if the step does not train its role. */
export interface Rewarded {
  reward?: number;
  outcome?: string; // explains the reward in one word; docs/method.md lists the words
  /** value = weight · share. The reward is the sum of the values, limited to −1 … 1. `reason` explains the share. */
  terms?: { name: string; weight: number; share: number; value: number; reason?: string }[];
  advantage?: number;
}

/** The resource `runs/ID/problems`: every group of every step. */
export interface ProblemHistory {
  problems: {
    id: string;
    points: { step: number; role: Role; group: number; reward: number; good: number }[];
    change?: ProblemChange; // from the first group of programs to the last one
  }[];
}

/** Two groups of programs on the tests that both were judged with. Absent if there is no such test. */
export interface ProblemChange {
  tests: number;
  before: ProblemShare;
  after: ProblemShare;
}

export interface ProblemShare extends Point {
  group: number;
  programs: number;
  whole: number; // counts programs that pass all of these tests
}

/** The resource `runs/ID/stages`: counts over all discriminator steps, by the stage whose answer was tested. */
export interface StageHistory {
  stages: {
    stage: number;
    steps: [first: number, last: number];
    samples: number;
    caught: number; // counts samples with a valid test that the program fails
    low?: number; // the 95 % interval of the share of these samples
    high?: number;
    tests: number;
    valid: number;
  }[];
}

/** The resource `diff/ID/ID`. */
export interface DiffView {
  runs: [string, string];
  facts: { name: string; values: [string, string] }[]; // the inputs that differ
  charts: Chart[]; // has a chart for each line of the runs' charts, with the curves of both runs
  commonSteps: number;
  problems: { id: string; change: ProblemChange }[]; // the last groups of programs of the common steps
  tokens?: TokenDifference; // absent if all common steps sampled the same tokens
  reward?: RewardDifference; // absent if all rewards are equal
}

/** The first place where the sampled tokens of two runs differ. */
export interface TokenDifference {
  step: number;
  role?: Role; // the role that sampled the tokens
  what: string;
  problemId?: string;
  problems?: [string, string]; // set instead of `problemId` if the runs sampled different problems
  sample?: number;
  stage?: number;
  token?: number; // an index in the prompt or the answer of the stage
  ids?: [number | undefined, number | undefined];
  texts?: [string, string]; // the texts around the first character that differs
}

/** The first place where the rewards of two runs differ. */
export interface RewardDifference {
  step: number;
  what: string;
  group?: number;
  problemId?: string;
  problems?: [string, string]; // set instead of `problemId` if the runs sampled different problems
  sample?: number;
  values?: [number | undefined, number | undefined];
}

/** The resource `runs/ID/steps/N/groups/INDEX/tokens`. */
export interface TokensView {
  hasText: boolean; // false if the tokenizer of the model is not on this machine
  hasLogprobs: boolean; // false if the log-probs were removed from the store
  clip?: [low: number, high: number]; // the range of the ratio; absent if the store has no ratios
  samples: { sample: number; rows: TokenRow[] }[];
}

/** One trained sequence. Every list has one entry per token. */
export interface TokenRow {
  ids: number[];
  texts?: string[];
  mask: number[]; // 1 for a trained token
  advantage?: number; // shared by all trained tokens; absent if the sequence was not trained
  advantages?: number[]; // set with remote rollouts
  logprobs?: number[]; // computed by the policy before the update
  referenceLogprobs?: number[]; // computed by the base model; set with a KL penalty
  entropies?: number[]; // nats, of the policy before the update; 0 for a token that is not trained
  ratios?: number[]; // probability in the last epoch / probability before the update; 0 if not trained
  clipped?: number[]; // 1 if the clip removed the token's gradient
}

/** The data that a report embeds. */
export interface ReportContents {
  run: string;
  rolloutBytes: number; // the size limit of the embedded rollouts
  resources: Record<string, unknown>; // path → content
}

/** The resource `versions`. */
export interface Versions {
  versions: Record<string, string>; // run id → a text that changes whenever the run records something
}

/** The resource `live`: the runs on the Temporal server that have not completed. */
export interface LiveStates {
  problem?: string; // says why the states are unknown
  states: Record<string, LiveState>; // run id → state
}

export interface LiveState {
  state: string;
  isOpen: boolean; // true if the run can still record something
}

/** The resource `live/ID`: a run on the Temporal server. */
export interface LiveView {
  problem?: string; // says why the page cannot control the run; the other fields are then empty
  state?: string; // absent if the state in the store holds
  notes: string[]; // say what the run waits for and what it retries
  failure?: RunEvent; // a failure that waits for a decision
  actions: ControlRequest['action'][]; // the requests that the run would accept now
  url?: string; // the address of the run in Temporal's Web UI
}

/** The body of `POST control/ID`. `retry`, `skip` and `abort` decide about a failed activity. */
export interface ControlRequest {
  action: 'pause' | 'resume' | 'stop' | 'retry' | 'skip' | 'abort';
}

export interface ControlAnswer {
  said: string; // says in one line what will happen
}
