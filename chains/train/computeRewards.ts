// Computes rewards, advantages and trajectories from verdicts. The formulas are in core/.
import { groupBy } from '../../core/base/groups.js';
import type { ReplayBuffer } from '../../core/rewards/archive.js';
import { updatedBook } from '../../core/rewards/mistakeBook.js';
import { countOutcomes, type OutcomeCounts, programOutcome, turnOutcome } from '../../core/rewards/outcomes.js';
import { mean, passRates, standardErrors, testRates } from '../../core/rewards/rates.js';
import { REWARD_RULES } from '../../core/rewards/rewards.js';
import { type JudgedTurn, passShare, type RewardScheme, rewardOf, type Term } from '../../core/rewards/rule.js';
import { addToPool, testKey } from '../../core/rewards/suite.js';
import { type RewardedSample, toTrajectories } from '../../core/rl/trajectories.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { RewardMetrics } from '../../core/schema/metrics.js';
import type { SuiteVerdicts, ValidatedTest, ValidatedTurn } from '../../core/schema/verdicts.js';
import type { ComputeRewardsInput, ComputeRewardsOutput } from '../../method/train.js';
import type { Ref } from '../../store/store.js';
import { readConfig } from '../artifacts.js';
import { groupByProblem } from '../chainLists.js';
import type { Scope } from '../scope.js';

interface Rewarded {
  groups: RewardedSample[][];
  replayBuffer: Ref<ReplayBuffer>;
  outcomes: OutcomeCounts;
}

export async function computeRewards(scope: Scope, input: ComputeRewardsInput): Promise<ComputeRewardsOutput> {
  const config = await readConfig(scope.store, input.run);
  const judged = await scope.store.getJson(input.verdicts);
  const reward = input.role === 'generator' ? rewardGenerator : rewardDiscriminator;
  const { groups, replayBuffer, outcomes } = await reward(scope, input, config, judged);
  const trajectories = toTrajectories(groups, {
    trainedStage: input.position.stage,
    // a discriminator sample is one turn, which is trained whole
    credit: input.role === 'generator' ? config.credit : 'suffix',
    negativeWeight: config.advantage.negativeWeight,
    regularised: config.ppo.klCoefficient > 0 || config.ppo.entropyBonus > 0,
  });
  return {
    trajectories: await scope.store.putJson(trajectories),
    replayBuffer,
    rows: trajectories.length,
    metrics: {
      ...rewardMetrics(groups, judged, input.role),
      outcomes,
      standardErrors: errorsOf(groups, judged, input.role),
    },
  };
}

/** Rewards programs. A group is the programs for one problem, which share one suite. */
async function rewardGenerator(
  scope: Scope,
  input: ComputeRewardsInput,
  config: RunConfig,
  judged: SuiteVerdicts[],
): Promise<Rewarded> {
  if (!input.chains) throw new TypeError('rewards of the generator need its chains');
  const chains = groupByProblem(await scope.store.getJson(input.chains));
  const rule = REWARD_RULES[config.reward.scheme];
  const groups = judged.map((one) => {
    const rewards = generatorRewards(one, config);
    return chains.get(one.problemId)!.map(({ turns }, c) => ({ turns, reward: rewards[c]! }));
  });
  const outcomes = countOutcomes(
    judged.flatMap(({ candidates, verdicts }) => candidates.map((one, c) => programOutcome(one, verdicts[c] ?? []))),
  );
  if (!rule.keepsBook) return { groups, replayBuffer: input.replayBuffer, outcomes };
  const buffer = withBook(await scope.store.getJson(input.replayBuffer), judged);
  return { groups, replayBuffer: await scope.store.putJson(buffer), outcomes };
}

/** The rewards of all candidates of a problem. */
export function generatorRewards(one: SuiteVerdicts, { reward }: RunConfig): number[] {
  const rule = REWARD_RULES[reward.scheme];
  return one.candidates.map((_, c) => rewardOf(generatorTerms(rule, one, c)));
}

/** The terms of the reward of one candidate. */
export function generatorTerms(rule: RewardScheme, { suite, verdicts }: SuiteVerdicts, c: number): Term[] {
  const own = verdicts[c] ?? [];
  const isBook = (i: number): boolean => suite[i]!.origin === 'book';
  return rule.generatorTerms(
    own.filter((_, i) => !isBook(i)),
    own.filter((_, i) => isBook(i)),
  );
}

const isProgram = (candidate: SuiteVerdicts['candidates'][number] | undefined): boolean =>
  candidate !== undefined && !candidate.empty && !candidate.unparsed;

