// The discriminator writes tests, and a program is chosen by them. Nobody knows the correct answers here, so the expected value
// of a test counts as it is written. A test without one expects the answer that wins the programs' vote, as in training.
import { readTests, runPrograms } from '../chains/judge/judging.js';
import { askOracle } from '../chains/judge/oracle.js';
import {
  answerLimits,
  sampleByAdapter,
  sampleTurns,
  samplingFilters,
  testPrompt,
  trainingTemperature,
} from '../chains/sample/sampling.js';
import { GauntletError } from '../core/base/errors.js';
import { deriveKey, extendKey } from '../core/base/random.js';
import { formatArguments, formatValue } from '../core/parse/format.js';
import { type RejectionReason, unusableTests } from '../core/parse/salvage.js';
import { countPassed } from '../core/rewards/rule.js';
import { type GivenTest, inputKey } from '../core/rewards/suite.js';
import type { Chain, SampledTurn, Stage } from '../core/schema/chain.js';
import type { Verdict } from '../core/schema/execution.js';
import type { Problem, TestCase } from '../core/schema/problem.js';
import type { Value } from '../core/schema/value.js';
import { examineProblem } from '../sandbox/healthGate.js';
import { type SuiteRun, sourceTestsOf } from '../sandbox/judgeSuites.js';
import type { Solver } from './policies.js';

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
  expected: string | null; // a Python literal; null: the answer that wins the programs' vote
  verdicts: Verdict[]; // one verdict per sample's program; empty if no answer has enough votes
}

export interface FailedTest {
  test: string; // 'solve([1, 2], 3) == 4', or the name of a test in the test source
  verdict: Verdict;
  message?: string | undefined; // what it reports, such as the program's exception
}

/** How many tests cannot be read, by the reason; 'missing': fewer tests were written than requested. */
export type Unreadable = Partial<Record<RejectionReason | 'missing', number>>;

export interface Written {
  tests: WrittenTest[]; // without duplicates
  unreadable: Unreadable;
  turns: SampledTurn[];
}

/** A problem and its chains. */
export interface Attempt {
  task: Problem;
  chains: readonly Chain[];
}

/** The discriminator writes tests for every stage of every chain, all at once. @returns tests by problem */
export async function writeTests(
  { config, discriminator }: Pick<Solver, 'config' | 'discriminator'>,
  attempts: readonly Attempt[],
  seed: number,
  scope: Parameters<typeof sampleTurns>[0],
): Promise<Written[]> {
  const key = deriveKey(seed, 'discriminator', 'solve');
  const jobs = attempts.flatMap(({ task, chains }) =>
    chains.flatMap(({ sample, turns }) => turns.map(({ stage }) => ({ task, sample, stage, turns }))),
  );
  const rows = jobs.map(({ task, sample, stage, turns }) => ({
    turns: [],
    ...testPrompt(discriminator.chat, config, task, turns, stage),
    key: extendKey(key, task.id, stage, sample),
  }));
  const options = {
    temperature: trainingTemperature(config),
    ...answerLimits(config, discriminator, 'tests'),
    ...samplingFilters(config),
  };
  const adapters = jobs.map(({ stage }) => discriminator.adapterOf(stage));
  const { turns } = await sampleByAdapter(rows, adapters, (own, adapter) =>
    sampleTurns(scope, discriminator, own, { adapter, ...options }),
  );
  return attempts.map(({ task }) => {
    const tests = new Map<string, WrittenTest>();
    const unreadable: Unreadable = {};
    const add = (reason: keyof Unreadable, count: number): void => {
      if (count > 0 && reason !== 'over-limit') unreadable[reason] = (unreadable[reason] ?? 0) + count;
    };
    const own = jobs.flatMap((job, i) => (job.task === task ? [{ ...job, turn: turns[i]! }] : []));
    for (const { sample, stage, turn } of own) {
      const read = readTests(turn.text, task, config);
      for (const { reason } of read.rejected) add(reason, 1);
      add('missing', unusableTests(read, config.testsPerTurn) - unusableTests(read, 0));
      for (const test of read.tests) {
        const id = `${inputKey(test.args)} ${JSON.stringify(test.expected)}`;
        if (!tests.has(id)) tests.set(id, { sample, stage, ...test });
      }
    }
    return { tests: [...tests.values()], unreadable, turns: own.map(({ turn }) => turn) };
  });
}

/**
 * The tests that come with a problem: with values, with inputs that its reference answers, and of its test source. If there is no
 * reference, a program that does nothing shows which tests the source has.
 * @returns also why there are no tests, if there are none
 */
