// The health gate: a problem is used only if its reference passes the problem's own tests twice, with the same answers.
// Otherwise every reward for it would be noise. Answers may be large, so only a summary of each is kept.
import { createHash } from 'node:crypto';
import { GauntletError } from '../core/base/errors.js';
import { equalValues, parses, truthTests } from '../core/comparison/compare.js';
import { strictKey } from '../core/comparison/strictKey.js';
import { formatArguments, formatValue } from '../core/parse/format.js';
import { type CallResult, type Limits, limitsSchema, type TestRun } from '../core/schema/execution.js';
import type { Problem, Rejected, TestCase } from '../core/schema/problem.js';
import type { Value } from '../core/schema/value.js';
import { keepWithin, PROGRAM_BYTES, sizeOf } from './answers.js';
import { askProblems, questionOf, sourceJob } from './judgeSuites.js';
import type { Sandbox } from './sandbox.js';
import { silentProgram } from './silentProgram.js';

/** `leftOut`: how many inputs the problem is used without, and an example. */
export type Health = { problem: Problem; leftOut?: Rejected } | { reason: string };

export interface GateOptions {
  limits?: Partial<Limits>;
  signal?: AbortSignal;
}

export const NO_REFERENCE = 'no reference solution: give one with --references, or train with --set reference=none';

const RUNS = 2; // a reference that answers twice the same counts as deterministic
const MOST_LEFT_OUT = 0.2; // of the inputs of a problem
const INPUT_FAULT = /^input (\d+): /;
const MOST_SHOWN = 100_000; // a reason quotes no answer with more bytes

/** The summary of an answer. */
interface Answer {
  passes: boolean; // whether the answer passes its test; true if there is none
  digest: string; // two answers have the same digest if and only if they are equal in mode strict
  shown: string; // the answer as a reason quotes it
  value?: Value; // kept in the first run if it becomes an expected value, or if a checker judges it
}

/**
 * Examines a problem. Inputs without expected values become tests with the answers of the reference. A few that
 * have no answer, or that the validator refuses, are left out: generators wrote many of them (EvalPlus).
 * @throws GauntletError SANDBOX_FAULT, SANDBOX_UNAVAILABLE if the problem could not be examined
 */
export async function examineProblem(problem: Problem, sandbox: Sandbox, options: GateOptions = {}): Promise<Health> {
  let { inputs } = problem;
  const total = inputs ? inputs.baseline.length + inputs.hidden.length : 0;
  let [count, example] = [0, ''];
  try {
    for (;;) {
      const health = await examine({ ...problem, inputs }, sandbox, options);
      if ('problem' in health) {
        const id = `${count} of ${total} inputs of ${problem.id}`;
        return count > 0 ? { ...health, leftOut: { id, reason: `for example ${example}` } } : health;
      }
      const [reason = ''] = health.reasons;
      const faulty = new Set(health.reasons.map((each) => Number(INPUT_FAULT.exec(each)?.[1]) - 1)); // NaN: another fault
      count += faulty.size;
      if (!inputs || faulty.has(Number.NaN) || count > MOST_LEFT_OUT * total)
        return { reason: reason + packageHint(reason) };
      const { baseline, hidden } = inputs;
      const args = [...baseline, ...hidden][Number(INPUT_FAULT.exec(reason)![1]) - 1]!;
      example ||= `${short(formatArguments(args))}: ${reason.replace(INPUT_FAULT, '')}`;
      inputs = {
        ...inputs,
        baseline: baseline.filter((_, i) => !faulty.has(i)),
        hidden: hidden.filter((_, i) => !faulty.has(baseline.length + i)),
      };
    }
  } catch (error) {
    if (error instanceof GauntletError && error.code === 'BAD_INPUT') return { reason: error.message }; // too large
    throw error;
  }
}

const PACKAGED = ['numpy', 'sortedcontainers'];

/** Says how to provide a missing module that a reference or its tests import. */
function packageHint(reason: string): string {
  const found = /No module named '(\w+)|attempted relative import/.exec(reason);
  if (found === null) return '';
  return PACKAGED.includes(found[1] ?? '')
    ? '; it is in the packages `numpy` (--packages, containers.packages)'
    : '; a program can have it in an image of yours (containers.image); tests as source cannot, and import the program as `solution`';
}

