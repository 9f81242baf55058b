// Reads the rollouts of a step from its artifacts: groups of samples with their texts, tests, verdicts and rewards.
import { problemOf, readConfig, readProblems } from '../../chains/artifacts.js';
import { codeOf, groupByProblem } from '../../chains/chainLists.js';
import { shownCall, shownTest } from '../../chains/judge/chainViews.js';
import {
  discriminatorRewards,
  generatorRewards,
  generatorTerms,
  judgedTurns,
  judgeTurn,
} from '../../chains/train/computeRewards.js';
import { GauntletError } from '../../core/base/errors.js';
import { STAGE_SPECS } from '../../core/prompts/stages.js';
import { countsOf, programReason, testReason } from '../../core/rewards/explain.js';
import { type Outcome, programOutcome, turnOutcome } from '../../core/rewards/outcomes.js';
import { REWARD_RULES } from '../../core/rewards/rewards.js';
import { countPassed, type Term } from '../../core/rewards/rule.js';
import { groupAdvantages } from '../../core/rl/advantages.js';
import type { Chain, TestBatch } from '../../core/schema/chain.js';
import type { ShownTest } from '../../core/schema/chainView.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { Problem } from '../../core/schema/problem.js';
import type { SuiteVerdicts, ValidatedTest, ValidatedTurn } from '../../core/schema/verdicts.js';
import type { Store } from '../../store/store.js';
import type {
  GroupSummary,
  GroupView,
  ProgramView,
  Rewarded,
  SampleSummary,
  StepView,
  TestTurnView,
  WrittenTest,
} from '../api.js';
import { stepRow } from './records.js';

/** The artifacts of a step, with the reward and the advantage of every sample. */
export interface Rollouts {
  record: StepMetrics;
  config: RunConfig;
  byId: Map<string, Problem>;
  judged: SuiteVerdicts[]; // has one entry per group
  batch?: TestBatch;
  rewards_P_G: number[][];
  advantages_P_G: number[][];
}

/**
 * @param withTests false leaves out the tests written for programs, which are the largest artifact of a step
 * @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT if an artifact was removed or is damaged
 */
export async function readRollouts(store: Store, record: StepMetrics, withTests = true): Promise<Rollouts> {
  const { role, artifacts } = record;
  const config = await readConfig(store, artifacts);
  const { byId } = await readProblems(store, artifacts.problems);
  const judged = await store.getJson(artifacts.verdicts);
  const batch = artifacts.tests === undefined || !withTests ? undefined : await store.getJson(artifacts.tests);
  const rewardsOf = role === 'generator' ? generatorRewards : discriminatorRewards;
  const rewards_P_G = judged.map((one) => rewardsOf(one, config));
  const advantages_P_G = rewards_P_G.map((rewards_G) => groupAdvantages(rewards_G, config.advantage));
  return {
    record,
    config,
    byId,
    judged,
    rewards_P_G,
    batch,
    advantages_P_G,
  };
}

export function stepView(run: string, steps: readonly StepMetrics[], rollouts: Rollouts): StepView {
  const { record } = rollouts;
  const at = steps.findIndex(({ step }) => step === record.step);
  return {
    run,
    ...stepRow(record),
    previous: steps[at - 1]?.step,
    next: steps[at + 1]?.step,
    groups: rollouts.judged.map((one, index) => groupSummary(rollouts, one, index)),
  };
}

export function groupSummary(rollouts: Rollouts, one: SuiteVerdicts, index: number): GroupSummary {
  const { record, batch } = rollouts;
  const rewards = rollouts.rewards_P_G[index]!;
  const advantages = rollouts.advantages_P_G[index]!;
  const samples = rewards.map((reward, i): SampleSummary => {
    const credit = { reward, advantage: advantages[i]! };
    if (record.role === 'generator') {
      const candidate = one.candidates[i]!;
      const verdicts = one.verdicts[i] ?? [];
      const outcome = programOutcome(candidate, verdicts);
      const { sample, empty } = candidate;
      return { sample, ...credit, outcome, good: countPassed(verdicts), of: verdicts.length, empty };
    }
    const turn = judgeTurn(one, one.turns[i]!);
    const { tests, lost } = turn;
    const good = tests.filter(({ valid }) => valid).length;
    const outcome = turnOutcome(turn);
    return { sample: i, ...credit, outcome, good, of: tests.length + lost, ...(tests.length === 0 && { empty: true }) };
  });
  const stage = record.role === 'discriminator' ? batch?.turns[one.turns[0]?.turn ?? -1]?.stage : undefined;
  return { index, problemId: one.problemId, stage, tests: one.suite.length, samples };
}

