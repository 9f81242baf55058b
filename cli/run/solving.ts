// What `solve`, `serve` and `show` share: the choice of a checkpoint or a base model. `show` runs the workflow
// solveProblems with it; `solve` and `serve` open the models in this process (docs/adr/0017-inference.md).
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { groupBy } from '../../core/base/groups.js';
import { passAtK } from '../../core/rl/scores.js';
import { type ChainView, chainViewSchema } from '../../core/schema/chainView.js';
import type { SolveProblemsInput } from '../../core/schema/solving.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import type { Solver } from '../../inference/policies.js';
import type { ProgramEvent } from '../../inference/solver.js';
import { openStore } from '../../store/openStore.js';
import type { Store } from '../../store/store.js';
import type { solveProblems } from '../../workflows/solveProblems.js';
import { chooseModel, type ModelFlags, withModel } from '../input/modelOptions.js';
import { jsonOption } from '../input/options.js';
import { noteProblems, noteSkipped } from '../input/problemSource.js';
import { interruptible } from '../terminal/interrupt.js';
import type { Output } from '../terminal/output.js';
import { notingActivities } from './activityNotes.js';
import { hasServer, noteUnused, type SessionFlags, withSession, withStore } from './session.js';

export type SolvingFlags = SessionFlags & ModelFlags;

/**
 * Adds the arguments and options that choose the model and the store.
 * @param result what each line of --json describes, if there are several
 */
export const withPolicy = (command: Command, result?: string): Command =>
  withStore(withModel(command).addOption(jsonOption(result)));

/** Checks files, model and checkpoint before anything starts, then runs the workflow. @returns a view of each chain */
export async function solveWith(
  checkpointId: string | undefined,
  flags: SolvingFlags,
  output: Output,
  input: SolveProblemsInput & { source: string },
): Promise<ChainView[]> {
  const source = await noteProblems(input.source, output.note);
  const store = await openStore(flags.store);
  const { input: policy, name } = await chooseModel(store, checkpointId, flags);
  const run = policy.checkpoint?.runId;
  const hasReport = run !== undefined && (await store.runFileUsedAt(run, REPORT)) !== undefined;
  const report = hasReport ? store.locate(`runs/${run}/${REPORT}`) : undefined;
  if (!hasServer(flags.store))
    output.note('a workflow samples the chains: a Temporal server and a worker run as long as this command');
  return withSession(flags, output, 'if-none-poll', (session) => {
    noteUnused(session, flags, output);
    const { client } = session;
    output.note(`sampling from ${name}: a large model takes minutes`);
    if (report !== undefined) output.note(`report of its run: ${report}`);
    return solve({ client, store, note: output.note }, { ...input, source, ...policy });
  });
}

const REPORT = 'report.html';

/** Opens models and sandbox in this process while `work` runs; Ctrl-C aborts the signal. */
export async function withSolver(
  checkpointId: string | undefined,
  flags: SolvingFlags,
  output: Output,
  work: (solver: Solver, name: string, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { input: policy, name } = await chooseModel(await openStore(flags.store), checkpointId, flags);
  const { openDeps } = await import('../../workers/deps/deps.js'); // loading both takes a moment
  const { openSolver } = await import('../../inference/policies.js');
  const { store, sandbox, device } = flags;
  const { deps, close } = await openDeps({ store, sandbox, device, say: (line) => output.note(line) });
  await interruptible(async ({ signal }) => {
    try {
      await work(await openSolver(deps, policy), name, signal);
    } finally {
      await close();
    }
  });
}

async function solve(
  { client, store, note }: { client: Client; store: Store; note: Output['note'] },
  input: SolveProblemsInput,
): Promise<ChainView[]> {
  const workflowId = `solve-${Date.now().toString(36)}-${process.pid}`;
  const solved = client.workflow.execute<typeof solveProblems>('solveProblems', {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId,
    args: [input],
  });
  const result = await notingActivities(solved, { client, id: workflowId, note, steps: true });
  await noteSkipped(store, result.skipped, note);
  return chainViewSchema.array().parse(await store.getJson(result.views));
}

/** pass@k, the mean over problems of the chance that one of k programs passes all tests, for k = 1 and k = samples. */
export function meanPassAtK(codes: readonly Pick<ProgramEvent, 'problemId' | 'passed' | 'tests'>[]) {
  const counts = [...groupBy(codes, ({ problemId }) => problemId).values()].map((programs) => ({
    n: programs.length,
    c: programs.filter(({ passed, tests }) => tests > 0 && passed === tests).length,
  }));
  const mean = (k: number): number =>
    counts.reduce((sum, { n, c }) => sum + passAtK(n, c, k), 0) / Math.max(counts.length, 1);
  return { pass1: mean(1), passN: mean(Math.min(...counts.map(({ n }) => n))) };
}
