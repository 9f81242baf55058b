// The activities of a run. Each is declared once, here: its queue, the environment that it needs, the version of its results,
// its input and its output. The compiler then asks for its implementation, in activities/index.ts, or for its sequence, in
// method/sequences.ts.
import type { Usage } from '../core/budget.js';
import type { EnvironmentPart } from '../core/schema/environment.js';
import type { StepFigures } from '../core/schema/metrics.js';
import type * as t from './types.js';

/** Which workers run an activity: those with a model, those with a sandbox, or any. */
export type Queue = 'gpu' | 'sandbox' | 'cpu';

export interface Plan<I, O> {
  queue: Queue;
  /** Compared with the records of the run before the activity works for it. */
  needs?: EnvironmentPart;
  /** From 1 to 5; default 3. Of the activities that wait for a worker, those with the lowest number start first. */
  priority?: number;
  /** Its result is stored, and computed once for equal inputs. Raise it whenever equal inputs give another output. */
  version?: number;
  /** Never set: the types of input and output. */
  types?: (input: I) => O;
}

interface Sequence<I, O> extends Plan<I, O> {
  isSequence: true;
}

/** Runs on every call, because it writes a file of the run, or is as fast as the look-up of a result. */
const effect = <I, O>(plan: Omit<Plan<I, O>, 'version'>): Plan<I, O> => plan;

/** Computes its result once. `seconds` is the time of that computation. */
const result = <I, O>(version: number, plan: Plan<I, O>): Plan<I, t.Timed<O>> =>
  ({ ...plan, version }) as Plan<I, t.Timed<O>>;

/** Calls other activities, which store what they compute. So a retry repeats only what is unfinished. */
const sequence = <I, O>(plan: Pick<Plan<I, O>, 'queue' | 'priority'>): Sequence<I, t.Timed<O>> => ({
  ...plan,
  isSequence: true,
});

export const ACTIVITIES = {
  // before and between the steps
  prepareRun: effect<t.PrepareRunInput, t.PrepareRunOutput>({ queue: 'gpu' }),
  quarantineProblems: effect<t.QuarantineProblemsInput, t.QuarantineProblemsOutput>({
    queue: 'sandbox',
    needs: 'sandbox',
  }),
  reviseRun: effect<t.ReviseRunInput, t.ReviseRunOutput>({ queue: 'cpu' }),

  // what the models write
  generateChains: sequence<t.GenerateChainsInput, t.GenerateChainsOutput>({ queue: 'gpu' }),
  sampleChains: sequence<t.SampleChainsInput, t.SampleChainsOutput>({ queue: 'gpu' }),
  generateReasoning: result<t.GenerateReasoningInput, t.GenerateReasoningOutput>(6, { queue: 'gpu', needs: 'engine' }),
  generateTests: result<t.GenerateTestsInput, t.GenerateTestsOutput>(4, { queue: 'gpu', needs: 'engine' }),

  // what the sandbox says about it
  selectChains: result<t.SelectChainsInput, t.SelectChainsOutput>(6, { queue: 'sandbox', needs: 'sandbox' }),
  executeSuite: result<t.ExecuteSuiteInput, t.ExecuteSuiteOutput>(6, { queue: 'sandbox', needs: 'sandbox' }),

  completeBatch: result<t.CompleteBatchInput, t.CompleteBatchOutput>(1, { queue: 'cpu' }),

  // rewards and PPO
  trainPolicy: sequence<t.TrainPolicyInput, t.TrainPolicyOutput>({ queue: 'gpu' }),
  computeRewards: result<t.ComputeRewardsInput, t.ComputeRewardsOutput>(7, { queue: 'cpu' }),
  scoreOldPolicy: result<t.ScoreOldPolicyInput, t.ScoreOldPolicyOutput>(4, { queue: 'gpu', needs: 'engine' }),
  scoreShard: result<t.ScoreShardInput, t.ScoreShardOutput>(2, { queue: 'gpu', needs: 'engine' }),
  updatePolicy: result<t.UpdatePolicyInput, t.UpdatePolicyOutput>(4, { queue: 'gpu', needs: 'engine' }),
  computeGradients: effect<t.ComputeGradientsInput, t.Timed<object>>({ queue: 'gpu', needs: 'engine' }),
  applyGradients: effect<t.ApplyGradientsInput, object>({ queue: 'gpu', needs: 'engine' }),
  removeUpdateFiles: effect<{ run: t.RunRef }, object>({ queue: 'cpu' }),

  // the warm start
  trainOnExamples: sequence<t.TrainOnExamplesInput, t.TrainOnExamplesOutput>({ queue: 'gpu' }),
  answerFreshInputs: result<t.AnswerFreshInputsInput, t.AnswerFreshInputsOutput>(2, {
    queue: 'sandbox',
    needs: 'sandbox',
  }),
  writeExamples: result<t.WriteExamplesInput, t.WriteExamplesOutput>(4, { queue: 'cpu' }),
  scoreExamples: result<t.ScoreExamplesInput, t.ScoreExamplesOutput>(4, { queue: 'gpu', needs: 'engine' }),

  // evaluations, checkpoints and records
  generateEvaluation: sequence<t.GenerateEvaluationInput, t.GenerateEvaluationOutput>({ queue: 'gpu' }),
  // it overlaps the next step, whose programs go first
  judgeEvaluation: sequence<t.JudgeEvaluationInput, t.JudgeEvaluationOutput>({ queue: 'sandbox', priority: 4 }),
  summariseEvaluation: result<t.SummariseEvaluationInput, t.EvaluationSummary>(2, { queue: 'cpu' }),
  measureEvaluation: result<t.MeasureEvaluationInput, t.MeasureEvaluationOutput>(4, { queue: 'cpu' }),
  measureStep: effect<t.MeasureStepInput, StepFigures>({ queue: 'cpu' }),
  countAnswers: effect<t.CountAnswersInput, t.CountAnswersOutput>({ queue: 'cpu' }),
  commitCheckpoint: effect<t.CommitCheckpointInput, object>({ queue: 'cpu' }),
  recordMetrics: effect<t.RecordMetricsInput, { file: string }>({ queue: 'cpu' }),
  renderReport: effect<t.RenderReportInput, t.RenderReportOutput>({ queue: 'cpu' }),

  // solving
  prepareSolving: effect<t.PrepareSolvingInput, t.PrepareSolvingOutput>({ queue: 'gpu' }),
  collectSolutions: result<t.CollectSolutionsInput, t.CollectSolutionsOutput>(4, { queue: 'cpu' }),
};

export type Name = keyof typeof ACTIVITIES;
export type SequenceName = {
  [N in Name]: (typeof ACTIVITIES)[N] extends { isSequence: true } ? N : never;
}[Name];
type Types<N extends Name> = NonNullable<(typeof ACTIVITIES)[N]['types']>;
export type Input<N extends Name> = Parameters<Types<N>>[0];
export type Output<N extends Name> = ReturnType<Types<N>>;

/** Calls an activity. */
export type Call = <N extends Name>(name: N, input: Input<N>) => Promise<Output<N>>;

/** One function for each activity. */
export type Activities = { [N in Name]: (input: Input<N>) => Promise<Output<N>> };

export const callOf =
  (activities: Activities): Call =>
  (name, input) =>
    activities[name](input);

/** The usage that an output reports. */
export function usageOf(output: object): Usage {
  const { tokens = 0, seconds = 0, executions = 0 } = output as Partial<Usage>;
  return { tokens, seconds, executions };
}