const APART =
  /\b(tmp_path|tmpdir|tempfile|sqlite3|shutil|open\(|Path\(|os\.(?:path\.(?:exists|is)|(?!path))\w+|(?:\w+\.)*seed\(|monkeypatch|patch(?:\.\w+)?\(|assertLogs|caplog|capfd|assertWarns\w*|warns\(|catch_warnings|sys\.(?:argv|path|stdin|modules))/;

/** Warns about tests that change or read something of their own process, which the program does not share. */
function apartHint({ testSource = '' }: Problem, message: string | null): string {
  const [, name] = APART.exec(testSource) ?? [];
  if (name === undefined || /No module named|the program|not supported/.test(message ?? '')) return '';
  return `; the tests use \`${name.replace('(', '')}\`, but the program has files, random numbers, modules, logs and warnings of its own (docs/sandbox.md)`;
}

async function examine(
  { inputs, ...problem }: Problem,
  sandbox: Sandbox,
  options: GateOptions,
): Promise<{ problem: Problem } | { reasons: string[] }> {
  const { referenceSolution: code } = problem;
  if (code === undefined) return { reasons: [NO_REFERENCE] };
  const limits = limitsSchema.parse(options.limits ?? {});
  const { baseline = [], hidden = [], ...truth } = inputs ?? {};
  const unanswered = [...baseline, ...hidden];
  const given = [...problem.baselineTests, ...problem.hiddenTests];
  if (given.length + unanswered.length === 0 && problem.testSource === undefined) return { reasons: ['no tests'] };
  const job = {
    id: problem.id,
    code,
    entry: problem.entry,
    calling: problem.calling,
    inputs: [...given.map(({ args }) => args), ...unanswered],
    truth: truthTests([...given, ...unanswered.map(() => truth)]),
    limits,
  };
  const jobs = Array.from({ length: RUNS }, (_, run) => ({ ...job, reduce: reduceWith(problem, given, run === 0) }));
  const results = await sandbox.run(jobs, { signal: options.signal });
  const runs = results.map(({ calls }) => calls);
  const failed = faultsOfCalls(problem, given, runs);
  if (failed.length > 0) return { reasons: failed };
  const answered = unanswered.map(
    (args, i): TestCase => ({ args, expected: answerOf(runs[0]![given.length + i]!), ...truth }),
  );
  const refused = await faultsOfFunctions(problem, sandbox, [...given, ...answered], runs[0]!, limits, options.signal);
  if (refused.length > 0) return { reasons: refused };
  const examined: Problem = {
    ...problem,
    baselineTests: [...problem.baselineTests, ...answered.slice(0, baseline.length)],
    hiddenTests: [...problem.hiddenTests, ...answered.slice(baseline.length)],
  };
  const fault =
    problem.testSource === undefined ? undefined : await faultOfSource(problem, code, sandbox, limits, options.signal);
  return fault === undefined ? { problem: examined } : { reasons: [fault] };
}

function reduceWith(
  { comparison, checker }: Problem,
  given: TestCase[],
  keepsValues: boolean,
): (answer: Value, call: number) => Answer {
  const keep = keepWithin(PROGRAM_BYTES);
  return (answer, call) => {
    const test = given[call];
    return {
      passes: test === undefined || checker !== undefined || equalValues(answer, test.expected, comparison),
      digest: createHash('sha256').update(strictKey(answer)).digest('hex'),
      shown: sizeOf(answer) > MOST_SHOWN ? 'a large value' : short(formatValue(answer)),
      ...(keepsValues && (test === undefined || checker !== undefined) && { value: keep(answer, call) }),
    };
  };
}

/** Says for which calls the reference fails: it raises, its two answers differ, or an answer is not the expected one. */
function faultsOfCalls(problem: Problem, given: TestCase[], runs: CallResult<Answer>[][]): string[] {
  const [first, ...others] = runs as [CallResult<Answer>[], ...CallResult<Answer>[][]];
  const place = placeIn(problem);
  const failed = first[0];
  if (failed?.kind === 'error' && !parses(first)) return [`the reference does not parse: ${failed.message}`];
  return first.flatMap((call, i) => {
    if (call.kind !== 'value') return [`${place(i)}: ${call.kind}: ${call.message}`];
    const other = others.find((calls) => !isSame(calls[i]!, call));
    if (other) return [`nondeterministic: ${place(i)} was answered ${shown(call)}, then ${shown(other[i]!)}`];
    const test = given[i];
    if (test && !call.value.passes)
      return [`${place(i)} fails: expected ${short(formatValue(test.expected))}, the reference answers ${shown(call)}`];
    return [];
  });
}

/** Names a call by its number. Baseline tests come first, then hidden tests, then inputs. */
const placeIn = ({ baselineTests: { length: baseline }, hiddenTests: { length: hidden } }: Problem) => {
  return (i: number): string => {
    if (i < baseline) return `baseline test ${i + 1}`;
    return i < baseline + hidden ? `hidden test ${i + 1 - baseline}` : `input ${i + 1 - baseline - hidden}`;
  };
};

/** Says where the validator or the checker is wrong: they must allow every input and accept every answer of the reference. */
async function faultsOfFunctions(
  problem: Problem,
  sandbox: Sandbox,
  tests: TestCase[],
  calls: CallResult<Answer>[],
  limits: Limits,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const { id, validator, checker } = problem;
  const legal = tests.map(({ args }) => args);
  const right = tests.map(({ args, expected }, i) =>
    checker === undefined ? [] : questionOf(args, answerOf(calls[i]!), expected),
  );
  const [allowed, accepted] = await askProblems(
    sandbox,
    [
      { id: `validator:${id}`, code: validator, entry: 'validator', inputs: legal, limits },
      { id: `checker:${id}`, code: checker, entry: 'checker', inputs: right, limits },
    ],
    { signal },
  );
  const place = placeIn(problem);
  const faultOf = (reply: CallResult, at: number, name: string, what: string): string[] => {
    if (reply.kind === 'value') return reply.value ? [] : [`${place(at)}: the ${name} refuses ${what}`];
    const [, said] = (name === 'validator' && /^AssertionError(?:: )?(.*)/s.exec(reply.message)) || [];
    if (said !== undefined) return [`${place(at)}: the ${name} refuses ${what}${said && `: ${short(said, 200)}`}`];
    return [`${place(at)}: the ${name} fails: ${reply.kind}: ${short(reply.message, 200)}`];
  };
  return [
    ...allowed!.flatMap((reply, i) => faultOf(reply, i, 'validator', 'the input')),
    ...accepted!.flatMap((reply, i) => faultOf(reply, i, 'checker', `the reference's answer ${shown(calls[i]!)}`)),
  ];
}

async function faultOfSource(
  problem: Problem,
  code: string,
  sandbox: Sandbox,
  limits: Limits,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const job = sourceJob(problem, { id: problem.id, code, limits });
  const runs = await sandbox
    .runTests(
      Array.from({ length: RUNS }, () => job),
      { signal },
    )
    .catch((error: unknown) => {
      if (error instanceof GauntletError && error.code === 'SANDBOX_UNAVAILABLE') return error; // no such style here
      throw error;
    });
  if (runs instanceof GauntletError) return runs.message;
  const [first, ...others] = runs as [TestRun, ...TestRun[]];
  if (first.tests.length === 0) return 'no tests: the test source contains none';
  for (const [i, { name, outcome, message }] of first.tests.entries()) {
    const other = others.find(({ tests }) => tests[i]?.outcome !== outcome);
    if (other)
      return `nondeterministic: ${name} gives ${outcome}, then ${other.tests[i]?.outcome ?? 'nothing'}${apartHint(problem, '')}`;
    if (outcome !== 'pass')
      return `${name}: ${outcome}${message === null ? '' : `: ${short(message, 200)}`}${apartHint(problem, message)}`;
  }
  if (problem.baselineTests.length + problem.hiddenTests.length > 0) return undefined;
  const [silent] = await sandbox.runTests([{ ...job, code: silentProgram(problem.entry, code) }], { signal });
  if (silent!.tests.some(({ outcome }) => outcome !== 'pass')) return undefined;
  return 'its tests pass for a program that only raises: they do not test it';
}

function isSame(a: CallResult<Answer>, b: CallResult<Answer>): boolean {
  if (a.kind !== 'value' || b.kind !== 'value') return a.kind === b.kind;
  return a.value.digest === b.value.digest;
}

function answerOf(call: CallResult<Answer>): Value {
  if (call.kind === 'value' && call.value.value !== undefined) return call.value.value;
  throw new GauntletError('SANDBOX_FAULT', 'a call without a value was used as an answer');
}

const shown = (call: CallResult<Answer>): string => (call.kind === 'value' ? call.value.shown : call.kind);
const short = (text: string, most = 80): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};
