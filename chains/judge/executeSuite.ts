// Validates generated tests with the reference, then runs every candidate on its suite in the sandbox.
import { replayedTests } from '../../core/rewards/mistakeBook.js';
import { REWARD_RULES } from '../../core/rewards/rewards.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import type { ExecuteSuiteInput, ExecuteSuiteOutput } from '../../method/judge.js';
import { problemOf, readConfig, readProblems } from '../artifacts.js';
import { chainReader, groupByProblem } from '../chainLists.js';
import type { Scope } from '../scope.js';
import { type JudgingTask, judgeTasks } from './judging.js';
import { withMutants } from './mutants.js';

export async function executeSuite(scope: Scope, input: ExecuteSuiteInput): Promise<ExecuteSuiteOutput> {
  const config = await readConfig(scope.store, input.run);
  const { byId } = await readProblems(scope.store, input.run.problems);
  const bookOf = await bookReader(scope, input, config);
  const isReward = input.per === 'target' && input.suite === 'baseline'; // the verdicts reward the discriminator
  const takesGroup = isReward && REWARD_RULES[config.reward.scheme].targetsGroup;
  const tasks = (await readTasks(scope, input, byId)).map((task) => {
    const others = takesGroup ? task.voters!.filter((chain) => !task.candidates.includes(chain)) : [];
    return { ...task, candidates: [...task.candidates, ...others], book: bookOf(task.problem) };
  });
  const { judged, executions } = await judgeTasks(scope, config, tasks);
  if (input.mutants === undefined) return { verdicts: await scope.store.putJson(judged), executions };
  const problems = tasks.map(({ problem }) => problem);
  const killed = await withMutants(scope, config, problems, judged, input.mutants);
  return { verdicts: await scope.store.putJson(killed.judged), executions: executions + killed.executions };
}

async function readTasks(scope: Scope, input: ExecuteSuiteInput, byId: Map<string, Problem>): Promise<JudgingTask[]> {
  const batch = input.tests ? await scope.store.getJson(input.tests) : undefined;
  if (input.per === 'target') {
    if (!batch) throw new TypeError("executeSuite per 'target' needs tests");
    const chainOf = await chainReader(scope, batch.targets);
    return batch.targets.map((target, t) => {
      const problem = problemOf(byId, target.problemId);
      const { chain, group } = chainOf(target);
      const first = t * batch.samples;
      const turns = batch.turns.slice(first, first + batch.samples).map((sample, g) => ({ turn: first + g, sample }));
      return { problem, candidates: [chain], voters: group, turns, suite: input.suite };
    });
  }
  if (!input.chains) throw new TypeError("executeSuite per 'problem' needs chains");
  const groups = groupByProblem(await scope.store.getJson(input.chains));
  return [...groups].map(([problemId, candidates]) => {
    const problem = problemOf(byId, problemId);
    const turns = (batch?.turns ?? []).flatMap((sample, turn) =>
      sample.problemId === problemId ? [{ turn, sample }] : [],
    );
    return { problem, candidates, turns, suite: input.suite };
  });
}

/** Reads the mistake book. The returned function gives the tests of the book that join the suite of a problem. */
async function bookReader(
  { store }: Scope,
  { replayBuffer }: ExecuteSuiteInput,
  { reward }: RunConfig,
): Promise<(problem: Problem) => TestCase[]> {
  if (!REWARD_RULES[reward.scheme].keepsBook || replayBuffer === undefined) return () => [];
  const { book = {} } = await store.getJson(replayBuffer);
  return ({ id }) => replayedTests(book, id);
}
