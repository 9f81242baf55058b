// The data of a report: the records of a run as the store holds them.
import { z } from 'zod';
import type { ChainView } from '../core/schema/chainView.js';
import type { CheckpointMetadata } from '../core/schema/checkpoint.js';
import { type RunConfig, runConfigSchema } from '../core/schema/config.js';
import type { RunMetrics } from '../core/schema/metrics.js';
import { evaluationRatesSchema, type RunResult } from '../core/schema/run.js';

/** A recorded run with the same configuration but without a discriminator, for comparison. */
export const controlSchema = z.strictObject({
  config: runConfigSchema, // the run's, except for discriminator.enabled
  digest: z.string(), // of its best generator adapter
  command: z.string(), // that repeats the run
  points: z.array(
    z.strictObject({ step: z.int().nonnegative(), rates: evaluationRatesSchema.partial() }), // its own policy updates
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
  metrics: RunMetrics[]; // in any order
  checkpoints: CheckpointMetadata[];
  result?: RunResult; // absent while the run goes on
  control?: Control;
  chain?: { view: ChainView; by: string }; // by: the checkpoint that wrote the chain, or 'base'
}