/** @throws GauntletError NOT_FOUND */
export async function readGroup(store: Store, run: string, rollouts: Rollouts, index: number): Promise<GroupView> {
  const { record, config, byId } = rollouts;
  const one = groupOf(rollouts, index);
  const problem = problemOf(byId, one.problemId);
  const isGenerator = record.role === 'generator';
  const rewardOf = (i: number, outcome: Outcome, terms: Rewarded['terms']): Rewarded => {
    const advantage = rollouts.advantages_P_G[index]![i]!;
    const reward = rollouts.rewards_P_G[index]![i]!;
    return { reward, outcome, terms, advantage };
  };
  const chains = await chainsOf(store, rollouts, one, index);
  const programs = chains.map((chain, c): ProgramView => {
    const verdicts = one.verdicts[c] ?? [];
    return {
      sample: chain.sample,
      stages: chain.turns.map(({ stage, text, truncated }) => ({
        stage,
        title: STAGE_SPECS[stage].title.toLowerCase(),
        text,
        truncated,
      })),
      program: codeOf(chain, problem, config),
      verdicts,
      ...(isGenerator && rewardOf(c, programOutcome(one.candidates[c]!, verdicts), programTerms(one, c, config))),
    };
  });
  const terms = isGenerator ? [] : discriminatorTerms(one, config);
  const turns = one.turns.map((turn, i) => ({
    ...turnView(rollouts, one, turn, problem),
    ...(isGenerator ? {} : { ...rewardOf(i, turnOutcome(judgeTurn(one, turn)), terms[i]), sample: i }),
  }));
  const { id, description, functionSignature: signature, difficulty, referenceSolution: reference } = problem;
  return {
    run,
    step: record.step,
    role: record.role,
    index,
    problem: { id, description, signature, difficulty, reference },
    suite: one.suite.map(({ origin, test }) => ({ ...shownCall(problem.entry, test), origin })),
    programs,
    turns,
  };
}

/** @throws GauntletError NOT_FOUND */
export function groupOf({ record, judged }: Rollouts, index: number): SuiteVerdicts {
  const one = judged[index];
  if (one !== undefined) return one;
  throw new GauntletError('NOT_FOUND', `step ${record.step} has no group ${index}: it has ${judged.length}`);
}

/** The chains of a group, in the order of its candidates. An archived program is read from the chains of an earlier step. */
export async function chainsOf(
  store: Store,
  { record, batch }: Rollouts,
  one: SuiteVerdicts,
  index: number,
): Promise<Chain[]> {
  if (record.role === 'generator') {
    const { chains } = record.artifacts;
    return chains === undefined ? [] : (groupByProblem(await store.getJson(chains)).get(one.problemId) ?? []);
  }
  const target = batch?.targets[index]?.chain;
  const chain = target && (await store.getJson(target.chains))[target.index];
  return chain === undefined ? [] : [chain];
}

/** The terms whose sum is the reward of a program. */
const programTerms = (one: SuiteVerdicts, c: number, { reward }: RunConfig): Rewarded['terms'] =>
  generatorTerms(REWARD_RULES[reward.scheme], one, c).map((own) => shownTerm(own, programReason(own)));

const discriminatorTerms = (one: SuiteVerdicts, { reward }: RunConfig): Rewarded['terms'][] => {
  const turns = judgedTurns(one);
  return REWARD_RULES[reward.scheme].discriminatorTerms(turns).map((terms, i) => {
    const counts = countsOf(turns[i]!.tests, turns[i]!.lost);
    return terms.map((own) => shownTerm(own, testReason(own, counts)));
  });
};

export const shownTerm = (own: Term, reason?: string) => ({ ...own, value: own.weight * own.share, reason });

function turnView({ batch }: Rollouts, one: SuiteVerdicts, turn: ValidatedTurn, problem: Problem): TestTurnView {
  const { stage, text, truncated, sample, chainSample } = batch!.turns[turn.turn]!;
  const candidate = one.candidates.findIndex((each) => each.sample === chainSample);
  const verdicts = one.verdicts[Math.max(0, candidate)] ?? [];
  const shown = (test: ValidatedTest): WrittenTest => writtenTest(shownTest(test, problem, verdicts));
  return { sample, chainSample, stage, text, truncated, tests: turn.tests.map(shown), lost: turn.lost };
}

export function writtenTest({ valid, verdict, ...test }: ShownTest): WrittenTest {
  if (!valid) return { ...test, outcome: verdict === undefined ? 'invalid' : 'corrected', verdict };
  return { ...test, outcome: verdict === undefined || verdict === 'pass' ? 'valid' : 'caught', verdict };
}

/** Runs `work`. Undefined if an artifact was removed from the store. */
export async function unlessRemoved<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GauntletError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}
