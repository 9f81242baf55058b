// From verdicts to rewards, advantages and trajectories. All formulas are core's; this file only lines things up.
import { countTests, meanRates, testRates, typeCheckRate } from '../core/rewards/counts.js';
import { type JudgedTurn, REWARD_RULES, typePenalty } from '../core/rewards/rewards.js';
import { addToPool, inputKey, suiteRates } from '../core/rewards/suite.js';
import { type RewardedSample, toTrajectories } from '../core/rl/trajectories.js';
import type { Role } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { RewardMetrics } from '../core/schema/metrics.js';
import type { Trajectory } from '../core/schema/trajectory.js';
import {
  type ChainList,
  type ReplayBuffer,
  readConfig,
  type SuiteVerdicts,
  type TestBatch,
  type ValidatedTurn,
} from './artifacts.js';
import { groupByProblem, mean } from './executeSuite.js';
import type { Scope } from './scope.js';
import type { ComputeRewardsInput, ComputeRewardsOutput } from './types.js';

interface Rewarded {
  groups: RewardedSample[][];
  replayBuffer: string;
  emptyOutputs: number;
}

export async function computeRewards(scope: Scope, input: ComputeRewardsInput): Promise<ComputeRewardsOutput> {
  const config = await readConfig(scope.store, input.run);
  const cells = await scope.store.getJson<SuiteVerdicts[]>(input.verdicts);
  const rewarded =
    input.role === 'generator'
      ? await rewardGenerator(scope, input, config, cells)
      : await rewardDiscriminator(scope, input, config, cells);
  const trajectories: Trajectory[] = toTrajectories(rewarded.groups, {
    trainedStage: input.position.stage,
    // a discriminator sample is one turn, trained whole whichever stage it is about
    credit: input.role === 'generator' ? config.credit : 'suffix',
    ...config.advantage,
    regularised: config.ppo.klCoefficient > 0 || config.ppo.entropyBonus > 0,
  });
  return {
    trajectories: await scope.store.putJson(trajectories),
    replayBuffer: rewarded.replayBuffer,
    rows: trajectories.length,
    metrics: { ...rewardMetrics(rewarded, cells, input.role), emptyOutputs: rewarded.emptyOutputs },
  };
}

/** Every sample of a problem on the same suite; a group is a problem. */
async function rewardGenerator(
  scope: Scope,
  input: ComputeRewardsInput,
  config: RunConfig,
  cells: SuiteVerdicts[],
): Promise<Rewarded> {
  if (!input.chains) throw new TypeError('rewards of the generator need its chains');
  const chains = groupByProblem(await scope.store.getJson<ChainList>(input.chains));
  const rule = REWARD_RULES[config.reward.scheme];
  const groups = cells.map((cell) =>
    chains.get(cell.problemId)!.map(({ turns }, c) => ({
      turns,
      reward: rule.generator(cell.verdicts[c]!) - typePenalty(cell.types?.[c], config.typeCheck.weight),
    })),
  );
  const emptyOutputs = cells.flatMap((cell) => cell.candidates).filter(({ empty }) => empty).length;
  return { groups, replayBuffer: input.replayBuffer, emptyOutputs };
}

/** A group is a target; its valid tests join the pool of its problem. */
async function rewardDiscriminator(
  scope: Scope,
  input: ComputeRewardsInput,
  config: RunConfig,
  cells: SuiteVerdicts[],
): Promise<Rewarded> {
  if (!input.tests) throw new TypeError('rewards of the discriminator need its tests');
  const batch = await scope.store.getJson<TestBatch>(input.tests);
  const replayBuffer = await scope.store.getJson<ReplayBuffer>(input.replayBuffer);
  const rule = REWARD_RULES[config.reward.scheme];
  let { pool } = replayBuffer;
  const groups = cells.map((cell) => {
    const judged = cell.turns.map((turn) => judgeTurn(cell, turn));
    const rewards = rule.discriminator(judged, config.reward);
    const valid = cell.turns.flatMap(({ tests }) => tests.filter((test) => test.suite !== null));
    pool = addToPool(
      pool,
      cell.problemId,
      valid.map(({ args, expected }) => ({ args, expected })),
    );
    return cell.turns.map(
      ({ turn }, i): RewardedSample => ({
        turns: [{ ...batch.turns[turn]!, stage: input.position.stage }],
        reward: rewards[i]!,
      }),
    );
  });
  const emptyOutputs = cells.flatMap((cell) => cell.turns).filter(({ tests }) => tests.length === 0).length;
  return { groups, replayBuffer: await scope.store.putJson({ ...replayBuffer, pool }), emptyOutputs };
}

/** A turn's tests against the chain that they were written for: the only candidate of a target, else to be named. */
export function judgeTurn(cell: SuiteVerdicts, turn: ValidatedTurn, candidate = 0): JudgedTurn {
  const verdicts = cell.verdicts[candidate] ?? [];
  const tests = turn.tests.map(({ args, suite }) => ({
    inputs: inputKey(args),
    valid: suite !== null,
    caught: suite !== null && verdicts[suite] !== 'pass',
  }));
  return { tests, lost: turn.lost };
}

/** Bugs caught are a figure of discriminator steps, whose tests were written for the chain that they meet. */
function rewardMetrics({ groups }: Rewarded, cells: SuiteVerdicts[], role: Role): Omit<RewardMetrics, 'emptyOutputs'> {
  const rewards = groups.flat().map((sample) => sample.reward);
  const reward = mean(rewards);
  const rates = meanRates(cells.flatMap((cell) => cell.verdicts.map((verdicts) => suiteRates(cell.suite, verdicts))));
  const turns = cells.flatMap((cell) => cell.turns.map((turn) => judgeTurn(cell, turn)));
  const counts = countTests(turns);
  const { validity, uniqueInputs } = testRates(counts);
  const typed = typeCheckRate(cells.flatMap((cell) => cell.types ?? []));
  return {
    reward,
    rewardStd: Math.sqrt(mean(rewards.map((r) => (r - reward) ** 2))),
    passRate: rates.combined ?? 0,
    baselinePassRate: rates.baseline ?? 0,
    ...(rates.generated === undefined ? {} : { generatedPassRate: rates.generated }),
    ...(validity === undefined ? {} : { validity }),
    ...(uniqueInputs === undefined ? {} : { uniqueInputs }),
    ...(counts.turns === 0 || role === 'generator' ? {} : { bugCatchRate: counts.catchingTurns / counts.turns }),
    suiteSize: mean(cells.map((cell) => cell.suite.length)),
    ...(typed === undefined ? {} : { typeCheckRate: typed }),
  };
}
