// Says what the activities of a workflow do while a command waits for its result.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { describeExecution, heldActivities, heldText } from './executions.js';

const EVERY_MS = 2000;
const NOTED_FROM = 3; // the attempt from which on a failing activity is noted; many faults are over before

const STEPS: Record<string, string> = {
  prepareSolving: 'loading the model',
  generateChains: 'sampling chains',
  generateTests: 'writing tests',
  executeSuite: 'running tests',
};

export interface ActivityWatch {
  client: Client;
  id: string; // the id of the workflow
  note(line: string): void;
  steps?: boolean; // also notes which step begins
  everyMs?: number;
}

/** Waits for `work`. Meanwhile it notes each activity that keeps failing, once: a run waits for it without an end. */
export async function notingActivities<T>(work: Promise<T>, watch: ActivityWatch): Promise<T> {
  const ended = new AbortController();
  try {
    return await Promise.race([work, watchActivities(watch, ended.signal)]);
  } finally {
    ended.abort();
  }
}

async function watchActivities(watch: ActivityWatch, signal: AbortSignal): Promise<never> {
  const { client, id, note, steps = false, everyMs = EVERY_MS } = watch;
  const noted = new Set<string>();
  let step: string | undefined;
  for (;;) {
    await sleep(everyMs, undefined, { signal });
    const execution = await describeExecution(client, id).catch(() => undefined); // the caller reports an outage
    if (execution === undefined) continue;
    const pending = execution.raw.pendingActivities ?? [];
    const next = pending.map(({ activityType }) => STEPS[activityType?.name ?? '']).find(Boolean);
    if (steps && next !== undefined && next !== step) {
      note(next);
      step = next;
    }
    for (const held of await heldActivities(client, execution)) {
      const key = `${execution.runId} ${held.activity?.id}`;
      if (held.paused || held.attempt < NOTED_FROM || noted.has(key)) continue;
      noted.add(key);
      note(heldText(id, held));
    }
  }
}
