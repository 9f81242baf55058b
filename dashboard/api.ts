// What the pages are given: the JSON of every resource. data/resources.ts lists their paths. Types only, because the
// pages run in a browser and import nothing else.

export type Role = 'generator' | 'discriminator';
export type Verdict = 'pass' | 'fail' | 'error' | 'timeout' | 'memory' | 'output';

/** `runs` */
export interface RunList {
  runs: RunSummary[]; // the one that recorded something last comes first
}

export interface RunSummary {
  id: string;
  state: 'finished' | 'stopped' | 'unfinished' | 'damaged';
  problem?: string; // why it is damaged
  model: string;
  stage?: number; // 0: the warm start
  phase?: string;
  step: number; // policy updates on record
  totalSteps: number;
  bestScore?: number;
  best?: string; // name of the checkpoint with that score
  sampledTokens: number;
  seconds: number; // sum over all steps
  secondsLeft?: number; // set if the run has steps and is unfinished
  recordedAt: number; // ms since 1970
  curves: { passRate: number[]; validity: number[] }; // a few means over all steps
}

/** `runs/ID` */
export interface RunView extends RunSummary {
  facts: { name: string; value: string }[];
  config: unknown; // with all recorded changes
  bands: Band[];
  charts: Chart[];
  steps: StepRow[];
  warnings: { field: string; text: string }[]; // about answers that cannot be judged
  events: RunEvent[];
  checkpoints: { name: string; step: number; score: number; digest: string }[];
  rates: RateRow[]; // on the test split; empty while the run goes on
  example?: ExampleView;
}

export interface RateRow {
  title: string;
  before?: number;
  warmStart?: number; // after the warm start
  after?: number; // that of the best checkpoint
}

/** One chain in full: its answers, the tests that were written for each, and the rewards of both roles. */
export interface ExampleView extends Rewarded {
  by?: string; // checkpoint
  problemId: string;
  description: string;
  signature: string;
  stages: ExampleStage[];
  given: Omit<WrittenTest, 'outcome'>[]; // baseline tests of the problem
}

/** The reward is that of the tests. */
export interface ExampleStage extends Rewarded {
  stage: number;
  title: string;
  text: string;
  tests: WrittenTest[];
  lost: number; // unreadable or missing tests
}

/** Policy updates start + 1 … end. */
export interface Band {
  stage: number;
  phase: string;
  start: number;
  end: number;
  done: number; // finished updates
}

export interface Chart {
  id: string;
  group: string; // heading
  title: string;
  percent: boolean;
  lines: { name: string; points: Point[]; colour?: string }[]; // colour: default is the name
}

export interface Point {
  step: number;
  value: number;
  interval?: number; // half of the 95 % interval of a mean over problems
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
  outcomes: Record<string, number>; // samples with each
  rows: number;
}

/** A control request, an exceeded budget or a failed step that was skipped; after `step`. */
export interface RunEvent {
  step: number;
  kind: string;
  text: string;
  at: string;
}

/** `runs/ID/steps/N` */
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
  stage?: number; // whose answer the tests are written for
  tests: number; // size of the suite
  samples: SampleSummary[];
}

export interface SampleSummary {
  sample: number;
  reward: number;
  outcome: string; // as in `Rewarded`
  advantage: number; // of the whole sequence
  good: number; // passed tests of a program, valid tests of a discriminator's sample
  of: number;
  empty?: boolean; // no program, or no readable test
}

export interface ShownCase {
  call: string;
  expected: string;
  origin: 'baseline' | 'book' | 'generated';
}

/** `runs/ID/steps/N/groups/INDEX` */
export interface GroupView {
  run: string;
  step: number;
  role: Role;
  index: number;
  problem: { id: string; description: string; signature: string; difficulty: string; reference?: string };
  suite: ShownCase[];
  programs: ProgramView[]; // the samples of the generator, or the one program that tests are written for
  turns: TestTurnView[]; // the samples of the discriminator, or tests written for the programs
}

export interface ProgramView extends Rewarded {
  sample: number;
  stages: {
    stage: number;
    title: string;
    text: string;
    truncated: boolean;
  }[];
  program: string;
  verdicts: Verdict[]; // one per test of the suite
}

export interface TestTurnView extends Rewarded {
  sample: number;
  chainSample: number; // the program it was written for
  stage: number;
  text: string;
  truncated: boolean;
  tests: WrittenTest[];
  lost: number; // unreadable or missing tests
}

