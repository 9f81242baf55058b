// The workflow solveProblems from the command line: `solve`, `show` and the chain at the end of the demo.
import type { Client } from '@temporalio/client';
import type { SolveProblemsInput } from '../activities/types.js';
import { TASK_QUEUES } from '../core/queues.js';
import { passAtK } from '../core/rl/scores.js';
import { type ChainView, chainViewSchema } from '../core/schema/chainView.js';
import type { Store } from '../store/store.js';
import type { solveProblems } from '../workflows/solveProblems.js';

export interface Solved {
  solved: number;
  problems: number;
  views: ChainView[];
  codes: { problemId: string; code: string; passed: number; tests: number }[];
}

export async function solve(client: Client, store: Store, input: SolveProblemsInput): Promise<Solved> {
  const result = await client.workflow.execute<typeof solveProblems>('solveProblems', {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId: `solve-${Date.now().toString(36)}-${process.pid}`,
    args: [input],
  });
  return {
    solved: result.solved,
    problems: result.problems,
    views: chainViewSchema.array().parse(await store.getJson(result.views)),
    codes: await store.getJson(result.solutions),
  };
}

/** Means over the problems of the chance that one of k programs passes all its tests, for k = 1 and k = n, the samples. */
export function passRates(codes: Solved['codes']): { samples: number; pass1: number; passN: number } {
  const byProblem = new Map<string, { n: number; c: number }>();
  for (const { problemId, passed, tests } of codes) {
    const { n, c } = byProblem.get(problemId) ?? { n: 0, c: 0 };
    byProblem.set(problemId, { n: n + 1, c: c + (tests > 0 && passed === tests ? 1 : 0) });
  }
  const counts = [...byProblem.values()];
  const mean = (of: (n: number, c: number) => number): number =>
    counts.reduce((sum, { n, c }) => sum + of(n, c), 0) / Math.max(counts.length, 1);
  const samples = Math.min(...counts.map(({ n }) => n));
  return { samples, pass1: mean((n, c) => passAtK(n, c, 1)), passN: mean((n, c) => passAtK(n, c, samples)) };
}
