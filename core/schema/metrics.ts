// The records in a run's metrics/ folder: policy updates, evaluations and control requests.
import { z } from 'zod';
import { refTo } from '../base/ref.js';
import type { ReplayBuffer } from '../rewards/archive.js';
import { OUTCOME_NAMES } from '../rewards/outcomes.js';
import { PHASES } from '../run/schedule.js';
import { answerSharesSchema, warningSchema } from './answers.js';
import { type Chain, roleSchema, stageSchema, type TestBatch } from './chain.js';
import type { RunConfig } from './config.js';
import type { ProblemSet } from './problem.js';
import { evaluationRatesSchema } from './run.js';
import { policyStatsSchema, type Trajectory } from './trajectory.js';
import type { SuiteVerdicts } from './verdicts.js';

const rate = z.number().min(0).max(1);

/** Standard errors of means over the problems or targets of a batch, by name. Absent if there are fewer than two. */
const standardErrorsSchema = z.record(z.string(), z.number().nonnegative()).optional();

/** Fields of steps and evaluations. Records of earlier versions have neither. */
const answerFields = {
  answers: z.partialRecord(roleSchema, answerSharesSchema).optional(), // one entry for each role that was sampled
  problems: z.int().positive().optional(), // how many problems the generator answered
  warnings: z.array(warningSchema).optional(), // absent if nothing needs a change
};

/** Statistics of the rewards of one step, before the update. */
const rewardMetricsSchema = z.strictObject({
  reward: z.number(), // mean over all samples
  rewardStd: z.number(),
  passRate: rate, // mean fraction of passed tests, baseline and valid generated ones
  baselinePassRate: rate,
  generatedPassRate: rate.optional(), // valid generated tests only; absent without such a test
  validity: rate.optional(), // share of valid tests among the generated ones
  bugCatchRate: rate.optional(), // share of turns with a valid test that the program fails
  uniqueInputs: rate.optional(), // the distinct inputs of all groups, divided by the number of generated tests
  outcomes: z.partialRecord(z.enum(OUTCOME_NAMES), z.int()), // how many samples have each outcome
  suiteSize: z.number(), // mean number of tests
  standardErrors: standardErrorsSchema,
});
export type RewardMetrics = z.infer<typeof rewardMetricsSchema>;

/** What else a step shows about its samples. No reward depends on it. Records of earlier versions have none of it. */
const stepFiguresSchema = z
  .strictObject({
    groups: z.int().nonnegative(), // the number of groups: one per problem, or one per target of tests
    allRightGroups: z.int().nonnegative(), // groups whose programs all pass the suite, or whose turns all catch the program
    allWrongGroups: z.int().nonnegative(), // groups in which no program passes the suite, or no turn catches the program
    allEqualGroups: z.int().nonnegative(), // groups whose samples all have the same results, test by test
    // only in generator steps:
    programTokens: z.number(), // mean length of answers with a program, without cut answers; absent if all are cut
    literalRate: rate, // share of programs that contain a large value of their tests, see core/parse/telling.ts
    // only in discriminator steps:
    termShares: z.record(z.string(), rate), // the share of each term of the reward in the sum of absolute terms
    // only with `reference: none`:
    voteAgreement: rate, // weight of the programs that agree on an answer, mean over generated inputs
    voteDropped: rate, // share of generated inputs without an answer that counts
    voteErrors: rate, // share of given tests on which the majority is wrong; if it rises, programs make the same mistakes
  })
  .partial();
export type StepFigures = z.infer<typeof stepFiguresSchema>;

