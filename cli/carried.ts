// What people asked of a run and it had not come to when it ended: read off the history of that execution, so that the
// next one does it. Nothing else knows of a request before it takes effect and is recorded.
import type { Client } from '@temporalio/client';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { CARRY, type Request, requestSchema, requestsAmong } from '../core/control.js';
import type { ControlMetrics } from '../core/schema/metrics.js';
import { canonicalJson } from '../store/canonicalJson.js';
import { readControls } from '../store/runs.js';
import type { Store } from '../store/store.js';
import { stepsDone } from './stored.js';

type Events = temporal.api.history.v1.IHistoryEvent[];
type Payloads = temporal.api.common.v1.IPayloads | null | undefined;

/** Between the time that a request bears and that of its record, ms: one is read off a history, the other a clock. */
const SAME_TIME = 10_000;
const SIGNALS: Readonly<Record<string, 'pause' | 'resume' | 'stop'>> = {
  pauseRun: 'pause',
  resumeRun: 'resume',
  stopRun: 'stop',
};

/** Of the latest execution of a run that has ended. */
export async function carriedFrom(client: Client, store: Store, id: string): Promise<Request[]> {
  const { events } = await client.workflow.getHandle(id).fetchHistory();
  const requests = await requestsIn(client, events ?? []);
  if (requests.length === 0) return [];
  return carriedOver(requests, await readControls(store, id), await stepsDone(store, id));
}

/**
 * Of what an execution was asked, in order, what is not on record. The next one is to do it once the step is done that
 * was being done, so that nothing of that is lost; pauses are not made again.
 * @param steps policy updates on record
 */
export function carriedOver(
  requests: readonly Request[],
  controls: readonly ControlMetrics[],
  steps: number,
): Request[] {
  let from = 0; // requests are recorded in the order in which they were made
  const open = requests.filter((request) => {
    const found = controls.findIndex((control, index) => index >= from && isOf(request, control));
    if (found >= 0) from = found + 1;
    return found < 0;
  });
  const rested = controls.findLast(({ action }) => action === 'pause' || action === 'resume')?.action === 'pause';
  const after = rested ? steps : steps + 1;
  return open.filter(({ kind }) => kind === 'change' || kind === 'stop').map((request) => ({ ...request, after }));
}

function isOf(request: Request, { action, fields, at }: ControlMetrics): boolean {
  if (action !== request.kind || Math.abs(Date.parse(at) - Date.parse(request.at)) > SAME_TIME) return false;
  return request.kind !== 'change' || canonicalJson(fields ?? {}) === canonicalJson(request.fields);
}

/** Updates that were accepted and signals, as the workflow kept them. */
async function requestsIn(client: Client, events: Events): Promise<Request[]> {
  const requests = await broughtAlong(client, events[0]?.workflowExecutionStartedEventAttributes?.input);
  let now = new Date(0).toISOString(); // as the workflow sees it: when the latest of its tasks was started
  let unseen: Request[] = []; // signals, until a task of the workflow has completed with them
  const decoded = <T>(payloads: Payloads): Promise<T> => decodedAt<T>(client, payloads, 0);
  for (const { eventTime, ...event } of events) {
    const time = eventTime ? new Date(tsToMs(eventTime)).toISOString() : now;
    if (event.workflowTaskStartedEventAttributes) {
      now = time;
      for (const request of unseen) request.at = time;
    }
    if (event.workflowTaskCompletedEventAttributes) unseen = [];
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (signal?.signalName === CARRY) requests.push(...requestsAmong(await decoded(signal.input)));
    const kind = SIGNALS[signal?.signalName ?? ''];
    if (kind !== undefined) unseen.push({ kind, at: time });
    if (kind !== undefined) requests.push(unseen.at(-1)!);
    const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
    if (update?.name === 'pause' || update?.name === 'resume' || update?.name === 'stop')
      requests.push({ kind: update.name, at: now });
    if (update?.name === 'change')
      requests.push({ kind: 'change', fields: await decoded<Record<string, unknown>>(update.args), at: now });
  }
  return requests;
}

/** An execution that continues another one has what that one was asked. */
async function broughtAlong(client: Client, input: Payloads): Promise<Request[]> {
  if ((input?.payloads?.length ?? 0) < 2) return [];
  const continued = await decodedAt<{ control?: { requests?: unknown } }>(client, input, 1);
  return z.array(requestSchema).parse(continued?.control?.requests ?? []);
}

const decodedAt = <T>({ options }: Client, payloads: Payloads, index: number): Promise<T> =>
  decodeFromPayloadsAtIndex<T>(options.loadedDataConverter, index, payloads?.payloads);
