// What the generator reads about a test that its program fails. The program decides what it returns, so texts are cut.
import { formatArguments, formatValue } from '../parse/format.js';
import type { FailedTest } from '../schema/chain.js';
import type { CallResult } from '../schema/execution.js';
import type { Problem, TestCase } from '../schema/problem.js';

const MAX_TEXT = 200;

const NO_VALUE = {
  timeout: 'it exceeds the time limit',
  memory: 'it exceeds the memory limit',
  output: 'its output exceeds the limit',
} as const;

export function failedTest(
  { entry, calling }: Pick<Problem, 'entry' | 'calling'>,
  { args, expected }: TestCase,
  got: string,
): FailedTest {
  const isProgram = calling?.style === 'stdio';
  return {
    call: clipped(
      isProgram
        ? `the program with standard input ${args.map(formatValue).join()}`
        : `${entry}${formatArguments(args)}`,
    ),
    expected: clipped(formatValue(expected)),
    got: clipped(got),
  };
}

/** Addresses of objects differ between two runs of a program. */
export function describeCall(result: CallResult<string>): string {
  if (result.kind === 'value') return result.value;
  if (result.kind === 'error') return result.message.replace(/\b0x[0-9a-f]+/gi, '0x');
  return NO_VALUE[result.kind];
}

/** One line, without half of a character at its end. */
export function clipped(text: string): string {
  const line = text.slice(0, 10 * MAX_TEXT).replace(/\s+/g, ' ');
  const start = line.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '');
  return line.length > MAX_TEXT ? `${start} …` : start;
}
