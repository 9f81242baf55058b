// What the sandbox was asked and what it answered. Expected values are never part of a job.
import { z } from 'zod';
import { callingSchema } from './calling.js';
import { valueSchema } from './value.js';

const bounds = z.strictObject({
  cpuSeconds: z.number().positive(), // per program, CPU time
  caseCpuSeconds: z.number().positive(), // per call: one that passes it leaves the later calls theirs
  wallSeconds: z.number().positive(), // per program
  memoryMb: z.int().positive(),
  outputBytes: z.int().positive(),
});
const { cpuSeconds, caseCpuSeconds, wallSeconds, memoryMb, outputBytes } = bounds.shape;

export const limitsSchema = z.strictObject({
  cpuSeconds: cpuSeconds.default(2),
  caseCpuSeconds: caseCpuSeconds.default(1),
  wallSeconds: wallSeconds.default(10),
  memoryMb: memoryMb.default(256),
  outputBytes: outputBytes.default(1_000_000),
});
/** Those that are to differ: without defaults, which would go before what somebody else asks for. */
export const someLimitsSchema = bounds.partial();
export type Limits = z.infer<typeof limitsSchema>;

/** uid: a long-lived container, a uid for each program. strict: a container for each program, with no capability. */
export const isolationSchema = z.enum(['uid', 'strict']);
export type Isolation = z.infer<typeof isolationSchema>;

/** What programs may import: the standard library only, or numpy too (with pytest and mypy beside it). */
export const packagesSchema = z.enum(['none', 'numpy']);
export type Packages = z.infer<typeof packagesSchema>;

/** Of programs; javascript on Docker alone, in mode values. */
export const languageSchema = z.enum(['python', 'javascript']);
export type Language = z.infer<typeof languageSchema>;

/** How the Docker backend runs programs. */
export const containersSchema = z.strictObject({
  isolation: isolationSchema.default('uid'),
  packages: packagesSchema.default('none'),
  runtime: z.string().min(1).nullable().default(null), // of the daemon, e.g. 'runsc'; null: its default
  size: z.int().positive().nullable().default(null), // containers at work; null: one a core
});
export type Containers = z.infer<typeof containersSchema>;

/** One program and the argument tuples it is called with, in order. */
export const executionJobSchema = z.strictObject({
  id: z.string(),
  code: z.string(),
  entry: z.string(), // 'solve', 'Solution.solve', or the class of operations
  calling: callingSchema.optional(),
  inputs: z.array(z.array(valueSchema)),
  limits: limitsSchema.optional(),
});
export type ExecutionJob = z.infer<typeof executionJobSchema>;

/** One call: a value, or the way it failed. `message` is for people; no reward reads it. */
export const callResultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('value'), value: valueSchema }),
  z.strictObject({ kind: z.enum(['error', 'timeout', 'memory', 'output']), message: z.string() }),
]);
export type CallResult = z.infer<typeof callResultSchema>;

/** `calls` has exactly one entry per input, also when the program never loaded. */
export const executionResultSchema = z.strictObject({
  id: z.string(),
  calls: z.array(callResultSchema),
  ms: z.number(),
});
export type ExecutionResult = z.infer<typeof executionResultSchema>;

/** A call judged against an expected value; `verdicts` of a program are in the order of its tests. */
export const verdictSchema = z.enum(['pass', 'fail', 'error', 'timeout', 'memory', 'output']);
export type Verdict = z.infer<typeof verdictSchema>;

/**
 * One program and test source that is run as it stands, in two processes: the tests never share an interpreter with the
 * program. What comes back is the claim of the test's author.
 */
export const testJobSchema = z.strictObject({
  id: z.string(),
  code: z.string(), // the program; tests import it as `solution`, and bare asserts see its public names
  entry: z.string().optional(), // given to `check(candidate)`
  style: z.enum(['assert', 'pytest']),
  files: z.record(z.string(), z.string()), // of the tests, by relative path; one file in style assert
  limits: limitsSchema.optional(),
});
export type TestJob = z.infer<typeof testJobSchema>;

export const testRunSchema = z.strictObject({
  id: z.string(),
  /** One entry a test, in the order of the source; empty where there is none. `message` is for people. */
  tests: z.array(z.strictObject({ name: z.string(), outcome: verdictSchema, message: z.string().nullable() })),
  ms: z.number(),
});
export type TestRun = z.infer<typeof testRunSchema>;

/** One program to be checked by a static type checker. It is read, never run. */
export const typeJobSchema = z.strictObject({ id: z.string(), code: z.string() });
export type TypeJob = z.infer<typeof typeJobSchema>;

/** unparsed: no Python. unchecked: the checker met a limit or failed over this text. */
export const typeVerdictSchema = z.enum(['ok', 'errors', 'unparsed', 'unchecked']);
export type TypeVerdict = z.infer<typeof typeVerdictSchema>;

export const typeReportSchema = z.strictObject({
  id: z.string(),
  verdict: typeVerdictSchema,
  errors: z.int().nonnegative(),
  messages: z.array(z.string()), // the first few, for people
});
export type TypeReport = z.infer<typeof typeReportSchema>;
