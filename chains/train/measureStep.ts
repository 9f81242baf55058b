// Figures of a step that no reward depends on. The alarms watch them (core/run/alarms.ts).
import { tellingLiterals, tellingValues } from '../../core/parse/telling.js';
import { countGroups, type SampleResult } from '../../core/rewards/groups.js';
import { turnOutcome } from '../../core/rewards/outcomes.js';
import { mean } from '../../core/rewards/rates.js';
import { REWARD_RULES } from '../../core/rewards/rewards.js';
import { type JudgedTurn, passesAll, type Term } from '../../core/rewards/rule.js';
import type { Chain } from '../../core/schema/chain.js';
import type { Verdict } from '../../core/schema/execution.js';
import type { StepFigures } from '../../core/schema/metrics.js';
import type { Problem } from '../../core/schema/problem.js';
import type { SuiteVerdicts, VoteCounts } from '../../core/schema/verdicts.js';
import type { MeasureStepInput } from '../../method/train.js';
import { problemOf, readConfig, readProblems } from '../artifacts.js';
import { codeOf, groupByProblem } from '../chainLists.js';
import type { Scope } from '../scope.js';
import { judgedTurns } from './computeRewards.js';

export async function measureStep({ store }: Pick<Scope, 'store'>, input: MeasureStepInput): Promise<StepFigures> {
  const config = await readConfig(store, input.run);
  const judged = await store.getJson(input.verdicts);
  if (input.role === 'discriminator') {
    const groups = judged.map(judgedTurns);
    const terms = groups.flatMap((turns) => REWARD_RULES[config.reward.scheme].discriminatorTerms(turns));
    return {
      ...countGroups(groups.map((turns) => turns.map(resultOfTurn))),
      termShares: termShares(terms),
      ...voteFigures(judged),
    };
  }
  const { byId } = await readProblems(store, input.run.problems);
  const chains = groupByProblem(input.chains ? await store.getJson(input.chains) : []);
  const hardCoded = judged.flatMap(({ problemId, suite }) => {
    const problem = problemOf(byId, problemId);
    const programs = (chains.get(problemId) ?? []).map((chain) => codeOf(chain, problem, config));
    const values = suite.flatMap(({ test }) => ('args' in test ? [...test.args, test.expected] : []));
    return areHardCoded(programs, problem, values);
  });
  const lengths = [...chains.values()].flat().flatMap(tokensOfProgram);
  return {
    ...countGroups(judged.map(({ verdicts }) => verdicts.map(resultOfProgram))),
    ...(lengths.length > 0 && { programTokens: mean(lengths) }),
    ...(hardCoded.length > 0 && { literalRate: mean(hardCoded.map(Number)) }),
    ...voteFigures(judged),
  };
}

const resultOfProgram = (verdicts: Verdict[]): SampleResult => ({
  right: passesAll(verdicts),
  tests: verdicts.join(),
});

const resultOfTurn = (turn: JudgedTurn): SampleResult => ({
  right: turnOutcome(turn) === 'caught',
  tests: [...turn.tests.map(({ valid, caught }) => `${valid} ${caught}`).sort(), turn.lost].join(),
});

/** Figures of the votes. Each problem counts once. */
function voteFigures(judged: readonly SuiteVerdicts[]): StepFigures {
  const counts = [...new Map(judged.map(({ problemId, votes }) => [problemId, votes])).values()].flatMap(
    (one) => one ?? [],
  );
  const sumOf = (field: keyof VoteCounts): number => counts.reduce((sum, one) => sum + one[field], 0);
  const [inputs, given] = [sumOf('inputs'), sumOf('given')];
  return {
    ...(inputs > 0 && { voteAgreement: sumOf('agreement') / inputs, voteDropped: sumOf('dropped') / inputs }),
    ...(given > 0 && { voteErrors: sumOf('wrong') / given }),
  };
}

/** The share of each term in the sum of absolute terms, without samples whose reward has only one term. */
function termShares(terms_S: readonly Term[][]): Record<string, number> {
  const sizes: Record<string, number> = {};
  for (const { name, weight, share } of terms_S.filter(({ length }) => length > 1).flat())
    sizes[name] = (sizes[name] ?? 0) + Math.abs(weight * share);
  const sum = Object.values(sizes).reduce((total, size) => total + size, 0);
  return sum === 0 ? {} : Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, size / sum]));
}

/** For each program, whether it contains a value of its tests. Values that the reference also contains do not count. */
function areHardCoded(programs: string[], problem: Problem, values: Parameters<typeof tellingValues>[0][]): boolean[] {
  const { entry, calling, referenceSolution = '' } = problem;
  const own = calling?.style === 'stdio' ? undefined : entry; // a whole program is not a function
  const honest = tellingLiterals(referenceSolution, undefined);
  const telling = new Set(values.flatMap(tellingValues).filter((value) => !honest.has(value)));
  const known = new Map<string, boolean>();
  return programs.map((code) => {
    if (!known.has(code)) known.set(code, telling.size > 0 && intersects(tellingLiterals(code, own), telling));
    return known.get(code)!;
  });
}

const intersects = (some: Iterable<string>, others: ReadonlySet<string>): boolean =>
  [...some].some((value) => others.has(value));

/** The length of the answer that contains the program. Cut answers are left out, because the model would have written more. */
function tokensOfProgram({ turns }: Chain): number[] {
  const last = turns.findLast(({ stage }) => stage === 5);
  return last === undefined || last.truncated ? [] : [last.answerTokens.length];
}
