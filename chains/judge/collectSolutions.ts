// Collects programs and verdicts, the result of `solveProblems`.
import { countPassed } from '../../core/rewards/rule.js';
import type { Solution } from '../../core/schema/solving.js';
import type { CollectSolutionsInput, CollectSolutionsOutput } from '../../method/judge.js';
import { problemOf, readConfig, readProblems } from '../artifacts.js';
import { codeOf } from '../chainLists.js';
import type { Scope } from '../scope.js';
import { chainViews } from './chainViews.js';

export async function collectSolutions(scope: Scope, input: CollectSolutionsInput): Promise<CollectSolutionsOutput> {
  const { store } = scope;
  const config = await readConfig(store, input.run);
  const { byId } = await readProblems(store, input.run.problems);
  const chains = await store.getJson(input.chains);
  const judged = await store.getJson(input.verdicts);
  const judgedOf = new Map(judged.map((one) => [one.problemId, one]));
  const solutions = chains.map((chain): Solution => {
    const { candidates, verdicts: all } = judgedOf.get(chain.problemId)!;
    const verdicts = all[candidates.findIndex(({ sample }) => sample === chain.sample)] ?? [];
    return {
      problemId: chain.problemId,
      sample: chain.sample,
      code: codeOf(chain, problemOf(byId, chain.problemId), config),
      passed: countPassed(verdicts),
      tests: verdicts.length,
    };
  });
  const batch = input.tests === undefined ? undefined : await store.getJson(input.tests);
  return {
    solutions: await store.putJson(solutions),
    views: await store.putJson(chainViews(chains, judged, byId, config, batch)),
    solved: new Set(solutions.filter((s) => s.tests > 0 && s.passed === s.tests).map((s) => s.problemId)).size,
    problems: judged.length,
  };
}
