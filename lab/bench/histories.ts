// Reads the histories of a run. A run that continues as new has several executions with the same workflow id.
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** The events of each execution of a workflow, with the first execution first. */
export async function historiesOf(client: Client, workflowId: string): Promise<HistoryEvent[][]> {
  const histories: HistoryEvent[][] = [];
  let { runId } = await client.workflow.getHandle(workflowId).describe();
  while (runId) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    histories.unshift(events ?? []);
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  }
  return histories;
}

/** Converts a timestamp to milliseconds since 1970. */
export const timeOf = ({ eventTime }: HistoryEvent): number =>
  Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6;
