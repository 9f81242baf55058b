// Starting, joining and following a training run: what `train`, `demo` and `resume` have in common.
import { type Client, type WorkflowHandle, WorkflowIdReusePolicy } from '@temporalio/client';
import { GauntletError } from '../core/errors.js';
import { TASK_QUEUES } from '../core/queues.js';
import type { RunConfigInput } from '../core/schema/config.js';
import { type RunResult, runResultSchema } from '../core/schema/run.js';
import type { trainFullPipeline } from '../workflows/trainFullPipeline.js';
import type { Output } from './output.js';
import { onInterrupt, statusOf } from './session.js';
import { watchRun } from './watch.js';

export type TrainingHandle = WorkflowHandle<typeof trainFullPipeline>;

export interface Joined {
  handle: TrainingHandle;
  how: 'started' | 'joined' | 'restarted' | 'finished';
}

/** How a run with this id goes on, whatever state it is in. Finished work is memoised, so a restart fast-forwards. */
export async function startOrJoin(client: Client, id: string, input: RunConfigInput | undefined): Promise<Joined> {
  const status = await statusOf(client, id);
  const handle = (): TrainingHandle => client.workflow.getHandle<typeof trainFullPipeline>(id);
  if (status === 'RUNNING' || status === 'PAUSED') return { handle: handle(), how: 'joined' };
  if (status === 'COMPLETED') return { handle: handle(), how: 'finished' };
  await startTraining(client, id, input);
  return { handle: handle(), how: status === undefined ? 'started' : 'restarted' };
}

export async function startTraining(client: Client, id: string, input: RunConfigInput | undefined): Promise<void> {
  await client.workflow.start<typeof trainFullPipeline>('trainFullPipeline', {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId: id,
    args: input === undefined ? [] : [input],
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
    staticSummary: `gauntlet training (${input?.preset ?? 'tiny'})`,
  });
}

/** The input a run was started with, from its history. */
export async function inputOf(client: Client, id: string): Promise<RunConfigInput | undefined> {
  const history = await client.workflow.getHandle(id).fetchHistory();
  const payloads = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  if (payloads.length === 0) return undefined;
  const text = new TextDecoder().decode(payloads[0]!.data ?? new Uint8Array());
  return (JSON.parse(text) ?? undefined) as RunConfigInput | undefined;
}

/**
 * Follows a run to its result. Ctrl-C leaves the run as it is and says how to go on.
 * @returns undefined when interrupted
 */
export async function follow(handle: TrainingHandle, output: Output, again: string): Promise<RunResult | undefined> {
  let interrupted = (): void => undefined;
  const stopped = new Promise<'stopped'>((resolve) => {
    interrupted = () => resolve('stopped');
  });
  const release = onInterrupt(() => interrupted());
  try {
    const ended = await Promise.race([watchRun<unknown>(handle), stopped]);
    if (ended === 'stopped') {
      output.note(`\nleft '${handle.workflowId}' where it is; go on with: ${again}`);
      process.exitCode = 130;
      return undefined;
    }
    return runResultSchema.parse(ended);
  } finally {
    release();
  }
}

/** `--set a.b=1 --set c=x` as nested fields; values are JSON where they parse as JSON, else text. */
export function parseAssignments(assignments: string[]): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const assignment of assignments) {
    const at = assignment.indexOf('=');
    if (at <= 0)
      throw new GauntletError('BAD_CONFIG', `--set ${assignment}: write field=value, e.g. ppo.learningRate=0.001`);
    const path = assignment.slice(0, at).split('.');
    let node = out;
    for (const key of path.slice(0, -1)) {
      const below = node[key];
      if (typeof below !== 'object' || below === null) node[key] = {};
      node = node[key] as Record<string, unknown>;
    }
    node[path.at(-1)!] = parseScalar(assignment.slice(at + 1));
  }
  return out;
}

function parseScalar(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
