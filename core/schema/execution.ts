// Jobs and results of the sandbox. A job never contains expected values.
import { z } from 'zod';
import type { Calling } from './calling.js';
import { type Value, valueSchema } from './value.js';

/** The largest limits. Larger values would mean no limit, and clocks and kernels cannot count that far. */
export const MOST = { seconds: 1e7, memoryMb: 1 << 20, outputBytes: 1 << 30 } as const;

/**
 * The least memory that people may choose: Python itself takes 20 MB in Docker and 30 MB in WebAssembly. Stored configurations
 * may have less, so the schema allows it.
 */
export const LEAST_MEMORY_MB = 32;

/** The most bytes that a program may print, unless its job says otherwise. */
export const OUTPUT_BYTES = 1_000_000;

const seconds = z.number().positive().max(MOST.seconds);
const bounds = z.strictObject({
  cpuSeconds: seconds, // CPU time of a program
  caseCpuSeconds: seconds, // CPU time of a call; later calls still run
  wallSeconds: seconds, // wall-clock time of a program
  memoryMb: z.int().positive().max(MOST.memoryMb),
  outputBytes: z.int().positive().max(MOST.outputBytes),
});
const { cpuSeconds, caseCpuSeconds, wallSeconds, memoryMb, outputBytes } = bounds.shape;

export const limitsSchema = z.strictObject({
  cpuSeconds: cpuSeconds.default(2),
  caseCpuSeconds: caseCpuSeconds.default(1),
  wallSeconds: wallSeconds.default(10),
  memoryMb: memoryMb.default(256),
  outputBytes: outputBytes.default(OUTPUT_BYTES),
});
/** The limits of a run. */
export const runLimitsSchema = limitsSchema.omit({ outputBytes: true });
/** Overrides of limits. They have no defaults, because a default would replace a limit that is set elsewhere. */
export const someLimitsSchema = bounds.partial();
export interface Limits extends z.infer<typeof runLimitsSchema> {
  outputBytes?: number | undefined; // default: OUTPUT_BYTES
}

/** uid: a long-lived container with one uid per program. strict: one container per program, without capabilities. */
export const isolationSchema = z.enum(['uid', 'strict']);
export type Isolation = z.infer<typeof isolationSchema>;

/** What programs can import: only the standard library, or also numpy and sortedcontainers (with pytest installed). */
export const packagesSchema = z.enum(['none', 'numpy']);
export type Packages = z.infer<typeof packagesSchema>;

/** How the Docker backend runs programs. */
export const containersSchema = z
  .strictObject({
    isolation: isolationSchema.default('uid'),
    packages: packagesSchema.default('none'),
    image: z.string().min(1).nullable().default(null), // an image with Python 3.11 or later; null: gauntlet's own
    runtime: z.string().min(1).nullable().default(null), // a runtime of the daemon, e.g. 'runsc'; null: the daemon's default
  })
  .refine(({ image, packages }) => image === null || packages === 'none', {
    path: ['packages'],
    message: 'cannot be set with containers.image, which has its own packages',
  });
export type Containers = z.infer<typeof containersSchema>;

/** One program and the arguments of its calls, in order. `Kept` is the type of what the host keeps of an answer. */
export interface ExecutionJob<Kept = Value> {
  id: string;
  code: string;
  entry: string; // 'solve', 'Solution.solve', or the class of operations
  calling?: Calling | undefined;
  inputs: Value[][];
  truth?: number[] | undefined; // the indices of calls of which only the answer's truth value is returned
  limits?: Limits | undefined;
  /**
   * What the host keeps of each answer. It is called as soon as an answer is read, so that large answers never add up,
   * and again if the program runs again. It is not sent to the guest. Default: the answer, within a budget of memory.
   */
  reduce?: ((answer: Value, call: number) => Kept) | undefined;
}

/** The value of one call, or the kind of its failure. Rewards do not use `message`. */
export const callResultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('value'), value: valueSchema }),
  z.strictObject({ kind: z.enum(['error', 'timeout', 'memory', 'output']), message: z.string() }),
]);
export type CallResult<Kept = Value> =
  | { kind: 'value'; value: Kept }
  | Exclude<z.infer<typeof callResultSchema>, { kind: 'value' }>;

/** `calls` has exactly one entry per input, even if the program cannot be loaded. */
export interface ExecutionResult<Kept = Value> {
  id: string;
  calls: CallResult<Kept>[];
  ms: number;
}

/** The result of comparing a call with its expected value. */
export const verdictSchema = z.enum(['pass', 'fail', 'error', 'timeout', 'memory', 'output']);
export type Verdict = z.infer<typeof verdictSchema>;

/** assert: bare asserts, test functions and cases, `check(candidate)`. pytest: what pytest collects; Docker only. */
export const testStyleSchema = z.enum(['assert', 'pytest']);
export type TestStyle = z.infer<typeof testStyleSchema>;

/**
 * One program and test source, executed in two processes: tests never share an interpreter with the program. The
 * outcome is only as trustworthy as the author of the tests.
 */
export interface TestJob {
  id: string;
  code: string; // the program; tests import it as `solution`, bare asserts can use its public names
  entry?: string | undefined; // passed to `check(candidate)`
  style: TestStyle;
  files: Record<string, string>; // the test source by relative path; style assert has one file
  only?: readonly string[] | undefined; // names of the tests to run; default: all
  imports?: string | undefined; // Python of the problem: names that the tests have from it, not from the program
  limits?: Limits | undefined;
}

export interface TestRun {
  id: string;
  tests: { name: string; outcome: Verdict; message: string | null }[]; // sorted as in the source
  ms: number;
}
