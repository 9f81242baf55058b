// A programming problem and its tests, after loading.
import { z } from 'zod';
import { callingSchema } from './calling.js';
import { comparisonSchema } from './comparison.js';
import { testStyleSchema } from './execution.js';
import { valueSchema } from './value.js';

export const testCaseSchema = z.strictObject({
  args: z.array(valueSchema), // positional arguments
  expected: valueSchema,
  truth: z.literal(true).optional(), // true if only the truth value of the answer counts, as in `assert f(x)`
});
export type TestCase = z.infer<typeof testCaseSchema>;

/** Inputs of tests without expected values, which the reference computes. */
const unansweredSchema = z.strictObject({
  baseline: z.array(z.array(valueSchema)),
  hidden: z.array(z.array(valueSchema)),
  truth: testCaseSchema.shape.truth,
});

export const problemSchema = z.strictObject({
  id: z.string().min(1),
  title: z.string().optional(),
  description: z.string().min(1),
  functionSignature: z.string().min(1), // 'def solve(nums, k):'
  entry: z.string().min(1), // 'solve', 'Solution.solve', or a class of operations
  baselineTests: z.array(testCaseSchema),
  hiddenTests: z.array(testCaseSchema).default([]), // used in evaluations only, never for rewards
  referenceSolution: z.string().min(1).optional(), // optional, because `reference: none` trains without it
  inputs: unansweredSchema.optional(), // only before a run starts: the run answers the inputs and stores tests instead
  reasoning: z.array(z.string().min(1)).length(4).optional(), // stages 1 to 4; a warm start teaches it, no prompt shows it
  difficulty: z.string().default('unknown'),
  tags: z.array(z.string()).default([]),
  source: z.string().optional(),
  comparison: comparisonSchema.default('lenient'),
  calling: callingSchema.optional(),
  /** Python tests that are not a table of values: `check(candidate)`, bare asserts, pytest, unittest. */
  testSource: z.string().min(1).optional(),
  /** How `testSource` is run. Absent in sets that an earlier version stored: only the health gate uses their test source. */
  testStyle: testStyleSchema.optional(),
  /** Python source that defines `validator(*args)`: True if the arguments are a legal input. */
  validator: z.string().min(1).optional(),
  /** Python source that defines `checker(inputs, answer, expected)`: True if the answer is right. It replaces `comparison`. */
  checker: z.string().min(1).optional(),
});
export type Problem = z.infer<typeof problemSchema>;

export const SPLITS = ['train', 'validation', 'test'] as const;
export type Split = (typeof SPLITS)[number];

/** A record of a problem file that cannot be used. */
export interface Rejected {
  id: string; // the record's id, or without one its place in the file
  reason: string; // one printable line: place, field, what is wrong
}

export interface ProblemSet extends Record<Split, Problem[]> {
  /** Records of the problem file that cannot be used; absent if all can. */
  rejected?: Rejected[];
}

/** Whether the `problems` of a run are built in: 'tiny', 'nested', or 'steps' with or without levels. Their splits are fixed. */
export const isBuiltIn = (source: string): boolean => /^(tiny|nested|steps(:.*)?)$/.test(source);
