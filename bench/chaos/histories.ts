// Reads from the histories of a run how often activities were attempted and how soon the run recovered after a kill.
import type { Client } from '@temporalio/client';

/** A completed activity with the times of its last attempt; ms since 1970. */
export interface Execution {
  name: string;
  attempt: number;
  scheduled: number;
  started: number;
  completed: number;
}

interface Timestamp {
  seconds?: unknown;
  nanos?: number | null;
}

/** The activities of a workflow, its children, and their continued executions. */
export async function executionsOf(client: Client, workflowId: string, runId: string): Promise<Execution[]> {
  const executions: Execution[] = [];
  const open = [{ workflowId, runId }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { workflowId } = next;
    const { events } = await client.workflow.getHandle(workflowId, next.runId).fetchHistory();
    const scheduled = new Map<string, { name: string; at: number }>();
    const started = new Map<string, { attempt: number; at: number }>();
    for (const event of events ?? []) {
      const at = timeOf(event.eventTime);
      const { activityTaskScheduledEventAttributes: asked, activityTaskStartedEventAttributes: began } = event;
      if (asked) scheduled.set(String(event.eventId), { name: asked.activityType?.name ?? '', at });
      if (began) started.set(String(began.scheduledEventId), { attempt: began.attempt ?? 1, at });
      const ended = event.activityTaskCompletedEventAttributes;
      if (ended) {
        const id = String(ended.scheduledEventId);
        const [from, last] = [scheduled.get(id), started.get(id)];
        if (!from || !last) throw new Error(`${workflowId}: activity ${id} completed without a start`);
        const { name } = from;
        executions.push({ name, attempt: last.attempt, scheduled: from.at, started: last.at, completed: at });
      }
      const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
      if (child) open.push({ workflowId: child.workflowId!, runId: child.runId! });
      const onward = event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
      if (onward) open.push({ workflowId, runId: onward });
    }
  }
  return executions.sort((a, b) => a.completed - b.completed);
}

/** Seconds from `at` until an activity scheduled after it completes: only then does every component work again. */
export function recovery(at: number, executions: readonly Execution[], endedAt: number): number {
  const sound = executions.find(({ scheduled }) => scheduled >= at);
  return ((sound?.completed ?? endedAt) - at) / 1000;
}

/** Attempts after the first, by activity, and the seconds from the schedule time to the start of the last attempt. */
export function repeatedWork(executions: readonly Execution[]): { attempts: Record<string, number>; seconds: number } {
  const attempts: Record<string, number> = {};
  let seconds = 0;
  for (const { name, attempt, scheduled, started } of executions) {
    if (attempt === 1) continue;
    attempts[name] = (attempts[name] ?? 0) + attempt - 1;
    seconds += (started - scheduled) / 1000;
  }
  return { attempts, seconds };
}

const timeOf = (time: Timestamp | null | undefined): number =>
  Number(time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;
