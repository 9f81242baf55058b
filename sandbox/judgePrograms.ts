// Judges programs by their tests, for `gauntlet sandbox run` and for the catalogue of hostile programs.
import type { z } from 'zod';
import { GauntletError } from '../core/base/errors.js';
import { comparesWith, judgeProgram, verdictOf } from '../core/comparison/compare.js';
import { type Limits, limitsSchema, type TestJob, type Verdict } from '../core/schema/execution.js';
import { type ProgramRow, parseProgramRow, type programRowSchema, type SourceRow } from './programRows.js';
import type { RunOptions, Sandbox } from './sandbox.js';

export interface ProgramOutcome {
  id: string;
  outcome: Verdict; // the worst verdict of its tests, in the order memory, timeout, output, error, fail, pass
  tests: Verdict[];
  names?: string[]; // one for each test, if the tests are source
  messages: (string | null)[]; // why a test returned no value
  ms: number;
}

export interface JudgeOptions extends RunOptions {
  limits?: Partial<Limits>; // the limits of a row override them
}

function checkRow(row: unknown, name: string): z.output<typeof programRowSchema> {
  try {
    return parseProgramRow(row);
  } catch (error) {
    if (error instanceof GauntletError) throw new GauntletError(error.code, `${name}: ${error.message}`);
    throw error;
  }
}

/** Runs every program on its inputs. The host judges the answers, so expected values never enter the sandbox. */
export async function judgePrograms(
  rows: ProgramRow[],
  sandbox: Sandbox,
  { limits, ...options }: JudgeOptions = {},
): Promise<ProgramOutcome[]> {
  const programs = rows.map((row, i) => checkRow(row, `program ${i + 1}`));
  const jobs = programs.map(({ id, code, entry, calling, comparison, tests, limits: own }) => ({
    id,
    code,
    entry,
    calling,
    inputs: tests.map(([args]) => args),
    limits: limitsSchema.parse({ ...limits, ...own }),
    reduce: comparesWith(
      tests.map(([, expected]) => expected),
      comparison,
    ),
  }));
  const results = await sandbox.run(jobs, options);
  return programs.map(({ id }, i) => {
    const { calls, ms } = results[i]!;
    const verdicts = calls.map(verdictOf);
    const messages = calls.map((call) => (call.kind === 'value' ? null : call.message));
    return { id, outcome: judgeProgram(verdicts), tests: verdicts, messages, ms };
  });
}

const FILE = { assert: 'asserts.py', pytest: 'test_solution.py' } as const;

/** Runs test source against every program, with the tests and the program in two processes. */
export async function judgeSources(
  rows: SourceRow[],
  style: TestJob['style'],
  sandbox: Sandbox,
  { limits, ...options }: JudgeOptions = {},
): Promise<ProgramOutcome[]> {
  const jobs = rows.map(
    ({ id, code, entry, test_source, files, limits: own }): TestJob => ({
      id,
      code,
      entry,
      style,
      files: files ?? { [FILE[style]]: test_source! },
      limits: limitsSchema.parse({ ...limits, ...own }),
    }),
  );
  const runs = await sandbox.runTests(jobs, options);
  return runs.map(({ id, tests, ms }) => {
    const verdicts = tests.map(({ outcome }) => outcome);
    const messages = tests.map(({ message }) => message);
    const names = tests.map(({ name }) => name);
    return { id, outcome: judgeProgram(verdicts), tests: verdicts, names, messages, ms };
  });
}
