// Checkpoint metadata. It is written last, so a folder without metadata is not a checkpoint.
import { z } from 'zod';
import { evaluationRatesSchema } from './run.js';

export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'not a digest');

/** Stage 0, epoch 0 is the state before any update. */
export const checkpointNameSchema = z
  .string()
  .regex(/^checkpoint_stage_\d_epoch_\d{1,6}$/, 'not the name of a checkpoint');

export function checkpointName(stage: number, epoch: number): string {
  return `checkpoint_stage_${stage}_epoch_${epoch}`;
}

export const checkpointMetadataSchema = z.strictObject({
  runId: z.string(),
  name: checkpointNameSchema,
  stage: z.int().min(0).max(5),
  epoch: z.int().nonnegative(), // the number of the epoch within its stage
  step: z.int().nonnegative(), // how many policy updates were done in the whole run
  score: z.number(), // 0.7 · (mean pass rate − 0.5) + 0.3 · test validity, on the validation split
  validation: evaluationRatesSchema.partial(), // the rates that the epoch measured
  files: z.record(z.string(), digestSchema), // path inside the checkpoint's folder → digest of its bytes
  configDigest: digestSchema,
  modelDigest: z.string(),
  discriminatorModelDigest: z.string().optional(), // present if the discriminator has its own base
  splitDigest: z.string(),
  codeVersion: z.string(),
  seed: z.int().nonnegative(),
  digest: digestSchema, // the digest of the canonical JSON of all other fields
});
export type CheckpointMetadata = z.infer<typeof checkpointMetadataSchema>;

/** checkpoint_best and checkpoint_latest. */
export const checkpointPointerSchema = z.strictObject({
  name: checkpointNameSchema,
  score: z.number(),
  digest: digestSchema, // the digest of run, pointer, name and score
});
export type CheckpointPointer = z.infer<typeof checkpointPointerSchema>;