export interface WrittenTest {
  call: string;
  expected: string;
  outcome: 'caught' | 'valid' | 'corrected' | 'invalid';
  verdict?: Verdict; // that of the program it was written for
}

/** Absent for what a step does not train. */
export interface Rewarded {
  reward?: number;
  outcome?: string; // why, in one word: docs/method.md lists them
  /** value = weight · share; the sum of the values is the reward, unless that exceeds −1 … 1. */
  terms?: { name: string; weight: number; share: number; value: number; reason?: string }[]; // reason: its share in words
  advantage?: number;
}

/** `runs/ID/problems`: every group of every step */
export interface ProblemHistory {
  problems: { id: string; points: { step: number; role: Role; group: number; reward: number; good: number }[] }[];
}

/** `runs/ID/stages`: tests by the stage whose answer they were written for, over all steps of the discriminator */
export interface StageHistory {
  stages: {
    stage: number;
    samples: number;
    caught: number; // samples with a valid test that the program fails
    tests: number;
    valid: number;
  }[];
}

/** `diff/ID/ID` */
export interface DiffView {
  runs: [string, string];
  facts: { name: string; values: [string, string] }[]; // configuration, models, problems, code: those that differ
  charts: Chart[]; // one for each line of a chart, with the curves of both sides
  commonSteps: number;
  tokens?: TokenDifference; // absent: all common steps sampled the same tokens
  reward?: RewardDifference; // absent: all rewards are equal
}

/** Where sampled tokens differ first. */
export interface TokenDifference {
  step: number;
  role?: Role; // who sampled them
  what: string;
  problemId?: string;
  problems?: [string, string]; // instead of `problemId` if the runs sampled different ones
  sample?: number;
  stage?: number;
  token?: number; // index in the prompt or the answer of the stage
  ids?: [number | undefined, number | undefined];
  texts?: [string, string]; // around the first character that differs
}

/** Where rewards differ first. */
export interface RewardDifference {
  step: number;
  what: string;
  group?: number;
  problemId?: string;
  problems?: [string, string]; // instead of `problemId` if the runs sampled different ones
  sample?: number;
  values?: [number | undefined, number | undefined];
}

/** `runs/ID/steps/N/groups/INDEX/tokens` */
export interface TokensView {
  hasText: boolean; // false: the tokenizer of the model is not on this machine
  hasLogprobs: boolean; // false: they were removed from the store
  clip?: [low: number, high: number]; // range of the ratio; absent: ratios are not in the store
  samples: { sample: number; rows: TokenRow[] }[];
}

/** One trained sequence; lists have one entry per token. */
export interface TokenRow {
  ids: number[];
  texts?: string[];
  mask: number[]; // 1: trained
  advantage?: number; // of all trained tokens; absent: it had none, so it was not trained
  advantages?: number[]; // with remote rollouts
  logprobs?: number[]; // of the policy before the update
  referenceLogprobs?: number[]; // by the base; set with a KL penalty
  entropies?: number[]; // nats of the policy before the update; 0 if the token is not trained
  ratios?: number[]; // probability in the last epoch over that before the update; 0 if the token is not trained
  clipped?: number[]; // 1: the clip took the token's gradient away
}

/** What a report embeds. */
export interface ReportContents {
  run: string;
  rolloutBytes: number; // the limit of its rollouts
  resources: Record<string, unknown>; // path → content: the run, then steps and groups, the newest first
}

/** `versions` */
export interface Versions {
  versions: Record<string, string>; // of a run id: a text that changes whenever the run records something
}

/** `live`: the runs that the Temporal server has and that have not completed */
export interface LiveStates {
  problem?: string; // why their states are unknown
  states: Record<string, LiveState>; // run id → state
}

export interface LiveState {
  state: string;
  isOpen: boolean; // it can still record something
}

/** `live/ID`: a run on the Temporal server */
export interface LiveView {
  problem?: string; // why this page cannot control the run. If set, nothing else is known
  state?: string; // absent: as in the store
  notes: string[]; // what it waits for, what is being retried
  failure?: RunEvent; // waits for a decision
  actions: ControlRequest['action'][]; // that make sense now
  url?: string; // in the Web UI of Temporal
}

/** The body of POST `control/ID`. `retry`, `skip` and `abort` decide about a failed activity. */
export interface ControlRequest {
  action: 'pause' | 'resume' | 'stop' | 'retry' | 'skip' | 'abort';
}

export interface ControlAnswer {
  said: string; // what will happen, in one line
}
