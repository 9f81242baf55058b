// The progress of a run (the `progress` query) and its result.
import { z } from 'zod';
import { PHASES } from '../run/schedule.js';
import { warningSchema } from './answers.js';
import { stageSchema } from './chain.js';

const rate = z.number().min(0).max(1);

export const evaluationRatesSchema = z.strictObject({
  passRate: rate, // sampled programs that pass all hidden tests
  greedyPassRate: rate,
  testValidity: rate.optional(), // absent: no problem has a reference that could judge tests
  bugCatchRate: rate.optional(),
});
export type EvaluationRates = z.infer<typeof evaluationRatesSchema>;

/** A failure that a retry cannot fix. */
const runFailureSchema = z.strictObject({
  activity: z.string(),
  code: z.string(),
  message: z.string(),
  inStep: z.boolean(), // whether it belongs to a training step, which can be skipped
});
export type RunFailure = z.infer<typeof runFailureSchema>;

/** Whether a resumed run would fail again, because it keeps its configuration. */
export const isFinal = (code?: string): boolean => code === 'BAD_CONFIG' || code === 'RUN_EXISTS';

/** The answer of the query `progress` of trainFullPipeline. */
export const runProgressSchema = z.strictObject({
  runId: z.string(),
  state: z.enum(['preparing', 'training', 'evaluating', 'paused', 'waiting', 'completed', 'failed']),
  requested: z.array(z.enum(['pause', 'resume', 'stop', 'change'])).optional(), // requests that are accepted, but not in effect yet
  failure: runFailureSchema.optional(), // only set while the run waits for a decision, and when it has failed
  stage: z.union([stageSchema, z.literal(0)]).optional(), // 0: the warm start
  phase: z.enum(PHASES).optional(),
  epoch: z.int().optional(),
  step: z.int(), // how many policy updates are done in the whole run
  totalSteps: z.int(),
  reward: z.number().optional(), // mean reward of the last step
  passRate: rate.optional(), // measured in the last generator step
  validity: rate.optional(), // share of the last step's tests that are valid
  tokensPerSecond: z.number().optional(), // speed of generation in the last step
  quarantined: z.strictObject({ problems: z.int(), of: z.int() }).optional(), // left out; quarantine.json has the reasons
  warnings: z.array(warningSchema).optional(), // the warnings of the last step
  best: z.strictObject({ name: z.string(), score: z.number() }).optional(),
  validation: evaluationRatesSchema.partial().optional(), // the latest rates on the validation split
});
export type RunProgress = z.infer<typeof runProgressSchema>;

/** The result of trainFullPipeline and the last line of `gauntlet train --json`. Rates on the test split. */
export const runResultSchema = z.strictObject({
  runId: z.string(),
  seed: z.int(),
  problems: z.int().positive().optional(), // problems of the test split; results of 0.3.0 lack it
  before: evaluationRatesSchema,
  warmStart: evaluationRatesSchema.optional(), // after the warm start, if the run had one
  after: evaluationRatesSchema, // rates of the best checkpoint
  trainingSeconds: z.number(),
  digests: z.strictObject({ generator: z.string(), discriminator: z.string() }), // digests of the best checkpoint's adapters
  best: z.string(), // name of the best checkpoint
  stopped: z.string().optional(), // why it stopped before the end of its schedule
  report: z.string().optional(), // path of the HTML report, if one was rendered
});
export type RunResult = z.infer<typeof runResultSchema>;
