// Starting, joining and following a training run: what `train`, `demo` and `resume` have in common.
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowIdReusePolicy,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { ERROR_CODES, type ErrorCode, GauntletError } from '../core/errors.js';
import { resolveConfig } from '../core/presets.js';
import { TASK_QUEUES } from '../core/queues.js';
import { type RunConfigInput, runIdentity } from '../core/schema/config.js';
import { type RunResult, runResultSchema } from '../core/schema/run.js';
import { canonicalJson } from '../store/canonicalJson.js';
import type { trainFullPipeline } from '../workflows/trainFullPipeline.js';
import { asker, watchServer } from './outage.js';
import type { Output } from './output.js';
import { resultTable } from './results.js';
import { hasPollers, onInterrupt, type Session, statusOf } from './session.js';
import { type WatchOptions, watchRun } from './watch.js';

export type TrainingHandle = WorkflowHandle<typeof trainFullPipeline>;

export interface Joined {
  handle: TrainingHandle;
  how: 'started' | 'joined' | 'restarted' | 'finished';
  result?: RunResult; // of one that has finished and that the server no longer knows
}

/**
 * Starts a run, or joins the run with this id. Finished work is memoised, so a run that is started again fast-forwards.
 * @throws GauntletError RUN_EXISTS where the id belongs to a run with another configuration
 */
export async function startOrJoin(client: Client, id: string, input: RunConfigInput | undefined): Promise<Joined> {
  const status = await statusOf(client, id);
  const handle = (): TrainingHandle => client.workflow.getHandle<typeof trainFullPipeline>(id);
  const there = status === 'RUNNING' || status === 'PAUSED' || status === 'COMPLETED';
  if (there) {
    const other = differingFields(await inputOf(client, id), input);
    if (other.length > 0) {
      throw new GauntletError('RUN_EXISTS', `run ${id} exists with other ${other.join(', ')}: choose another --id`);
    }
    return { handle: handle(), how: status === 'COMPLETED' ? 'finished' : 'joined' };
  }
  try {
    await startTraining(client, id, input);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return startOrJoin(client, id, input); // another command has just started it
  }
  return { handle: handle(), how: status === undefined ? 'started' : 'restarted' };
}

/** Top-level fields in which two inputs, each over its preset, differ. */
export function differingFields(a: unknown, b: unknown): string[] {
  const [left, right] = [runIdentity(resolveConfig(a)), runIdentity(resolveConfig(b))] as unknown as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  return Object.keys(left).filter((key) => canonicalJson(left[key]) !== canonicalJson(right[key]));
}

async function startTraining(client: Client, id: string, input: RunConfigInput | undefined): Promise<void> {
  const args: [RunConfigInput?] = input === undefined ? [] : [input];
  await client.workflow.start<typeof trainFullPipeline>('trainFullPipeline', {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId: id,
    args,
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
    staticSummary: `gauntlet training (${input?.preset ?? 'tiny'})`,
  });
}

/** The input a run was started with, from its history. */
export async function inputOf(client: Client, id: string): Promise<RunConfigInput | undefined> {
  const history = await client.workflow.getHandle(id).fetchHistory();
  const payloads = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  if (payloads.length === 0) return undefined;
  const input = await decodeFromPayloadsAtIndex<RunConfigInput | null>(client.options.loadedDataConverter, 0, payloads);
  return input ?? undefined;
}

/**
 * Follows a run to its result. Ctrl-C leaves the run as it is and says how to go on.
 * @returns undefined when interrupted
 */
export async function follow(
  session: Session,
  handle: TrainingHandle,
  output: Output,
  again: string,
  options: Pick<WatchOptions, 'quiet'> = {},
): Promise<RunResult | undefined> {
  const watching = new AbortController();
  const release = onInterrupt(() => watching.abort());
  try {
    const { signal } = watching;
    const { address } = session.server;
    const gone = watchServer({ ask: asker(session.client), address, note: output.note, signal });
    const result = await Promise.race([watchRun(handle, { ...options, signal }), session.lost, gone]);
    return runResultSchema.parse(result);
  } catch (error) {
    if (!watching.signal.aborted) {
      watching.abort(); // the display ends with the watch
      throw endedFrom(error, handle.workflowId) ?? error;
    }
    output.note(`left '${handle.workflowId}' where it is; go on with: ${again}`);
    process.exitCode = 130;
    return undefined;
  } finally {
    release();
    watching.abort();
  }
}

/** Why a run has not come to its result, with the way on: the reason of whoever ended it says nothing by itself. */
export function endedFrom(error: unknown, id: string): GauntletError | undefined {
  if (!(error instanceof WorkflowFailedError)) return undefined;
  const way = `go on with: npx gauntlet resume ${id} --watch`;
  const ended = (how: string) => new GauntletError('BAD_INPUT', `run '${id}' ${how}; ${way}`, { cause: error });
  const { cause } = error;
  if (cause instanceof TerminatedFailure) return ended(`was terminated (${cause.message})`);
  if (cause instanceof CancelledFailure) return ended('was cancelled');
  if (cause instanceof TimeoutFailure) return ended('timed out');
  const root = rootOf(cause);
  const code = root instanceof ApplicationFailure ? root.type : undefined;
  if (!isErrorCode(code) || code === 'BAD_CONFIG') return undefined; // the same configuration would fail again
  return new GauntletError(code, `${root!.message.split('\n')[0]}; ${way}`, { cause: error });
}

const rootOf = (error: Error | undefined): Error | undefined =>
  error?.cause instanceof Error ? rootOf(error.cause) : error;

const isErrorCode = (code: unknown): code is ErrorCode => typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);

/** With `watch` a run is followed to its result; without it the way to follow it is named. A finished one has one. */
export async function conclude(
  session: Session,
  { handle, how, result: known }: Joined,
  output: Output,
  watch: boolean,
): Promise<void> {
  const runId = handle.workflowId;
  if (how === 'finished') {
    const result = known ?? runResultSchema.parse(await handle.result());
    return output.result(watch ? result : { runId, how, result }, () => resultTable(result));
  }
  if (watch) {
    const result = await follow(session, handle, output, `npx gauntlet resume ${runId} --watch`);
    if (result !== undefined) output.result(result, () => resultTable(result));
    return;
  }
  if (!(await hasPollers(session.client))) {
    output.note('no worker serves it yet: npx gauntlet up');
  }
  output.result({ runId, how }, () => `follow it with: npx gauntlet status ${runId} --watch`);
}

/** Of a run that was told to end: that it does is no failure, and there is nothing to follow but its end. */
export async function concludeEnding(session: Session, joined: Joined, output: Output, watch: boolean): Promise<void> {
  const { handle, how } = joined;
  const runId = handle.workflowId;
  if (watch) {
    const again = `npx gauntlet status ${runId}`;
    const result = await follow(session, handle, output, again, { quiet: true }).catch(unlessEnded);
    if (result === undefined) return; // left by Ctrl-C, and said so
    if (result !== 'ended') return output.result(result, () => resultTable(result)); // it had come to its result before
  }
  const way = `npx gauntlet resume ${runId} --watch`;
  output.result({ runId, how }, () => `what it did stays in the store; go on after all with: ${way}`);
}

function unlessEnded(error: unknown): 'ended' {
  if (error instanceof WorkflowFailedError) return 'ended';
  if (error instanceof GauntletError && error.cause instanceof WorkflowFailedError) return 'ended';
  throw error;
}