/** Updates the mistake book with all judged suites of each problem. Programs that do not parse say nothing about a test. */
function withBook(buffer: ReplayBuffer, judged: SuiteVerdicts[]): ReplayBuffer {
  const book = [...groupBy(judged, ({ problemId }) => problemId)].reduce((known, [problemId, suites]) => {
    const outcomes = suites.flatMap(({ suite, verdicts, candidates }) => {
      const parsed = verdicts.filter((_, c) => isProgram(candidates[c]));
      const isFailed = (i: number): boolean => parsed.some((own) => own[i] !== 'pass');
      return parsed.length === 0 ? [] : suite.map((test, i) => ({ ...test, failed: isFailed(i) }));
    });
    return updatedBook(known, problemId, outcomes);
  }, buffer.book ?? {});
  return { ...buffer, book };
}

/** Rewards tests. A group is the turns for one target. Their valid tests join the pool of the problem. */
async function rewardDiscriminator(
  scope: Scope,
  input: ComputeRewardsInput,
  config: RunConfig,
  judged: SuiteVerdicts[],
): Promise<Rewarded> {
  if (!input.tests) throw new TypeError('rewards of the discriminator need its tests');
  const batch = await scope.store.getJson(input.tests);
  const replayBuffer = await scope.store.getJson(input.replayBuffer);
  const rule = REWARD_RULES[config.reward.scheme];
  let { pool } = replayBuffer;
  const outcomes = countOutcomes(judged.flatMap((one) => judgedTurns(one).map(turnOutcome)));
  const groups = judged.map((one) => {
    const rewards = discriminatorRewards(one, config);
    const valid = one.turns.flatMap(({ tests }) => tests.filter((test) => test.suite !== null));
    pool = addToPool(
      pool,
      one.problemId,
      valid.map(({ args, expected }) => ({ args, expected: expected! })),
    );
    return one.turns.map(
      ({ turn }, i): RewardedSample => ({
        turns: [{ ...batch.turns[turn]!, stage: input.position.stage }],
        reward: rewards[i]!,
      }),
    );
  });
  const withPool = { ...replayBuffer, pool };
  const updated = rule.keepsBook ? withBook(withPool, judged) : withPool;
  return { groups, replayBuffer: await scope.store.putJson(updated), outcomes };
}

/** The rewards of all samples for a target. */
export const discriminatorRewards = (one: SuiteVerdicts, { reward }: RunConfig): number[] =>
  REWARD_RULES[reward.scheme].discriminatorTerms(judgedTurns(one)).map(rewardOf);

export const judgedTurns = (one: SuiteVerdicts): JudgedTurn[] => one.turns.map((turn) => judgeTurn(one, turn));

/** Judges the tests of a turn on the program that they were written for, which is the first candidate of a target. */
export function judgeTurn(one: SuiteVerdicts, { tests, lost }: ValidatedTurn, candidate = 0): JudgedTurn {
  const verdicts = one.verdicts[candidate];
  const judged = tests.map((test) => {
    const { suite } = test;
    const valid = isValid(test);
    return {
      inputs: testKey(test),
      valid,
      caught: suite !== null && verdicts?.[suite] !== 'pass',
      ...(valid && { failedBy: programsThatFail(one, suite!) }),
    };
  });
  const book = (verdicts ?? []).filter((_, i) => one.suite[i]!.origin === 'book');
  const bookFailRate = book.length === 0 ? undefined : 1 - passShare(book);
  return { tests: judged, lost, target: { parses: isProgram(one.candidates[candidate]), bookFailRate } };
}

const programsThatFail = ({ candidates, verdicts }: SuiteVerdicts, test: number): number[] =>
  candidates.flatMap((candidate, c) => (isProgram(candidate) && verdicts[c]![test] !== 'pass' ? [c] : []));

/** A corrected test is part of the suite, but not valid. */
export const isValid = (test: ValidatedTest): boolean => test.suite !== null && !test.corrected;

function errorsOf(groups: RewardedSample[][], judged: SuiteVerdicts[], role: ComputeRewardsInput['role']) {
  const { rewardStd: _, ...errors } = standardErrors(
    groups.map((group, i) => rewardMetrics([group], [judged[i]!], role)),
  );
  return errors;
}

function rewardMetrics(
  groups: RewardedSample[][],
  judged: SuiteVerdicts[],
  role: ComputeRewardsInput['role'],
): Omit<RewardMetrics, 'outcomes'> {
  const rewards = groups.flat().map((sample) => sample.reward);
  const reward = mean(rewards);
  const rates = passRates(judged.flatMap(({ suite, verdicts }) => verdicts.map((own) => ({ suite, verdicts: own }))));
  const { validity, uniqueInputs, bugCatchRate } = testRates(judged.map(judgedTurns));
  return {
    reward,
    rewardStd: Math.sqrt(mean(rewards.map((r) => (r - reward) ** 2))),
    passRate: rates.combined ?? 0,
    baselinePassRate: rates.baseline ?? 0,
    generatedPassRate: rates.generated,
    validity,
    uniqueInputs,
    // in generator steps, tests were written for one sample of the problem only
    bugCatchRate: role === 'discriminator' ? bugCatchRate : undefined,
    suiteSize: mean(judged.map(({ suite }) => suite.length)),
  };
}
