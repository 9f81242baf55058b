// The workflow solveProblems from the command line: `solve`, `show` and the chain at the end of the demo.
import type { Client } from '@temporalio/client';
import type { SolveProblemsInput } from '../activities/types.js';
import { TASK_QUEUES } from '../core/queues.js';
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
