// Tests of the discriminator, and the choice of a program by them. Nobody knows the correct answers here, so every test
// that can be read counts; an input without an expected value expects what most programs return.
import { parseTests } from '../chains/judge/judging.js';
import { sampleTurns, samplingFilters, testPrompt, trainingTemperature } from '../chains/sample/sampling.js';
import { equalValues } from '../core/compare.js';
import { strictKey } from '../core/comparison/strictKey.js';
import { formatArguments, formatValue } from '../core/parse/format.js';
import { deriveKey, extendKey } from '../core/random.js';
import { inputKey } from '../core/rewards/suite.js';
import type { Chain, SampledTurn, Stage } from '../core/schema/chain.js';
import type { CallResult, Verdict } from '../core/schema/execution.js';
import type { Value } from '../core/schema/value.js';
import { judgeSuites } from '../sandbox/judgeSuites.js';
import { digestBytes } from '../store/canonicalJson.js';
import type { Solver } from './policies.js';
import type { Task } from './tasks.js';

/** A test, and the chain and stage that it was written for. */
export interface WrittenTest {
  sample: number;
  stage: Stage;
  args: Value[];
  expected?: Value; // absent: the discriminator writes inputs only
}

export interface TestReport {
  sample: number;
  stage: Stage;
  call: string; // 'solve([1, 2], 3)'
  expected: string | null; // a Python literal; null: what most programs return
  verdicts: Verdict[]; // of the program of each sample
}

export interface Written {
  tests: WrittenTest[]; // without duplicates
  unreadable: number;
  tokens: number; // sampled
  turns: SampledTurn[];
}

/** The discriminator writes tests for every stage of every chain. */
export async function writeTests(
  { config, discriminator }: Pick<Solver, 'config' | 'discriminator'>,
  task: Task,
  chains: readonly Chain[],
  seed: number,
  signal: AbortSignal | undefined,
): Promise<Written> {
  const key = deriveKey(seed, 'discriminator', 'solve');
  const jobs = chains.flatMap(({ sample, turns }) => turns.map(({ stage }) => ({ sample, stage, turns })));
  const tests = new Map<string, WrittenTest>();
  let [unreadable, tokens] = [0, 0];
  const written: SampledTurn[] = [];
  for (const adapter of new Set(jobs.map(({ stage }) => discriminator.adapterOf(stage)))) {
    const own = jobs.filter(({ stage }) => discriminator.adapterOf(stage) === adapter);
    const sampled = await sampleTurns(
      { signal, heartbeat: () => undefined },
      discriminator,
      own.map(({ sample, stage, turns }) => ({
        turns: [],
        prompt: testPrompt(discriminator.chat, config, task, turns, stage),
        key: extendKey(key, task.id, stage, sample),
      })),
      {
        adapter,
        temperature: trainingTemperature(config),
        maxNewTokens: config.sampling.maxTestTokens,
        ...samplingFilters(config),
      },
    );
    tokens += sampled.tokens;
    written.push(...sampled.turns);
    own.forEach(({ sample, stage }, i) => {
      const parsed = parseTests(sampled.turns[i]!.text, task, config);
      unreadable += parsed.lost;
      for (const test of parsed.tests) {
        const id = `${inputKey(test.args)} ${JSON.stringify(test.expected)}`;
        if (!tests.has(id)) tests.set(id, { sample, stage, ...test });
      }
    });
  }
  return { tests: [...tests.values()], unreadable, tokens, turns: written };
}

export interface Judged {
  baseline: Verdict[][]; // program × test
  tests: TestReport[];
  agreement: number[]; // of each program: how often another one returned the same
}