/** metrics/<step>.json */
export const stepMetricsSchema = z.strictObject({
  kind: z.literal('step'),
  step: z.int().positive(), // policy updates in the whole run, including this one
  stage: stageSchema,
  phase: z.enum(PHASES),
  epoch: z.int(),
  role: roleSchema,
  ...rewardMetricsSchema.shape,
  ...stepFiguresSchema.shape,
  ...answerFields,
  refillRounds: z.int().nonnegative().optional(), // only in records of 0.3.0: how often a step drew further problems
  sandboxFaultRate: rate.optional(), // share of the attempts to use the sandbox that failed; absent if none did
  update: policyStatsSchema,
  rows: z.int(), // sequences in the update
  learningRate: z.number(),
  sampledTokens: z.int(),
  tokensPerSecond: z.number(), // speed of generation
  seconds: z.number(), // time of all activities of the step
  /** The inputs and outputs of the rewards, for `gauntlet replay`. */
  artifacts: z.strictObject({
    config: refTo<RunConfig>(),
    problems: refTo<ProblemSet>(),
    verdicts: refTo<SuiteVerdicts[]>(),
    chains: refTo<Chain[]>().optional(),
    tests: refTo<TestBatch>().optional(),
    replayBuffer: refTo<ReplayBuffer>(),
    trajectories: refTo<Trajectory[]>(),
  }),
});
export type StepMetrics = z.infer<typeof stepMetricsSchema>;

/** metrics/<step>.json of a step of the warm start. Losses are mean cross entropies of answer tokens, in nats. */
const supervisedMetricsSchema = z.strictObject({
  kind: z.literal('supervised'),
  step: z.int().positive(),
  role: roleSchema,
  loss: z.number(), // mean over the step's examples, each before the update of its minibatch
  validationLoss: z.number().optional(), // measured on the validation split after the step; absent if that gives no example
  update: policyStatsSchema,
  rows: z.int(), // how many examples were trained
  learningRate: z.number(),
  seconds: z.number(),
});
export type SupervisedMetrics = z.infer<typeof supervisedMetricsSchema>;

/** metrics/<step>-validation.json after an epoch (step 0: the base model), metrics/<step>-test.json before and after. */
const evaluationMetricsSchema = z.strictObject({
  kind: z.literal('evaluation'),
  step: z.int().nonnegative(),
  split: z.enum(['validation', 'test']),
  checkpoint: z.string(), // its name, or 'base'
  rates: evaluationRatesSchema.partial(),
  standardErrors: standardErrorsSchema, // one for each rate
  ...answerFields,
  score: z.number().optional(), // validation only: 0.7 · (mean pass rate − 0.5) + 0.3 · test validity
  seconds: z.number(),
});

/** metrics/<step>-control-<index>.json: a control request or an exceeded budget, applied after `step`. */
export const controlMetricsSchema = z.strictObject({
  kind: z.literal('control'),
  step: z.int().nonnegative(), // how many policy updates were done
  index: z.int().nonnegative(), // the number of the control record
  stage: z.union([stageSchema, z.literal(0)]), // 0: the warm start
  next: z.int().nonnegative(), // index of the next step in the stage's plan
  action: z.enum(['pause', 'resume', 'stop', 'change', 'skip', 'budget']),
  fields: z.record(z.string(), z.unknown()).optional(), // what a change sets
  reason: z.string().optional(), // why a step was skipped, or which budget was exceeded
  spent: z.strictObject({ tokens: z.number(), seconds: z.number(), executions: z.number() }).optional(), // what a skipped step used
  at: z.string(), // ISO 8601
});
export type ControlMetrics = z.infer<typeof controlMetricsSchema>;

export const runMetricsSchema = z.discriminatedUnion('kind', [
  stepMetricsSchema,
  supervisedMetricsSchema,
  evaluationMetricsSchema,
  controlMetricsSchema,
]);
export type RunMetrics = z.infer<typeof runMetricsSchema>;

/** The records of a kind, sorted by step. */
export function recordsOf<K extends RunMetrics['kind']>(metrics: readonly RunMetrics[], kind: K) {
  const isOfKind = (record: RunMetrics): record is Extract<RunMetrics, { kind: K }> => record.kind === kind;
  return metrics.filter(isOfKind).sort((a, b) => a.step - b.step);
}
