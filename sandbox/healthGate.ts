// The health gate: a problem is used only when its reference passes the problem's own tests, twice with the same answers.
// Else every reward on it would be noise.
import { equalValues, judge } from '../core/compare.js';
import { GauntletError } from '../core/errors.js';
import { formatValue } from '../core/parse/format.js';
import { type CallResult, type Limits, limitsSchema, type TestRun } from '../core/schema/execution.js';
import type { Problem, TestCase } from '../core/schema/problem.js';
import type { Value } from '../core/schema/value.js';
import type { Sandbox } from './sandbox.js';

export type Health = { problem: Problem } | { reason: string };

export interface GateOptions {
  /** Inputs whose expected values are what the reference answers; they become tests of the problem. */
  inputs?: { baseline: Value[][]; hidden: Value[][] } | undefined;
  limits?: Partial<Limits>;
  signal?: AbortSignal;
}

const RUNS = 2; // equal answers of two runs are taken for what the reference always answers

/** @throws GauntletError SANDBOX_FAULT, SANDBOX_UNAVAILABLE: nothing is known of the problem then */
export async function examineProblem(problem: Problem, sandbox: Sandbox, options: GateOptions = {}): Promise<Health> {
  const { inputs, signal } = options;
  const limits = limitsSchema.parse(options.limits ?? {});
  const asked = [...(inputs?.baseline ?? []), ...(inputs?.hidden ?? [])];
  const given = [...problem.baselineTests, ...problem.hiddenTests];
  if (given.length + asked.length === 0 && problem.testSource === undefined) return { reason: 'no tests' };
  const job = {
    id: problem.id,
    code: problem.referenceSolution,
    entry: problem.entry,
    calling: problem.calling,
    inputs: [...given.map(({ args }) => args), ...asked],
    limits,
  };
  const results = await sandbox.run(
    Array.from({ length: RUNS }, () => job),
    { signal },
  );
  const runs = results.map(({ calls }) => calls);
  const reason = faultOfCalls(problem, given, runs);
  if (reason !== undefined) return { reason };
  const answered = asked.map((args, i): TestCase => ({ args, expected: answerOf(runs[0]![given.length + i]!) }));
  const examined: Problem = {
    ...problem,
    baselineTests: [...problem.baselineTests, ...answered.slice(0, inputs?.baseline.length ?? 0)],
    hiddenTests: [...problem.hiddenTests, ...answered.slice(inputs?.baseline.length ?? 0)],
  };
  const fault = problem.testSource === undefined ? undefined : await faultOfSource(problem, sandbox, limits, signal);
  return fault === undefined ? { problem: examined } : { reason: fault };
}

/** Calls on the given tests, then calls without an expected value. */
function faultOfCalls(problem: Problem, given: TestCase[], runs: CallResult[][]): string | undefined {
  const [first, ...others] = runs as [CallResult[], ...CallResult[][]];
  const place = (i: number): string => {
    const { length } = problem.baselineTests;
    if (i < length) return `baseline test ${i + 1}`;
    return i < given.length ? `hidden test ${i + 1 - length}` : `input ${i + 1 - given.length}`;
  };
  const unread = first[0];
  if (unread?.kind === 'error' && isSyntaxError(unread.message) && first.every((call) => isSame(call, unread)))
    return `the reference does not parse: ${unread.message}`;
  for (const [i, call] of first.entries()) {
    if (call.kind !== 'value') return `${place(i)}: ${call.kind}: ${call.message}`;
    const other = others.find((calls) => !isSame(calls[i]!, call));
    if (other) return `nondeterministic: ${place(i)} was answered ${shown(call)}, then ${shown(other[i]!)}`;
    const test = given[i];
    if (test && judge(call, test.expected, problem.comparison) !== 'pass')
      return `${place(i)} fails: expected ${short(formatValue(test.expected))}, the reference answers ${shown(call)}`;
  }
  return undefined;
}

async function faultOfSource(
  problem: Problem,
  sandbox: Sandbox,
  limits: Limits,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const job = {
    id: problem.id,
    code: problem.referenceSolution,
    entry: problem.entry,
    style: 'assert' as const,
    files: { 'test_solution.py': problem.testSource! },
    limits,
  };
  const runs = await sandbox.runTests(
    Array.from({ length: RUNS }, () => job),
    { signal },
  );
  const [first, ...others] = runs as [TestRun, ...TestRun[]];
  if (first.tests.length === 0) return 'no tests: the test source holds none';
  for (const [i, { name, outcome, message }] of first.tests.entries()) {
    const other = others.find(({ tests }) => tests[i]?.outcome !== outcome);
    if (other) return `nondeterministic: ${name} gives ${outcome}, then ${other.tests[i]?.outcome ?? 'nothing'}`;
    if (outcome !== 'pass') return `${name}: ${outcome}${message === null ? '' : `: ${short(message, 200)}`}`;
  }
  return undefined;
}

const isSyntaxError = (message: string): boolean => /^(?:SyntaxError|IndentationError|TabError)\b/.test(message);

function isSame(a: CallResult, b: CallResult): boolean {
  if (a.kind !== 'value' || b.kind !== 'value') return a.kind === b.kind;
  return equalValues(a.value, b.value, 'strict');
}

function answerOf(call: CallResult): Value {
  if (call.kind === 'value') return call.value;
  throw new GauntletError('SANDBOX_FAULT', 'a call without a value was taken for an answer');
}

const shown = (call: CallResult): string => (call.kind === 'value' ? short(formatValue(call.value)) : call.kind);
const short = (text: string, most = 80): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};
