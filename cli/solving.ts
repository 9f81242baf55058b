// What `solve` and `show` share: they run the workflow solveProblems with a checkpoint or a base model.

import type { Client } from '@temporalio/client';
import { type Command, Option } from 'commander';
import type { SolveProblemsInput } from '../activities/types.js';
import { GauntletError } from '../core/errors.js';
import { TASK_QUEUES } from '../core/queues.js';
import { passAtK } from '../core/rl/scores.js';
import { type ChainView, chainViewSchema } from '../core/schema/chainView.js';
import { portableName } from '../data/modelFolder.js';
import { checkProblems } from '../data/problems.js';
import { loadCheckpoint } from '../store/checkpoints.js';
import { openStore } from '../store/openStore.js';
import type { Store } from '../store/store.js';
import type { solveProblems } from '../workflows/solveProblems.js';
import { checkModel, readTemplateArguments } from './config.js';
import { CHECKPOINT, chooseCheckpoint } from './naming.js';
import { deviceOption, jsonOption, sandboxOption, templateArgumentOption } from './options.js';
import type { Output } from './output.js';
import { type ConnectionOptions, withSession, withStore } from './session.js';

export interface Solved {
  solved: number;
  problems: number;
  views: ChainView[];
  codes: { problemId: string; code: string; passed: number; tests: number }[];
}

export type SolvingFlags = ConnectionOptions & {
  base?: string;
  model?: string;
  templateArgument: string[];
  json?: boolean;
};

/** Adds what says which model answers, and where. */
export function withPolicy(command: Command, result: string): Command {
  const base =
    "use this untrained model instead of a checkpoint: 'tiny' (the shipped one), a folder or an id of the hub";
  return withStore(
    command
      .argument(...CHECKPOINT)
      .option('--base <model>', base)
      .addOption(new Option('--model <folder>', 'base of the checkpoint, if it moved').conflicts('base'))
      .addOption(templateArgumentOption())
      .addOption(sandboxOption())
      .addOption(deviceOption())
      .addOption(jsonOption(result)),
  );
}

/** Checks files, model and checkpoint before anything starts, then solves. */
export async function solveWith(
  checkpointId: string | undefined,
  flags: SolvingFlags,
  output: Output,
  input: SolveProblemsInput & { source: string },
): Promise<Solved> {
  for (const { id, reason } of await checkProblems(input.source)) output.note(`skipped ${id}: ${reason}`);
  const { base, model = base } = flags;
  if (base !== undefined && checkpointId !== undefined)
    throw new GauntletError('BAD_INPUT', `--base ${base}: goes without a checkpoint, which is '${checkpointId}'`);
  const templateArguments = readTemplateArguments(flags.templateArgument);
  if (model !== undefined) await checkModel(model, templateArguments);
  const store = await openStore(flags.store);
  const checkpoint = base === undefined ? await chooseCheckpoint(store, checkpointId) : undefined;
  if (checkpoint) await loadCheckpoint(store, checkpoint.runId, checkpoint.name);
  const policy = {
    ...(checkpoint && { checkpoint }),
    ...(model && { model: portableName(model) }),
    ...(flags.templateArgument.length > 0 && { templateArguments }),
  };
  return withSession(flags, output, 'if-none-poll', ({ client }) => solve(client, store, { ...input, ...policy }));
}

async function solve(client: Client, store: Store, input: SolveProblemsInput): Promise<Solved> {
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

/** pass@k, the mean over problems of the chance that one of k programs passes all tests, for k = 1 and k = samples. */
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
