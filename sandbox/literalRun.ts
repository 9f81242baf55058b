// Test source on its way to a sandbox: what is nothing but literals is run as values, the rest as it stands. The verdicts
// are those that a run of the source would give; a pass needs no interpreter that the program could have reached, and a
// class of the program that overrides == has no say.
import { equalValues } from '../core/compare.js';
import { formatValue } from '../core/parse/format.js';
import { type Claim, type LiteralTests, literalTests } from '../core/parse/literalTests.js';
import type { CallResult, ExecutionJob, ExecutionResult, TestJob, TestRun, Verdict } from '../core/schema/execution.js';
import type { Value } from '../core/schema/value.js';
import type { RunOptions, Sandbox } from './sandbox.js';

export interface SourceRun extends TestRun {
  mode: 'values' | TestJob['style']; // how the source was run
}
type Finding = { outcome: Verdict; message: string | null };

/** @throws as Sandbox.run and Sandbox.runTests */
export async function runSources(jobs: TestJob[], sandbox: Sandbox, options: RunOptions = {}): Promise<SourceRun[]> {
  const runs: (SourceRun | undefined)[] = jobs.map(() => undefined);
  let done = 0;
  const finish = (at: number, run: SourceRun): void => {
    runs[at] = run;
    options.onProgress?.(++done);
  };
  const { signal } = options;
  const plain: { at: number; table: LiteralTests }[] = [];
  const rest: number[] = [];
  for (const [at, { files, style, entry }] of jobs.entries()) {
    const table = literalTests(files, style, entry);
    if (table) plain.push({ at, table });
    else rest.push(at);
  }
  if (plain.length > 0) {
    const results = await sandbox.run(
      plain.map(({ at, table }) => valuesJob(jobs[at]!, table)),
      { ...(signal && { signal }) },
    );
    for (const [i, { at, table }] of plain.entries()) {
      const run = judgeTable(table, results[i]!);
      if (!(needsPython(table, results[i]!) && canRun(jobs[at]!, sandbox))) finish(at, run);
      else rest.push(at);
    }
  }
  if (rest.length > 0) {
    const asked = rest.map((at) => jobs[at]!);
    const results = await sandbox.runTests(asked, { ...(signal && { signal }) });
    for (const [i, run] of results.entries()) finish(rest[i]!, { ...run, mode: asked[i]!.style });
  }
  return runs as SourceRun[];
}

function valuesJob({ id, code, limits }: TestJob, { entry, inputs }: LiteralTests): ExecutionJob {
  return { id, code, entry, inputs, ...(limits && { limits }) };
}

/** Test by test, as Python would come upon it: the first call without a value, or claim that does not hold, decides. */
export function judgeTable({ tests }: LiteralTests, { id, calls, ms }: ExecutionResult): SourceRun {
  const judged = tests.map(({ name, line, steps }) => {
    for (const step of steps) {
      const finding = 'is' in step ? held(step, calls[step.call]!) : unanswered(calls[step.call]!);
      if (finding) return { name, outcome: finding.outcome, message: `${finding.message} (line ${line})` };
    }
    return { name, outcome: 'pass' as const, message: null };
  });
  return { id, tests: judged, ms, mode: 'values' };
}

function unanswered(call: CallResult): Finding | undefined {
  return call.kind === 'value' ? undefined : { outcome: call.kind, message: call.message };
}

function held(claim: Claim, call: CallResult): Finding | undefined {
  if (call.kind !== 'value') return unanswered(call);
  if (holds(claim, call.value)) return undefined;
  const answer = formatValue(call.value);
  return { outcome: 'fail', message: `the answer is ${answer.length > 100 ? `${answer.slice(0, 100)}…` : answer}` };
}

export function holds(claim: Claim, answer: Value): boolean {
  switch (claim.is) {
    case '==':
      return equalValues(answer, claim.expected, 'python');
    case '!=':
      return !equalValues(answer, claim.expected, 'python');
    case 'is':
      return answer === claim.expected;
    case 'is not':
      return answer !== claim.expected;
    case 'true':
      return isTrue(answer);
    case 'false':
      return !isTrue(answer);
  }
}

/** Python's bool(). */
function isTrue(value: Value): boolean {
  if (value === null || typeof value !== 'object') return Boolean(value);
  if (Array.isArray(value)) return value.length > 0;
  if ('t' in value) return value.t.length > 0;
  if ('s' in value) return value.s.length > 0;
  if ('d' in value) return value.d.length > 0;
  if ('b' in value) return value.b !== '';
  if ('f' in value) return value.f === 'nan' || Number(value.f.replace('inf', 'Infinity')) !== 0;
  if ('c' in value) return value.c.some((part) => isTrue({ f: part }));
  return true; // an int beyond 2 ** 53
}

/** An answer that does not travel as a value: what Python makes of it is for Python to say. */
function needsPython({ tests }: LiteralTests, { calls }: ExecutionResult): boolean {
  return tests.some(({ steps }) =>
    steps.some(({ call }) => {
      const answer = calls[call]!;
      return answer.kind === 'error' && answer.message.startsWith('Unsendable');
    }),
  );
}

const canRun = ({ style }: TestJob, sandbox: Sandbox): boolean => style !== 'pytest' || sandbox.info.kind !== 'wasm';
