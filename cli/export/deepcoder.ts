// A problem in the columns of DeepCoder, whose tests are those of LiveCodeBench.
import type { Problem, TestCase } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';

interface PrintedTest {
  input: string;
  output: string;
  testtype: 'stdin' | 'functional';
  metadata: { func_name: string | null };
}

/** Prints tests as text. Leaves out tests with values that JSON lacks, such as tuples. */
function printedTests({ calling, entry }: Problem, tests: readonly TestCase[]): PrintedTest[] {
  if (calling?.style === 'operations') return [];
  return tests.flatMap(({ args, expected, truth }): PrintedTest[] => {
    if (calling?.style === 'stdio') {
      const metadata = { func_name: null };
      return [{ input: String(args[0]), output: String(expected), testtype: 'stdin', metadata }];
    }
    const [output, ...input] = [expected, ...args].map(jsonText);
    if (truth || output === undefined || input.includes(undefined)) return [];
    const metadata = { func_name: entry.split('.').at(-1)! };
    return [{ input: input.join('\n'), output, testtype: 'functional', metadata }];
  });
}

/** Undefined if none of the tests can be printed. */
export function deepcoderRow(problem: Problem): object | undefined {
  const { id, description, functionSignature, referenceSolution, calling, baselineTests } = problem;
  const isProgram = calling?.style === 'stdio';
  const tests = printedTests(problem, baselineTests);
  if (tests.length === 0) return undefined;
  return {
    uid: id,
    problem: description,
    starter_code: isProgram ? '' : functionSignature,
    solutions: referenceSolution === undefined ? [] : [referenceSolution],
    metadata: JSON.stringify({ func_name: tests[0]!.metadata.func_name }),
    tests: JSON.stringify(tests),
  };
}

/** Writes a value as JSON. Undefined if JSON has no such value. */
export function jsonText(value: Value): string | undefined {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return joined(value.map(jsonText), (items) => `[${items.join(', ')}]`);
  if ('i' in value) return value.i.startsWith('-') ? `-${BigInt(value.i.slice(1))}` : String(BigInt(value.i));
  if ('f' in value) return /\d/.test(value.f) ? value.f : undefined;
  if (!('d' in value) || !value.d.every(([key]) => typeof key === 'string')) return undefined;
  const pairs = value.d.map(([key, inner]) => joined([jsonText(inner)], ([text]) => `${JSON.stringify(key)}: ${text}`));
  return joined(pairs, (items) => `{${items.join(', ')}}`);
}

const joined = (texts: (string | undefined)[], join: (texts: string[]) => string): string | undefined =>
  texts.every((text) => text !== undefined) ? join(texts) : undefined;
