// Judges programs by suites of tests. The host compares answers, or the problem's checker judges them in another process.
// Test source runs in two processes. So no process holds a program together with a test, an expected value or a checker.
import { comparesWith, judgeProgram, parses, truthTests, verdictOf } from '../core/comparison/compare.js';
import { definitionsOf, importsOf } from '../core/parse/definitions.js';
import type { GivenTest } from '../core/rewards/suite.js';
import type { CallResult, ExecutionJob, Limits, TestJob, TestRun, Verdict } from '../core/schema/execution.js';
import type { Problem, TestCase } from '../core/schema/problem.js';
import type { Value } from '../core/schema/value.js';
import { BATCH_BYTES, PROGRAM_BYTES } from './answers.js';
import type { RunOptions, Sandbox } from './sandbox.js';

/** A program and the tests that judge it. */
export interface SuiteJob {
  id: string;
  code: string;
  problem: Omit<Problem, 'hiddenTests' | 'difficulty' | 'tags'>;
  tests: readonly GivenTest[];
  limits: Limits;
}

export interface SuiteRun {
  verdicts: Verdict[]; // one for each test
  parses: boolean; // false if every test reports a syntax error in the program
  message?: string; // what the first test that does not pass reports, if it reports something
}

/** Returns one result for each job. A program without tests is not run. */
export async function judgeSuites(
  sandbox: Sandbox,
  jobs: readonly SuiteJob[],
  options: RunOptions = {},
): Promise<SuiteRun[]> {
  const runs = new Map<SuiteJob, SuiteRun>();
  for (const group of inGroups(jobs)) {
    const judged = await judgeGroup(sandbox, group, options);
    for (const [i, job] of group.entries()) runs.set(job, judged[i]!);
  }
  return jobs.map((job) => runs.get(job)!);
}

const KEPT = BATCH_BYTES / PROGRAM_BYTES; // how many programs have room for their answers

/** Answers that wait for a checker are kept in memory, so only a few such programs are judged at a time. */
function inGroups(jobs: readonly SuiteJob[]): SuiteJob[][] {
  const checked = jobs.filter(({ problem }) => problem.checker !== undefined);
  const groups = Array.from({ length: Math.ceil(checked.length / KEPT) }, (_, i) =>
    checked.slice(i * KEPT, (i + 1) * KEPT),
  );
  return [jobs.filter(({ problem }) => problem.checker === undefined), ...groups].filter(({ length }) => length > 0);
}

async function judgeGroup(sandbox: Sandbox, jobs: readonly SuiteJob[], options: RunOptions): Promise<SuiteRun[]> {
  const tests = jobs.map((job) => job.tests.flatMap((test): TestCase[] => ('args' in test ? [test] : [])));
  const answers = await answersOf(sandbox, jobs, tests, options);
  const rulings = await checked(sandbox, jobs, tests, answers, options);
  const sources = await sourceRuns(sandbox, jobs, options);
  return jobs.map((job, i): SuiteRun => {
    const [calls, source] = [rulings[i]!, sources[i]];
    const values = calls.values();
    const judged = job.tests.map((test): { verdict: Verdict; message?: string | null | undefined } => {
      if ('source' in test) return verdictIn(source!, test.source);
      const call = values.next().value!;
      return { verdict: verdictOf(call), message: call.kind === 'value' ? null : call.message };
    });
    const message = judged.find(({ verdict }) => verdict !== 'pass')?.message;
    return {
      verdicts: judged.map(({ verdict }) => verdict),
      parses: parses([...calls, ...(source ? callsOf(source) : [])]),
      ...(message && { message }),
    };
  });
}

