// The result of `gauntlet evaluate` for one problem, and its record in the folder of the run.
import { z } from 'zod';
import { refTo } from '../base/ref.js';
import type { Chain, TestBatch } from './chain.js';
import { digestSchema } from './checkpoint.js';
import type { RunConfig } from './config.js';
import type { ProblemSet } from './problem.js';
import type { SuiteVerdicts } from './verdicts.js';

const count = z.int().nonnegative();

export const problemResultSchema = z.strictObject({
  id: z.string(),
  samples: count, // sampled programs
  solved: count, // programs that pass every hidden test
  baseline: count, // programs that pass every baseline test
  chosen: z.number().min(0).max(1), // chance that a program which passes most generated tests also passes every hidden test
  programs: count, // distinct programs
  written: count, // tests that were written, lost ones included
  valid: count, // valid tests
  inputs: count, // distinct inputs of tests
  mutants: count, // mutants of the reference that a hidden or a generated test kills
  killed: count, // mutants that the first valid tests kill (see ATTEMPTS)
  attack: z.enum(['caught', 'missed', 'none']), // whether tests catch the base model's program; none: the program is not faulty
  coherence: z.number().nonnegative(), // the sum of `overlap` over all pairs of adjacent stages
  transitions: count, // the number of pairs of adjacent stages
});
export type ProblemResult = z.infer<typeof problemResultSchema>;

/** evaluations/<id>.json: what `gauntlet evaluate` measured. */
export const evaluationRecordSchema = z.strictObject({
  checkpoint: z.string(), // its name, or 'base'
  at: z.iso.datetime(),
  samples: count, // programs of each problem
  temperature: z.number().nonnegative(),
  tokens: count, // sampled tokens
  metrics: z.record(z.string(), z.strictObject({ value: z.number(), low: z.number(), high: z.number() })),
  results: refTo<ProblemResult[]>(digestSchema),
  artifacts: z.strictObject({
    config: refTo<RunConfig>(digestSchema),
    problems: refTo<ProblemSet>(digestSchema),
    chains: refTo<Chain[]>(digestSchema),
    verdicts: refTo<SuiteVerdicts[]>(digestSchema),
    tests: refTo<TestBatch>(digestSchema).optional(), // the answers of the discriminator
  }),
});
export type EvaluationRecord = z.infer<typeof evaluationRecordSchema>;
