// Fetches all histories of a run: of the run, its stages, and their earlier executions.
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { STAGES } from '../../core/schema/chain.js';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

export interface ExecutionHistory {
  workflowId: string;
  events: HistoryEvent[];
}

/** `stages`: those that were trained. */
export async function historiesOf(
  client: Client,
  id: string,
  stages: readonly number[] = STAGES,
): Promise<ExecutionHistory[]> {
  const found: ExecutionHistory[] = [];
  for (const workflowId of [id, ...stages.map((stage) => `${id}/stage-${stage}`)]) {
    let { runId } = await client.workflow.getHandle(workflowId).describe();
    for (let next: string | undefined = runId; next !== undefined; ) {
      runId = next;
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      found.push({ workflowId, events: events ?? [] });
      // the latest execution comes first
      next = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
    }
  }
  return found;
}

/** Milliseconds since 1970. */
export const timeOf = ({ eventTime }: HistoryEvent): number =>
  Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6;