/** Runs tests with values. Returns a ruling (true or false) for each call, or its answer if a checker will judge that. */
async function answersOf(
  sandbox: Sandbox,
  jobs: readonly SuiteJob[],
  tests: TestCase[][],
  options: RunOptions,
): Promise<CallResult[][]> {
  const all = jobs.map(({ id, code, problem, limits }, i): ExecutionJob => {
    const { entry, calling, comparison, checker } = problem;
    const own = tests[i]!;
    const isRight = comparesWith(
      own.map(({ expected }) => expected),
      comparison,
    );
    const reduce = checker === undefined ? isRight : undefined;
    return { id, code, entry, calling, inputs: own.map(({ args }) => args), truth: truthTests(own), limits, reduce };
  });
  const runnable = all.filter(({ inputs }) => inputs.length > 0);
  const results = runnable.length === 0 ? [] : await sandbox.run(runnable, options);
  const callsOfJob = new Map(runnable.map((job, r) => [job, results[r]!.calls]));
  return all.map((job) => callsOfJob.get(job) ?? []);
}

/** Lets checkers judge answers. An answer on which a checker fails is wrong, so a program cannot gain by breaking it. */
async function checked(
  sandbox: Sandbox,
  jobs: readonly SuiteJob[],
  tests: TestCase[][],
  answers: CallResult[][],
  options: RunOptions,
): Promise<CallResult<boolean>[][]> {
  const questions = jobs.map(({ id, problem, limits }, i): Question => {
    const inputs = answers[i]!.flatMap((call, k) => {
      const { args, expected } = tests[i]![k]!;
      return call.kind === 'value' ? [questionOf(args, call.value, expected)] : [];
    });
    return { id: `checker:${id}`, code: problem.checker, entry: 'checker', inputs, limits };
  });
  const replies = await askProblems(sandbox, questions, options);
  return jobs.map(({ problem }, i) => {
    if (problem.checker === undefined) return answers[i] as CallResult<boolean>[];
    const own = replies[i]!.values();
    return answers[i]!.map((call): CallResult<boolean> => {
      if (call.kind !== 'value') return call;
      return { kind: 'value', value: isYes(own.next().value!) };
    });
  });
}

/** The arguments with which a checker is called. */
export const questionOf = (args: Value[], answer: Value, expected: Value): Value[] => [args, answer, expected];

/** Calls of a problem's validator or checker. */
export interface Question {
  id: string;
  code: string | undefined; // undefined if the problem has no such function; then nothing is asked
  entry: 'validator' | 'checker';
  inputs: Value[][];
  limits: Limits;
}

const MOST_BYTES = 8 << 20; // the most bytes that one process is asked, several times less than a frame can hold

/**
 * Asks validators and checkers. They are trusted like the problem, and run in processes that hold no program.
 * @returns the replies to each call of each question; a reply other than True or False is an error
 */
export async function askProblems(
  sandbox: Sandbox,
  questions: readonly Question[],
  options: RunOptions = {},
): Promise<CallResult<boolean>[][]> {
  const parts = questions.flatMap(({ id, code, entry, inputs, limits }, question) =>
    code === undefined
      ? []
      : inPieces(inputs).map((piece) => ({
          question,
          job: { id, code: withTruth(code, entry), entry, inputs: piece, limits, reduce: asBool },
        })),
  );
  const said = questions.map((): CallResult<boolean>[] => []);
  if (parts.length === 0) return said;
  const results = await sandbox.run(
    parts.map(({ job }) => job),
    options,
  );
  for (const [p, { question }] of parts.entries())
    for (const call of results[p]!.calls) said[question]!.push(reply(call, questions[question]!.entry));
  return said;
}

/** Turns numpy's True and False, which are not plain data, into Python's. */
const withTruth = (code: string, entry: string): string => `${code}
def ${entry}(*args, own=${entry}):
    said = own(*args)
    return bool(said) if type(said).__name__ in ('bool', 'bool_') else None
`;

const asBool = (answer: Value): boolean | null => (typeof answer === 'boolean' ? answer : null);

const reply = (call: CallResult<boolean | null>, entry: string): CallResult<boolean> =>
  call.kind === 'value' && call.value === null
    ? { kind: 'error', message: `the ${entry} returned neither True nor False` }
    : (call as CallResult<boolean>);

export const isYes = (call: CallResult<boolean>): boolean => call.kind === 'value' && call.value;

