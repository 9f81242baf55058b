// Selects the chains that the discriminator writes tests for: all, or one of each problem. One is a chain that fails a known
// test, if there is one; otherwise, with some probability, a faulty chain from the archive. So there are bugs to find even
// if the generator is good.
import { RandomStream } from '../../core/base/random.js';
import { chooseTargetChain } from '../../core/rewards/archive.js';
import { poolOf } from '../../core/rewards/suite.js';
import type { Stage, TestTarget } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { SelectChainsInput, SelectChainsOutput } from '../../method/judge.js';
import { problemOf, readConfig, readProblems } from '../artifacts.js';
import { groupByProblem, preferComplete } from '../chainLists.js';
import type { Scope } from '../scope.js';
import { type JudgingTask, judgeTasks } from './judging.js';

export async function selectChains(scope: Scope, input: SelectChainsInput): Promise<SelectChainsOutput> {
  const config = await readConfig(scope.store, input.run);
  const { byId } = await readProblems(scope.store, input.run.problems);
  const chains = await scope.store.getJson(input.chains);
  const { stage, step } = input.position;
  const random = new RandomStream(config.seed, 'select', stage, step);
  if (config.discriminator.targets === 'all') {
    const targets = chains.map(({ problemId }, index): TestTarget => {
      return { problemId, chain: { chains: input.chains, index }, stage: testedStage(config, stage, random) };
    });
    return { targets: await scope.store.putJson(targets), replayBuffer: input.replayBuffer, executions: 0 };
  }
  const replayBuffer = await scope.store.getJson(input.replayBuffer);
  const tasks = [...groupByProblem(chains)].map(([problemId, candidates]): JudgingTask => {
    const problem = problemOf(byId, problemId);
    return { problem, candidates, turns: [], suite: 'baseline', pool: poolOf(replayBuffer.pool, problemId) };
  });
  const { judged, executions } = await judgeTasks(scope, config, tasks);

  const { entries } = replayBuffer.archive;
  let archive = { entries: entries.filter(({ problemId }) => byId.has(problemId)) }; // a fork may have problems of its own
  let first = 0; // index of the problem's first chain; chains of a problem are adjacent
  const targets: TestTarget[] = [];
  for (const { problemId, candidates, verdicts } of judged) {
    const offset = first;
    const indices = candidates.map((_, c) => offset + c);
    const choices = preferComplete(chains, indices).map((index) => ({
      chain: { chains: input.chains, index },
      faulty: verdicts[index - offset]!.some((verdict) => verdict !== 'pass'),
    }));
    const chosen = chooseTargetChain(problemId, choices, archive, config.reward.archive, random);
    archive = chosen.archive;
    if (chosen.target) targets.push({ ...chosen.target, stage: testedStage(config, stage, random) });
    first += candidates.length;
  }
  return {
    targets: await scope.store.putJson(targets),
    replayBuffer: await scope.store.putJson({ ...replayBuffer, archive }),
    executions,
  };
}

/** The stage in training, or with credit 'suffix' a random stage that is not before the stage in training. */
function testedStage(config: RunConfig, trained: Stage, random: RandomStream): Stage {
  if (config.credit !== 'suffix') return trained;
  return random.choice(config.stages.filter((stage) => stage >= trained));
}