/** Runs every program on the baseline tests and on all written tests. */
export async function judgeSamples(
  solver: Pick<Solver, 'config' | 'sandbox'>,
  task: Task,
  programs: readonly string[],
  written: readonly WrittenTest[],
  signal: AbortSignal | undefined,
): Promise<Judged> {
  const baseline = await baselineVerdicts(solver, task, programs, signal);
  const calls = await run(solver, task, programs, written, signal);
  const agreement = programs.map(() => 0);
  const tests = written.map(({ sample, stage, args, expected }, t): TestReport => {
    const counts = new Map<string, number>();
    for (const { [t]: call } of calls)
      if (call!.kind === 'value') counts.set(call!.value.key, (counts.get(call!.value.key) ?? 0) + 1);
    const [key, count] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), ['', 0]);
    const most = count > 1 || counts.size === 1 ? key : undefined; // one of several answers is no majority
    const verdicts = calls.map(({ [t]: call }, p): Verdict => {
      if (call!.kind !== 'value') return call!.kind;
      const { key: own, passes = own === most } = call!.value;
      agreement[p]! += counts.get(own)! - 1;
      return passes ? 'pass' : 'fail';
    });
    const call = `${task.entry}${formatArguments(args)}`;
    return { sample, stage, call, expected: expected === undefined ? null : formatValue(expected), verdicts };
  });
  return { baseline, tests, agreement };
}

const distinct = (programs: readonly string[]): string[] => [...new Set(programs)].filter((code) => code !== '');

async function baselineVerdicts(
  { config, sandbox }: Pick<Solver, 'config' | 'sandbox'>,
  task: Task,
  programs: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Verdict[][]> {
  const { baselineTests: tests } = task;
  const codes = tests.length === 0 ? [] : distinct(programs);
  const jobs = codes.map((code, i) => ({ id: String(i), code, problem: task, tests, limits: config.limits }));
  const runs = await judgeSuites(sandbox, jobs, { signal });
  const verdictsOf = new Map(codes.map((code, i) => [code, runs[i]!.verdicts]));
  return programs.map((code) => verdictsOf.get(code) ?? tests.map(() => 'error'));
}

/** What is kept of an answer, which may be large. */
interface Answer {
  key: string; // equal for equal answers
  passes?: boolean; // absent: no value is expected
}

const NO_PROGRAM = { kind: 'error', message: 'the chain has no program' } as const;

/** Runs each distinct program once. @returns the answers by program and test */
async function run(
  { config, sandbox }: Pick<Solver, 'config' | 'sandbox'>,
  { entry, calling, comparison }: Task,
  programs: readonly string[],
  tests: readonly WrittenTest[],
  signal: AbortSignal | undefined,
): Promise<CallResult<Answer>[][]> {
  const codes = tests.length === 0 ? [] : distinct(programs);
  const inputs = tests.map(({ args }) => args);
  const reduce = (answer: Value, call: number): Answer => {
    const { expected } = tests[call]!;
    const key = digestBytes(strictKey(answer));
    return expected === undefined ? { key } : { key, passes: equalValues(answer, expected, comparison) };
  };
  const job = { entry, calling, inputs, limits: config.limits, reduce };
  const jobs = codes.map((code, i) => ({ id: String(i), code, ...job }));
  const results = await sandbox.run(jobs, { signal });
  const callsOf = new Map(codes.map((code, i) => [code, results[i]!.calls]));
  return programs.map((code) => callsOf.get(code) ?? tests.map(() => NO_PROGRAM));
}

/** How good a program is: compared in the order of the fields. */
export interface Score {
  exists: boolean;
  baseline: number; // tests that pass
  written: number;
  agreement: number;
}

/** @returns the index of the best program, the first one of equals */
export function bestProgram(scores: readonly Score[]): number {
  const isBetter = (a: Score, b: Score): boolean => {
    const differences = [
      Number(a.exists) - Number(b.exists),
      a.baseline - b.baseline,
      a.written - b.written,
      a.agreement - b.agreement,
    ];
    return (differences.find((difference) => difference !== 0) ?? 0) > 0;
  };
  return scores.reduce((best, score, i) => (isBetter(score, scores[best]!) ? i : best), 0);
}
