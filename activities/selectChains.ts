// Which chains the discriminator practises on: of every problem one that fails a known test where there is one, else,
// mostly, a faulty chain from the archive, so that there is something to catch also when the generator is good.
import { RandomStream } from '../core/random.js';
import { chooseSubject } from '../core/rewards/archive.js';
import type { Stage } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import {
  type ChainList,
  problemOf,
  type ReplayBuffer,
  readConfig,
  readProblems,
  type TestTarget,
} from './artifacts.js';
import { groupByProblem, runQuestions } from './executeSuite.js';
import { preferComplete } from './generateTests.js';
import type { Scope } from './scope.js';
import type { JudgingTask } from './suites.js';
import type { SelectChainsInput, SelectChainsOutput } from './types.js';

export async function selectChains(scope: Scope, input: SelectChainsInput): Promise<SelectChainsOutput> {
  const config = await readConfig(scope.store, input.run);
  const { byId } = await readProblems(scope.store, input.run.problems);
  const chains = await scope.store.getJson<ChainList>(input.chains);
  const replayBuffer = await scope.store.getJson<ReplayBuffer>(input.replayBuffer);
  const questions = [...groupByProblem(chains)].map(([problemId, candidates]): JudgingTask => {
    const problem = problemOf(byId, problemId);
    return {
      problem,
      candidates,
      turns: [],
      given: [...problem.baselineTests, ...(replayBuffer.pool[problemId] ?? [])],
    };
  });
  const { cells, executions } = await runQuestions(scope, config, questions);

  const { stage, step } = input.position;
  const random = new RandomStream(config.seed, 'select', stage, step);
  let { archive } = replayBuffer;
  let faultyTargets = 0;
  let offset = 0; // of the problem's first chain: the batch is problem-major
  const targets: TestTarget[] = [];
  for (const { problemId, candidates, verdicts } of cells) {
    const first = offset;
    offset += candidates.length;
    const indices = preferComplete(
      chains,
      candidates.map((_, c) => first + c),
    );
    const choices = indices.map((index) => ({
      chain: { chains: input.chains, index },
      faulty: verdicts[index - first]!.some((verdict) => verdict !== 'pass'),
    }));
    const chosen = chooseSubject(problemId, choices, archive, config.reward.archive, random);
    archive = chosen.archive;
    if (choices.some(({ faulty }) => faulty)) faultyTargets++;
    if (chosen.subject) targets.push({ ...chosen.subject, stage: testedStage(config, stage, random) });
  }
  return {
    targets: await scope.store.putJson(targets),
    replayBuffer: await scope.store.putJson({ ...replayBuffer, archive }),
    faulty: faultyTargets,
    executions,
  };
}

/** Credit 'stage' trains the tests of the stage being trained; 'suffix' those of a drawn stage from there on. */
function testedStage(config: RunConfig, trained: Stage, random: RandomStream): Stage {
  if (config.credit === 'stage') return trained;
  return random.choice(config.stages.filter((stage) => stage >= trained));
}
