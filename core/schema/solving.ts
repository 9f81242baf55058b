// The input of the workflow solveProblems.
import { z } from 'zod';
import { chainStagesSchema, promptsSchema, QUANTIZATIONS, templateArgumentsSchema } from './config.js';
import { SPLITS } from './problem.js';

export const solveProblemsInputSchema = z.strictObject({
  source: z.string().optional(), // built-in problems ('tiny' by default) or a problem file
  split: z.enum(SPLITS).optional(), // default: test of built-in problems, all problems of a file
  limit: z.int().positive().optional(), // how many of the first problems are solved; default: all
  preset: z.string().optional(), // ignored with a checkpoint
  model: z.string().optional(),
  quantization: z.enum(QUANTIZATIONS).optional(), // of the weights; default: the preset's or the run's
  stages: chainStagesSchema.optional(), // the stages of a chain; default: the preset's or the run's
  prompts: promptsSchema.optional(), // default: the preset's or the run's
  templateArguments: templateArgumentsSchema.optional(), // default: the preset's or the run's
  /** Absent: the base model. `name`: 'best', 'latest' or a checkpoint's name. */
  checkpoint: z.strictObject({ runId: z.string(), name: z.string() }).optional(),
  untrained: z.boolean().optional(), // the settings of the checkpoint's run, without its adapters
  samples: z.int().positive().optional(), // programs per problem; default 1
  temperature: z.number().nonnegative().optional(), // default: 0, which is greedy
  tests: z.boolean().optional(), // the discriminator writes tests for every stage
  seed: z.int().nonnegative().optional(),
});
export type SolveProblemsInput = z.infer<typeof solveProblemsInputSchema>;

/** A program, and how many of the tests of its problem it passes. */
export interface Solution {
  problemId: string;
  sample: number;
  code: string;
  passed: number;
  tests: number;
}