function inPieces(inputs: readonly Value[][]): Value[][][] {
  const pieces: Value[][][] = [];
  let bytes = 0;
  for (const input of inputs) {
    const size = JSON.stringify(input).length;
    if (pieces.length === 0 || bytes + size > MOST_BYTES) {
      pieces.push([]);
      bytes = 0;
    }
    pieces.at(-1)!.push(input);
    bytes += size;
  }
  return pieces;
}

/** The job that runs the test source of a problem. */
export const sourceJob = (
  { entry, testSource = '', testStyle = 'assert', ...problem }: SuiteJob['problem'],
  { id, code, limits, only }: Pick<TestJob, 'id' | 'code' | 'limits' | 'only'>,
): TestJob => {
  const own = problem.referenceSolution ?? problem.functionSignature;
  const defined = [entry.split('.')[0], ...definitionsOf(own).map(({ name }) => name)];
  const imports = [...importsOf(own), ...defined.map((name) => `del ${name}`)].join('\n');
  return { id, code, entry, style: testStyle, files: { 'test_solution.py': testSource }, only, imports, limits };
};

/** One test in a problem's test source. It is valid if the reference passes it. */
export interface SourceOutcome {
  name: string;
  isValid: boolean;
}

/** Runs the test source of each problem on the reference. Returns the tests by the id of the problem. */
export async function sourceTestsOf(
  sandbox: Sandbox,
  problems: readonly Problem[],
  limits: Limits,
  options: RunOptions = {},
): Promise<Map<string, SourceOutcome[]>> {
  const withSource = problems.filter((problem) => countsSource(problem) && problem.referenceSolution !== undefined);
  const sourced = [...new Map(withSource.map((problem) => [problem.id, problem])).values()];
  if (sourced.length === 0) return new Map();
  const runs = await sandbox.runTests(
    sourced.map((problem) =>
      sourceJob(problem, { id: `reference:${problem.id}`, code: problem.referenceSolution ?? '', limits }),
    ),
    options,
  );
  return new Map(
    sourced.map(({ id }, i) => [
      id,
      runs[i]!.tests.map(({ name, outcome }) => ({ name, isValid: outcome === 'pass' })),
    ]),
  );
}

/** Whether the test source of a problem is part of suites. */
const countsSource = ({ testSource, testStyle }: Problem): boolean =>
  testSource !== undefined && testStyle !== undefined;

/** Runs the test source of each program's suite. Undefined for a suite without tests of source. */
async function sourceRuns(
  sandbox: Sandbox,
  suites: readonly SuiteJob[],
  options: RunOptions,
): Promise<(TestRun | undefined)[]> {
  const jobs = suites.map((suite) => {
    const only = suite.tests.flatMap((test) => ('source' in test ? [test.source] : []));
    return only.length > 0 ? sourceJob(suite.problem, { ...suite, only }) : undefined;
  });
  const runnable = jobs.filter((job) => job !== undefined);
  const results = runnable.length === 0 ? [] : await sandbox.runTests(runnable, options);
  const runOf = new Map(runnable.map((job, i) => [job, results[i]!]));
  return jobs.map((job) => job && runOf.get(job));
}

/** A test without a report does not pass: it gets the worst outcome of the reported tests, or 'error'. */
function verdictIn({ tests }: TestRun, name: string): { verdict: Verdict; message?: string | null } {
  const found = tests.find((test) => test.name === name);
  if (found) return { verdict: found.outcome, message: found.message };
  const worst = judgeProgram(tests.map(({ outcome }) => outcome));
  const message = tests.find(({ outcome }) => outcome === worst)?.message ?? null;
  return { verdict: worst === 'pass' || worst === 'fail' ? 'error' : worst, message };
}

const callsOf = ({ tests }: TestRun): CallResult<boolean>[] =>
  tests.map(({ outcome, message }) =>
    outcome === 'pass' || outcome === 'fail'
      ? { kind: 'value', value: outcome === 'pass' }
      : { kind: outcome, message: message ?? '' },
  );
