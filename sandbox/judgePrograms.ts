// Programs with tests in, outcomes out: what `gauntlet sandbox run` and the catalogue of hostile programs need.
import { z } from 'zod';
import { judge, judgeProgram } from '../core/compare.js';
import { GauntletError } from '../core/errors.js';
import { callingSchema } from '../core/schema/calling.js';
import { comparisonSchema } from '../core/schema/comparison.js';
import { type Limits, limitsSchema, type Verdict } from '../core/schema/execution.js';
import { valueSchema } from '../core/schema/value.js';
import type { Sandbox } from './sandbox.js';

export const programRowSchema = z.object({
  id: z.string().min(1),
  code: z.string(),
  entry: z.string().min(1),
  tests: z.array(z.tuple([z.array(valueSchema), valueSchema])).min(1), // [arguments, expected]
  comparison: comparisonSchema.default('lenient'),
  calling: callingSchema.optional(),
});
export type ProgramRow = z.input<typeof programRowSchema>;

export interface ProgramOutcome {
  id: string;
  outcome: Verdict; // the worst of its tests, in the order memory, timeout, output, error, fail, pass
  tests: Verdict[];
  messages: (string | null)[]; // for people: why a test gave no value
  ms: number;
}

/** Rows of JSON Lines. @throws GauntletError BAD_INPUT naming the line and the field. */
export function parseProgramRows(text: string): ProgramRow[] {
  const rows: ProgramRow[] = [];
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    let json: unknown;
    try {
      json = JSON.parse(line);
    } catch {
      throw new GauntletError('BAD_INPUT', `line ${i + 1} is not JSON`);
    }
    rows.push(checkRow(json, `line ${i + 1}`));
  }
  if (rows.length === 0) throw new GauntletError('BAD_INPUT', 'there is no program in the input');
  return rows;
}

function checkRow(row: unknown, where: string): z.output<typeof programRowSchema> {
  const parsed = programRowSchema.safeParse(row);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new GauntletError('BAD_INPUT', `${where}: ${issue.path.join('.') || 'row'}: ${issue.message}`);
}

/** Runs every program on its inputs and judges its answers here; expected values never enter the sandbox. */
export async function judgePrograms(
  rows: ProgramRow[],
  sandbox: Sandbox,
  options: { limits?: Partial<Limits>; signal?: AbortSignal; onProgress?: (done: number) => void } = {},
): Promise<ProgramOutcome[]> {
  const programs = rows.map((row, i) => checkRow(row, `program ${i + 1}`));
  const limits = limitsSchema.parse(options.limits ?? {});
  const jobs = programs.map(({ id, code, entry, calling, tests }) => ({
    id,
    code,
    entry,
    calling,
    inputs: tests.map(([args]) => args),
    limits,
  }));
  const results = await sandbox.run(jobs, { signal: options.signal, onProgress: options.onProgress });
  return programs.map(({ id, tests, comparison }, i) => {
    const { calls, ms } = results[i]!;
    const verdicts = tests.map(([, expected], k) => judge(calls[k]!, expected, comparison));
    const messages = calls.map((call) => (call.kind === 'value' ? null : call.message));
    return { id, outcome: judgeProgram(verdicts), tests: verdicts, messages, ms };
  });
}
