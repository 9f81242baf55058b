// What the histories of a run show: the attempts of its activities, and how soon it recovered after a kill.
import type { Client } from '@temporalio/client';
import { historiesOf, timeOf } from '../bench/histories.js';

/** A completed activity, with the times of its last attempt in ms since 1970. */
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
        throw new Error(`${workflowId}: activity ${id} completed, but the history has no start of it`);
      executions.push({ name: from.name, attempt: last.attempt, scheduled: from.at, started: last.at, completed: at });
    }
  }
  return executions.sort((a, b) => a.completed - b.completed);
}

/** Seconds from `at` until the first activity that was scheduled after `at` completes. */
export function recovery(at: number, executions: readonly Execution[], endedAt: number): number {
  const sound = executions.find(({ scheduled }) => scheduled >= at);
  return ((sound?.completed ?? endedAt) - at) / 1000;
}

/** Retries by activity, and the seconds between the schedule of each retried activity and the start of its last attempt. */
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
