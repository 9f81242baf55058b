// Problems whose solution is a whole program: the one argument of a test is the program's standard input, the expected
// value its standard output, compared token by token.
import { WHOLE_PROGRAM } from '../../core/schema/calling.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';

/** Judges of contests accept an absolute or relative error of 1e-6. */
const TOLERANCE = { absolute: 1e-6, relative: 1e-6 };

export const STDIO: Pick<Problem, 'functionSignature' | 'entry'> & {
  comparison: { text: 'tokens'; absolute: number; relative: number };
  calling: { style: 'stdio' };
} = {
  functionSignature: WHOLE_PROGRAM,
  entry: 'main', // the schema requires an entry; nothing uses it
  comparison: { text: 'tokens', ...TOLERANCE },
  calling: { style: 'stdio' },
};

export const stdioTest = (input: string, output: string): TestCase => ({ args: [input], expected: output });
