// The programs of an evaluation as EvalPlus reads samples: one line for each program, with the id of its problem.
import { problemOf, readConfig, readProblems } from '../../chains/artifacts.js';
import { codeOf } from '../../chains/chainLists.js';
import type { Store } from '../../store/store.js';
import type { EvaluateCheckpointResult } from '../../workflows/evaluateCheckpoint.js';

type Artifacts = Pick<EvaluateCheckpointResult['artifacts'], 'config' | 'problems' | 'chains'>;

/** Makes the lines. A chain without a program has an empty solution, which EvalPlus counts as wrong. */
export async function samplesOf(store: Store, artifacts: Artifacts): Promise<{ task_id: string; solution: string }[]> {
  const config = await readConfig(store, artifacts);
  const { byId } = await readProblems(store, artifacts.problems);
  const chains = await store.getJson(artifacts.chains);
  return chains.map((chain) => ({
    task_id: chain.problemId,
    solution: codeOf(chain, problemOf(byId, chain.problemId), config),
  }));
}
