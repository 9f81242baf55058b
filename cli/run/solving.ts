// What `solve`, `serve` and `show` share: the choice of a checkpoint or a base model. `show` runs the workflow
// solveProblems with it; `solve` and `serve` open the models in this process (docs/adr/0017-inference.md).
import { basename } from 'node:path';
import type { Client } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { groupBy } from '../../core/base/groups.js';
import { passAtK } from '../../core/rl/scores.js';
import { type ChainView, chainViewSchema } from '../../core/schema/chainView.js';
import type { SolveProblemsInput } from '../../core/schema/solving.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { portableName } from '../../data/modelFolder.js';
import type { Solver } from '../../inference/policies.js';
import type { ProgramEvent } from '../../inference/solver.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import type { Store } from '../../store/store.js';
import type { solveProblems } from '../../workflows/solveProblems.js';
import { checkModel, readTemplateArguments } from '../input/config.js';
import { CHECKPOINT, chooseCheckpoint } from '../input/naming.js';
import { deviceOption, jsonOption, sandboxOption, templateArgumentOption } from '../input/options.js';
import { noteProblems, noteSkipped } from '../input/problemSource.js';
import { interruptible } from '../terminal/interrupt.js';
import type { Output } from '../terminal/output.js';
import { notingActivities } from './activityNotes.js';
import { noteUnused, type SessionFlags, withSession, withStore } from './session.js';

export type SolvingFlags = SessionFlags & { base?: string; model?: string; templateArgument: string[] };

/**
 * Adds the arguments and options that choose the model and the store.
 * @param result what each line of --json describes, if there are several
 */
export function withPolicy(command: Command, result?: string): Command {
  const base =
    "use this untrained model instead of a checkpoint: 'tiny' (the shipped one), a folder or an id of the hub";
  return withStore(
    command
      .argument(...CHECKPOINT)
      .option('--base <model>', base)
      .addOption(new Option('--model <folder>', 'base of the checkpoint, if it moved').conflicts('base'))
      .addOption(templateArgumentOption())
      .addOption(sandboxOption("the run's; with --base docker, or wasm for shipped models if Docker is missing"))
      .addOption(deviceOption())
      .addOption(jsonOption(result)),
  );
}

/** Checks files, model and checkpoint before anything starts, then runs the workflow. @returns a view of each chain */
export async function solveWith(
  checkpointId: string | undefined,
  flags: SolvingFlags,
  output: Output,
  input: SolveProblemsInput & { source: string },
): Promise<ChainView[]> {
  const source = await noteProblems(input.source, output.note);
  const { store, policy, name } = await choosePolicy(checkpointId, flags);
  const run = policy.checkpoint?.runId;
  const hasReport = run !== undefined && (await store.runFileUsedAt(run, REPORT)) !== undefined;
  const report = hasReport ? store.locate(`runs/${run}/${REPORT}`) : undefined;
  return withSession(flags, output, 'if-none-poll', (session) => {
    noteUnused(session, flags, output);
    const { client } = session;
    output.note(`sampling from ${name}: a large model takes minutes`);
    if (report !== undefined) output.note(`report of its run: ${report}`);
    return solve({ client, store, note: output.note }, { ...input, source, ...policy });
  });
}

const REPORT = 'report.html';

type PolicyInput = Pick<SolveProblemsInput, 'checkpoint' | 'model' | 'templateArguments'>;

/** Checks the model and the checkpoint. @returns also a name to show: RUN/NAME, or the name of the base model */
async function choosePolicy(
  checkpointId: string | undefined,
  flags: SolvingFlags,
): Promise<{ store: ObjectStore; policy: PolicyInput; name: string }> {
  const { base, model = base } = flags;
  if (base !== undefined && checkpointId !== undefined)
    throw new GauntletError('BAD_INPUT', `--base ${base}: cannot be used with a checkpoint ('${checkpointId}')`);
  const templateArguments = readTemplateArguments(flags.templateArgument);
  if (model !== undefined) await checkModel(model, templateArguments);
  const store = await openStore(flags.store);
  const checkpoint = base === undefined ? await chooseCheckpoint(store, checkpointId) : undefined;
  const loaded = checkpoint && (await loadCheckpoint(store, checkpoint.runId, checkpoint.name));
  const policy = {
    checkpoint: loaded && { runId: loaded.metadata.runId, name: loaded.metadata.name },
    model: model && portableName(model),
    ...(flags.templateArgument.length > 0 && { templateArguments }),
  };
  const name = loaded ? `${loaded.metadata.runId}/${loaded.metadata.name}` : nameOf(base!);
  return { store, policy, name };
}

/** The name of a model. For a folder, this is the last part of its path. */
const nameOf = (model: string): string => (portableName(model) === model ? model : basename(portableName(model)));

/** Opens models and sandbox in this process while `work` runs; Ctrl-C aborts the signal. */
export async function withSolver(
  checkpointId: string | undefined,
  flags: SolvingFlags,
  output: Output,
  work: (solver: Solver, name: string, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { policy, name } = await choosePolicy(checkpointId, flags);
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
