// The problems that solving needs: no reference solution, and tests only if somebody has them.
import { GauntletError } from '../core/errors.js';
import type { Problem } from '../core/schema/problem.js';
import { UnusableRecord } from '../data/formats/format.js';
import { formatOf } from '../data/formats/index.js';
import { openDrafts, type Rejected, UNTESTED } from '../data/problemDrafts.js';
import { parseSignature } from '../data/signature.js';

export type Task = Pick<
  Problem,
  'id' | 'description' | 'functionSignature' | 'entry' | 'calling' | 'comparison' | 'baselineTests'
>;

/** The problems of a file, in its order. @throws GauntletError BAD_INPUT, one line */
export async function readTasks(file: string): Promise<{ tasks: Task[]; rejected: Rejected[] }> {
  const tasks: Task[] = [];
  const rejected: Rejected[] = [];
  for await (const entry of (await openDrafts(file, 'gauntlet', 'optional')).entries()) {
    if ('reason' in entry) rejected.push(entry);
    else tasks.push(entry.draft.problem);
  }
  return { tasks, rejected };
}

const DEFAULT_SIGNATURE = 'def solve(*args):';
const SIGNATURE_LINE = /^[ \t]*((?:async +)?def +\w+ *\(.*\).*)$/m;
const EMPTY_FENCE = /^[ \t]*```\w*[ \t]*\n\s*```[ \t]*$/m;

/**
 * The problem of a message in plain English. Its first line that is a signature (`def f(a, b):`) is the signature.
 * @param fields of a problem file, which take precedence
 * @param exact the same fields with numbers as written (data/exactJson.ts)
 * @throws GauntletError BAD_INPUT, one line that names the field
 */
export function taskOfMessage(message: string, fields: object = {}, exact: () => unknown = () => fields): Task {
  const line = SIGNATURE_LINE.exec(message);
  const found = line && parseSignature(line[1]!) ? line : undefined;
  const description = found ? message.replace(found[0], '').replace(EMPTY_FENCE, '') : message;
  const json = {
    ...UNTESTED,
    function_signature: found?.[1]?.trimEnd() ?? DEFAULT_SIGNATURE,
    ...fields,
    id: 'request',
    description: description.trim(),
  };
  try {
    return formatOf('gauntlet').read({ file: 'request', place: 'request', json, exact }).problem;
  } catch (error) {
    if (error instanceof UnusableRecord) throw new GauntletError('BAD_INPUT', error.message);
    throw error;
  }
}
