// The discriminator writes tests, and a program is chosen by them. Nobody knows the correct answers here, so the expected value
// of a test counts as it is written. A test without one expects the answer that wins the programs' vote, as in training.
import { parseTests, runPrograms } from '../chains/judge/judging.js';
import { askOracle } from '../chains/judge/oracle.js';
import {
  sampleByAdapter,
  sampleTurns,
  samplingFilters,
  testPrompt,
  trainingTemperature,
} from '../chains/sample/sampling.js';
import { deriveKey, extendKey } from '../core/base/random.js';
import { formatArguments, formatValue } from '../core/parse/format.js';
import { countPassed } from '../core/rewards/rule.js';
import { inputKey } from '../core/rewards/suite.js';
import type { Chain, SampledTurn, Stage } from '../core/schema/chain.js';
import type { Verdict } from '../core/schema/execution.js';
import type { Problem, TestCase } from '../core/schema/problem.js';
import type { Value } from '../core/schema/value.js';
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

export interface Written {
  tests: WrittenTest[]; // without duplicates
  unreadable: number;
  tokens: number; // how many were sampled
  turns: SampledTurn[];
}

/** The discriminator writes tests for every stage of every chain. */
export async function writeTests(
  { config, discriminator }: Pick<Solver, 'config' | 'discriminator'>,
  task: Problem,
  chains: readonly Chain[],
  seed: number,
  signal: AbortSignal | undefined,
): Promise<Written> {
  const key = deriveKey(seed, 'discriminator', 'solve');
  const jobs = chains.flatMap(({ sample, turns }) => turns.map(({ stage }) => ({ sample, stage, turns })));
  const rows = jobs.map(({ sample, stage, turns }) => ({
    turns: [],
    prompt: testPrompt(discriminator.chat, config, task, turns, stage),
    key: extendKey(key, task.id, stage, sample),
  }));
  const options = {
    temperature: trainingTemperature(config),
    maxNewTokens: config.sampling.maxTestTokens,
    ...samplingFilters(config),
  };
  const adapters = jobs.map(({ stage }) => discriminator.adapterOf(stage));
  const { turns, tokens } = await sampleByAdapter(rows, adapters, (own, adapter) =>
    sampleTurns({ signal, heartbeat: () => undefined }, discriminator, own, { adapter, ...options }),
  );
  const tests = new Map<string, WrittenTest>();
  let unreadable = 0;
  for (const [i, { sample, stage }] of jobs.entries()) {
    const parsed = parseTests(turns[i]!.text, task, config);
    unreadable += parsed.lost;
    for (const test of parsed.tests) {
      const id = `${inputKey(test.args)} ${JSON.stringify(test.expected)}`;
      if (!tests.has(id)) tests.set(id, { sample, stage, ...test });
    }
  }
  return { tests: [...tests.values()], unreadable, tokens, turns };
}

/** The results of one sample's program. */
interface JudgedProgram {
  baseline: number; // how many baseline tests it passes
  written: number; // how many written tests it passes
  agreement: number; // for how many inputs its answer is the one that the programs vote for
}

/**
 * Runs every program on the baseline tests and on all written tests.
 * @param trusted whether the weight of a program's vote depends on the baseline tests that it passes
 */
export async function judgeSamples(
  { config, sandbox }: Pick<Solver, 'config' | 'sandbox'>,
  task: Problem,
  programs: readonly string[],
  written: readonly WrittenTest[],
  { trusted, signal }: { trusted: boolean; signal?: AbortSignal | undefined },
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
  const suites = [task.baselineTests, suiteOf(expected), suiteOf(answers)];
  const jobs = suites.map((tests) => ({ problem: task, programs, tests }));
  const { runs } = await runPrograms(sandbox, config.limits, jobs, { signal });
  const [baseline, onWritten, onVoted] = runs.map((own) => own.map(({ verdicts }) => verdicts));
  let judged = 0;
  const tests = written.map(({ sample, stage, args, expected: own }, t): TestReport => {
    const call = `${task.entry}${formatArguments(args)}`;
    const place = expected[t] === undefined ? undefined : judged++;
    const verdicts = place === undefined ? [] : onWritten!.map((of) => of[place]!);
    return { sample, stage, call, expected: own === undefined ? null : formatValue(own), verdicts };
  });
  const counts = programs.map((_, p) => ({
    baseline: countPassed(baseline![p]!),
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
