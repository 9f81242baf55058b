// Starts, joins and follows training runs, for `train`, `demo`, `fork` and `resume`.
import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowIdReusePolicy,
} from '@temporalio/client';
import { CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { GauntletError } from '../../core/base/errors.js';
import { resolveConfig } from '../../core/config/presets.js';
import { type RunConfigInput, runIdentity } from '../../core/schema/config.js';
import { type RunResult, runResultSchema } from '../../core/schema/run.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { bandsOf, readRunRecords } from '../../dashboard/data/records.js';
import { differingKeys } from '../../store/canonicalJson.js';
import { openStore } from '../../store/openStore.js';
import type { trainFullPipeline } from '../../workflows/trainFullPipeline.js';
import { commandLine } from '../terminal/commandLine.js';
import { EXIT } from '../terminal/exitCodes.js';
import { onInterrupt } from '../terminal/interrupt.js';
import { failureOf, isErrorCode, type Output } from '../terminal/output.js';
import { wayAfter } from '../terminal/progress.js';
import { resultTable } from '../terminal/results.js';
import { notingActivities } from './activityNotes.js';
import { asker, watchServer } from './outage.js';
import { hasPollers, type Session, statusOf } from './session.js';
import { type WatchOptions, watchRun } from './watch.js';

export type TrainingHandle = WorkflowHandle<typeof trainFullPipeline>;

export interface Joined {
  handle: TrainingHandle;
  how: 'started' | 'joined' | 'restarted' | 'finished';
  result?: RunResult; // only set for a finished run that the server no longer knows
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
      throw new GauntletError('RUN_EXISTS', `run ${id} exists with other ${other.join(', ')}: choose another run id`);
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

/** Top-level fields in which two inputs differ, with their presets applied. */
export const differingFields = (a: unknown, b: unknown): string[] =>
  differingKeys(runIdentity(resolveConfig(a)), runIdentity(resolveConfig(b)));

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

/** Reads the input with which a run was started from its history. */
export async function inputOf(client: Client, id: string): Promise<RunConfigInput | undefined> {
  const history = await client.workflow.getHandle(id).fetchHistory();
  const payloads = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  if (payloads.length === 0) return undefined;
  const input = await decodeFromPayloadsAtIndex<RunConfigInput | null>(client.options.loadedDataConverter, 0, payloads);
  return input ?? undefined;
}

/**
 * Follows a run to its result. Ctrl-C stops watching, not the run.
 * @param again command that continues watching
 * @returns undefined after Ctrl-C
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
    const { client, server } = session;
    const { note } = output;
    const schedule = async () => bandsOf(await readRunRecords(await openStore(session.store), handle.workflowId));
    const gone = watchServer({ ask: asker(client), address: server.address, note, signal });
    const ended = notingActivities(watchRun(handle, { ...options, signal, schedule }), {
      client,
      id: handle.workflowId,
      note,
    });
    const result = await Promise.race([ended, session.lost, gone]);
    return runResultSchema.parse(result);
  } catch (error) {
    if (!watching.signal.aborted) {
      watching.abort(); // ends the display
      throw endedFrom(error, handle.workflowId) ?? error;
    }
    const ending = session.workers ? ', ending its workers' : '';
    output.note(`stopped watching '${handle.workflowId}'${ending}; continue with: ${again}`);
    process.exitCode = EXIT.interrupted;
    return undefined;
  } finally {
    release();
    watching.abort();
  }
}

/** Why a run has no result, and how to continue. Undefined if `error` says it already. */
export function endedFrom(error: unknown, id: string): GauntletError | undefined {
  if (!(error instanceof WorkflowFailedError)) return undefined;
  const way = wayAfter('continue with', id, failureOf(error.cause).code, ' --watch');
  const ended = (how: string) => new GauntletError('RUN_FAILED', `run '${id}' ${how}; ${way}`, { cause: error });
  const { cause } = error;
  if (cause instanceof TerminatedFailure) return ended(`was terminated (${cause.message})`);
  if (cause instanceof CancelledFailure) return ended('was cancelled');
  if (cause instanceof TimeoutFailure) return ended('timed out');
  const { code, message } = failureOf(cause);
  if (!isErrorCode(code)) return undefined;
  return new GauntletError(code, `${message}; ${way}`, { cause: error });
}

/** Prints the result of a finished run, follows the run with `watch`, or names the command that serves or follows it. */
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
    const result = await follow(session, handle, output, commandLine(`resume ${runId} --watch`));
    if (result !== undefined) output.result(result, () => resultTable(result));
    return;
  }
  const served = await hasPollers(session.client);
  const next = commandLine(`${served ? 'status' : 'resume'} ${runId} --watch`);
  output.result({ runId, how, served, next }, () =>
    served
      ? `follow it with: ${next}`
      : `no worker serves run '${runId}', so it waits. Serve and follow it here: ${next}\nServe all runs of this store: ${commandLine('up')}`,
  );
}

/** Like `conclude`, for a run that was aborted: its failure is the expected end. */
export async function concludeEnding(session: Session, joined: Joined, output: Output, watch: boolean): Promise<void> {
  const { handle, how } = joined;
  const runId = handle.workflowId;
  if (watch) {
    const again = commandLine(`status ${runId}`);
    const result = await follow(session, handle, output, again, { quiet: true }).catch(unlessEnded);
    if (result === undefined) return; // Ctrl-C
    if (result !== 'ended') return output.result(result, () => resultTable(result)); // the run had finished before
  }
  const way = commandLine(`resume ${runId} --watch`);
  output.result({ runId, how }, () => `its finished work stays in the store; continue after all with: ${way}`);
}

function unlessEnded(error: unknown): 'ended' {
  if (error instanceof WorkflowFailedError) return 'ended';
  if (error instanceof GauntletError && error.cause instanceof WorkflowFailedError) return 'ended';
  throw error;
}
