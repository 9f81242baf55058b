// Functions on lists of chains.
import { groupBy } from '../core/base/groups.js';
import { judgedCode } from '../core/parse/code.js';
import type { Chain, TestTarget } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { Problem } from '../core/schema/problem.js';
import type { Scope } from './scope.js';

/** The program of a chain that is judged, or '' if it has none. */
export function codeOf(chain: Chain, problem: Pick<Problem, 'entry' | 'functionSignature'>, config: RunConfig): string {
  const last = chain.turns.findLast((turn) => turn.stage === 5);
  return last ? judgedCode(last.text, config.prompts, problem) : '';
}

/** Groups chains by problem. Problems have the order of the batch. */
export const groupByProblem = (chains: Chain[]): Map<string, Chain[]> => groupBy(chains, ({ problemId }) => problemId);

/** The indices of chains without a truncated turn, or all indices if there are none. */
export function preferComplete(chains: Chain[], indices: number[]): number[] {
  const complete = indices.filter((index) => chains[index]!.turns.every((turn) => !turn.truncated));
  return complete.length > 0 ? complete : indices;
}

/**
 * The chain of a target, and all chains of its problem in the same list. Targets may refer to several lists, because archived
 * chains come from earlier batches. Lists are large: one is read at a time, and only these chains are kept.
 */
export async function chainReader(
  scope: Scope,
  targets: TestTarget[],
): Promise<(target: TestTarget) => { chain: Chain; group: Chain[] }> {
  const found = new Map<TestTarget, { chain: Chain; group: Chain[] }>();
  for (const [digest, own] of groupBy(targets, ({ chain }) => chain.chains)) {
    const list = await scope.store.getJson(digest);
    const groups = groupByProblem(list);
    for (const target of own) {
      const chain = list[target.chain.index]!;
      found.set(target, { chain, group: groups.get(chain.problemId)! });
    }
  }
  return (target) => found.get(target)!;
}