export async function ownTests(
  { config, sandbox }: Pick<Solver, 'config' | 'sandbox'>,
  task: Problem,
  signal?: AbortSignal,
): Promise<{ tests: GivenTest[]; unjudged?: string }> {
  const { referenceSolution: reference, baselineTests, inputs, testSource, entry } = task;
  const { limits } = config;
  if (inputs !== undefined) {
    const found = await examineProblem(task, sandbox, { limits, signal });
    if ('problem' in found) return { tests: found.problem.baselineTests, unjudged: 'no tests' };
    return { tests: baselineTests, unjudged: `its reference: ${found.reason}` };
  }
  const code = reference ?? `def ${entry.split('.')[0]}(*args, **named): pass`;
  try {
    const sources = await sourceTestsOf(sandbox, [{ ...task, referenceSolution: code }], limits, { signal });
    const found = (sources.get(task.id) ?? []).filter(({ isValid }) => isValid || reference === undefined);
    const unjudged = testSource === undefined ? 'no tests' : 'no usable test in its test source';
    return { tests: [...baselineTests, ...found.map(({ name }) => ({ source: name }))], unjudged };
  } catch (error) {
    if (!(error instanceof GauntletError) || error.code !== 'SANDBOX_UNAVAILABLE') throw error;
    return { tests: baselineTests, unjudged: error.message }; // this sandbox has no pytest
  }
}

/** The results of one sample's program. */
interface JudgedProgram {
  baseline: number; // how many baseline tests it passes
  failed?: FailedTest | undefined; // the first baseline test that it fails
  written: number; // how many written tests it passes
  agreement: number; // for how many inputs its answer is the one that the programs vote for
}

/**
 * Runs every program on the baseline tests and on all written tests.
 * @param own the tests of the problem; default: its baseline tests
 * @param trusted whether the weight of a program's vote depends on the baseline tests that it passes
 */
export async function judgeSamples(
  { config, sandbox }: Pick<Solver, 'config' | 'sandbox'>,
  task: Problem,
  programs: readonly string[],
  written: readonly WrittenTest[],
  {
    trusted,
    signal,
    own = task.baselineTests,
  }: { trusted: boolean; signal?: AbortSignal | undefined; own?: readonly GivenTest[] },
): Promise<{ programs: JudgedProgram[]; tests: TestReport[] }> {
  const voting = { ...task, ...(!trusted && { baselineTests: [] }) };
  const asked = [{ problem: voting, turns: [{ tests: written }], programs, votes: true }];
  const isVote = new Set(programs).size > 1; // equal programs agree on everything, which tells nothing
  const oracle = isVote ? await askOracle(sandbox, config, asked, { signal }) : undefined;
  const answers = written.map(({ args }) => {
    const vote = oracle?.answer(voting, args);
    return vote?.kind === 'value' ? vote.value : undefined;
  });
  const expected = written.map((test, t) => (test.expected === undefined ? answers[t] : test.expected));
  const suiteOf = (values: (Value | undefined)[]): TestCase[] =>
    values.flatMap((value, t) => (value === undefined ? [] : [{ args: written[t]!.args, expected: value }]));
  const suites = [own, suiteOf(expected), suiteOf(answers)];
  const jobs = suites.map((tests) => ({ problem: task, programs, tests }));
  const { runs } = await runPrograms(sandbox, config.limits, jobs, { signal });
  const [baseline, onWritten, onVoted] = runs.map((of) => of.map(({ verdicts }) => verdicts));
  let judged = 0;
  const tests = written.map(({ sample, stage, args, expected: stated }, t): TestReport => {
    const call = `${task.entry}${formatArguments(args)}`;
    const place = expected[t] === undefined ? undefined : judged++;
    const verdicts = place === undefined ? [] : onWritten!.map((of) => of[place]!);
    return { sample, stage, call, expected: stated === undefined ? null : formatValue(stated), verdicts };
  });
  const textOf = (test: GivenTest): string =>
    'source' in test ? test.source : `${task.entry}${formatArguments(test.args)} == ${formatValue(test.expected)}`;
  const failedOf = ({ verdicts, message }: SuiteRun): FailedTest | undefined => {
    const t = verdicts.findIndex((verdict) => verdict !== 'pass');
    return t < 0 ? undefined : { test: textOf(own[t]!), verdict: verdicts[t]!, message };
  };
  const counts = programs.map((_, p) => ({
    baseline: countPassed(baseline![p]!),
    failed: failedOf(runs[0]![p]!),
    written: countPassed(onWritten![p]!),
    agreement: countPassed(onVoted![p]!),
  }));
  return { programs: counts, tests };
}

/** The score of a program. Scores are compared number by number: the first difference decides. */
export type Score = readonly [exists: number, baseline: number, written: number, agreement: number];

/** @returns the index of the best program; if several are equally good, of the first */
export function bestProgram(scores: readonly Score[]): number {
  const isBetter = (a: Score, b: Score): boolean => {
    const differs = a.findIndex((number, i) => number !== b[i]);
    return differs >= 0 && a[differs]! > b[differs]!;
  };
  return scores.reduce((best, score, i) => (isBetter(score, scores[best]!) ? i : best), 0);
}
