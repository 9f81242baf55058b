// Problems whose solution is a whole program: standard input in, standard output out. The convention of the project for
// them: calling style `stdio`, the one argument is the input, the expected value is the output, compared by tokens.
import type { Problem, TestCase } from '../../core/schema/problem.js';

export const STDIO: Pick<Problem, 'functionSignature' | 'entry' | 'comparison'> & { calling: { style: 'stdio' } } = {
  functionSignature: '# a whole program: it reads standard input and writes to standard output',
  entry: 'main', // unused: nothing is called by name
  comparison: { text: 'tokens' },
  calling: { style: 'stdio' },
};

export const stdioTest = (input: string, output: string): TestCase => ({ args: [input], expected: output });
