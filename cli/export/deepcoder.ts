// The problems of a run with tests that its discriminator wrote, in the columns of DeepCoder, whose tests are those of
// LiveCodeBench. Of the valid tests, a problem gets the fewest that catch every program which its baseline tests let pass.
import { readProblems } from '../../chains/artifacts.js';
import { inputKey } from '../../core/rewards/suite.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
import { stepsOf } from '../../dashboard/data/records.js';
import { unlessRemoved } from '../../dashboard/data/rollouts.js';
import type { ExportedFiles, ExportedRun } from './exporter.js';

interface Found {
  problem: Problem;
  /** The tests by their input. `caught` has the programs that pass the baseline tests and fail this one. */
  tests: Map<string, { test: TestCase; caught: Set<string> }>;
}

export async function* deepcoderProblems(run: ExportedRun): ExportedFiles {
  const found = await testsOf(run);
  const rows = [...found.values()].flatMap(({ problem, tests }) => {
    const given = printedTests(problem, problem.baselineTests);
    const added = printedTests(problem, fewest([...tests.values()]));
    return given.length + added.length === 0 ? [] : [rowOf(problem, [...given, ...added])];
  });
  yield ['problems.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join('')];
}

/** Collects the tests of all steps, except steps whose artifacts were removed from the store. */
async function testsOf({ store, records }: ExportedRun): Promise<Map<string, Found>> {
  const found = new Map<string, Found>();
  for (const { step, artifacts } of stepsOf(records)) {
    const judged = (await unlessRemoved(() => store.getJson(artifacts.verdicts))) ?? [];
    const problems = await unlessRemoved(() => readProblems(store, artifacts.problems));
    for (const [group, one] of judged.entries()) {
      const problem = problems?.byId.get(one.problemId);
      if (problem === undefined) continue;
      const own = found.get(problem.id) ?? { problem, tests: new Map() };
      found.set(problem.id, own);
      for (const [index, { origin, test }] of one.suite.entries()) {
        if (origin === 'baseline' || !('args' in test)) continue; // its columns hold values only
        const known = own.tests.get(inputKey(test.args)) ?? { test, caught: new Set() };
        own.tests.set(inputKey(test.args), known);
        for (const candidate of survivors(one))
          if (one.verdicts[candidate]![index] !== 'pass') known.caught.add(`${step} ${group} ${candidate}`);
      }
    }
  }
  return found;
}

/** The programs that pass the baseline tests, if there are any. */
const survivors = ({ candidates, suite, verdicts }: SuiteVerdicts): number[] =>
  candidates.flatMap(({ empty, unparsed }, c) => {
    const passes = suite.every(({ origin }, i) => origin !== 'baseline' || verdicts[c]![i] === 'pass');
    return empty || unparsed || !passes ? [] : [c];
  });

/** Takes the test that catches the most of the remaining programs, until no program remains. */
function fewest(tests: { test: TestCase; caught: Set<string> }[]): TestCase[] {
  const left = new Set(tests.flatMap(({ caught }) => [...caught]));
  const taken: TestCase[] = [];
  while (left.size > 0) {
    const catches = ({ caught }: { caught: Set<string> }): number => [...caught].filter((one) => left.has(one)).length;
    const best = tests.reduce((a, b) => (catches(b) > catches(a) ? b : a));
    for (const one of best.caught) left.delete(one);
    taken.push(best.test);
  }
  return taken;
}

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

function rowOf(problem: Problem, tests: PrintedTest[]): object {
  const { id, description, functionSignature, referenceSolution, calling } = problem;
  const isProgram = calling?.style === 'stdio';
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
function jsonText(value: Value): string | undefined {
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
