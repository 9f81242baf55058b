// Reads from the histories of a run how often its activities were tried, and how soon it recovered after a kill.
import type { Client } from '@temporalio/client';
import { historiesOf, timeOf } from '../bench/histories.js';

/** A completed activity. The times are those of its last attempt, in milliseconds since 1970. */
export interface Execution {
  name: string;
  attempt: number;
  scheduled: number;
  started: number;
  completed: number;
}

/** The completed activities of all executions of a run, in the order in which they completed. */
export async function executionsOf(client: Client, workflowId: string): Promise<Execution[]> {
  const executions: Execution[] = [];
  for (const events of await historiesOf(client, workflowId)) {
    const scheduled = new Map<string, { name: string; at: number }>();
    const started = new Map<string, { attempt: number; at: number }>();
    for (const event of events) {
      const at = timeOf(event);
      const { activityTaskScheduledEventAttributes: asked, activityTaskStartedEventAttributes: began } = event;
      if (asked) scheduled.set(String(event.eventId), { name: asked.activityType?.name ?? '', at });
      if (began) started.set(String(began.scheduledEventId), { attempt: began.attempt ?? 1, at });
      const ended = event.activityTaskCompletedEventAttributes;
      if (!ended) continue;
      const id = String(ended.scheduledEventId);
      const [from, last] = [scheduled.get(id), started.get(id)];
      if (!from || !last)
        throw new Error(`workflow ${workflowId}: the history completes activity ${id}, but does not start it`);
      executions.push({ name: from.name, attempt: last.attempt, scheduled: from.at, started: last.at, completed: at });
    }
  }
  return executions.sort((a, b) => a.completed - b.completed);
}

/** The seconds from `at` until the first activity that was scheduled after `at` completes. */
export function recovery(at: number, executions: readonly Execution[], endedAt: number): number {
  const sound = executions.find(({ scheduled }) => scheduled >= at);
  return ((sound?.completed ?? endedAt) - at) / 1000;
}

/** The number of retries by activity, and for each retried activity the seconds from its schedule to its last start. */
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
