// What a report is drawn from: the records of a run as they lie in the store, and nothing that needs the machine.
import { z } from 'zod';
import type { ChainView } from '../core/schema/chainView.js';
import type { CheckpointMetadata } from '../core/schema/checkpoint.js';
import { type RunConfig, runConfigSchema } from '../core/schema/config.js';
import type { RunMetrics } from '../core/schema/metrics.js';
import { evaluationRatesSchema, type RunResult } from '../core/schema/run.js';

/** The same run without a discriminator, recorded once: how it was made, and its curve on the validation split. */
export const controlSchema = z.strictObject({
  config: runConfigSchema, // equal to the run's but for discriminator.enabled
  digest: z.string(), // of its best generator adapter
  command: z.string(), // repeats it
  points: z.array(
    z.strictObject({ step: z.int().nonnegative(), rates: evaluationRatesSchema.partial() }), // policy updates of its own
  ),
  before: evaluationRatesSchema.partial().optional(), // on the test split
  after: evaluationRatesSchema.partial().optional(), // on the test split, its best checkpoint
});
export type Control = z.infer<typeof controlSchema>;

export interface ReportData {
  runId: string;
  config: RunConfig;
  digests: { config: string; model: string; discriminatorModel?: string; data: string }; // as in the manifest
  codeVersion: string;
  metrics: RunMetrics[]; // of the run so far, in any order
  checkpoints: CheckpointMetadata[];
  result?: RunResult; // absent while the run goes on
  control?: Control;
  chain?: { view: ChainView; by: string }; // `by`: the checkpoint that wrote it, or 'base'
}
