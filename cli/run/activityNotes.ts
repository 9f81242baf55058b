// Says what the activities of a workflow do while a command waits for its result.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { temporal } from '@temporalio/proto';
import type { Shard } from '../../core/run/shards.js';
import { duration } from '../terminal/output.js';
import { describeExecution, heldActivities, heldText } from './executions.js';

const EVERY_MS = 2000;
const SPEED_EVERY_MS = 30_000; // how often the speed of sampling is noted
const NOTED_FROM = 3; // the attempt from which on a failing activity is noted; many faults are over before

const STEPS: Record<string, string> = {
  prepareSolving: 'loading the model',
  generateChains: 'sampling chains',
  sampleChains: 'sampling chains',
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
  const speedOf = samplingSpeed();
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
    const speed = steps && (await sampledOf(client, pending).then(speedOf));
    if (speed) note(`${step}: ${speed}`);
    for (const held of await heldActivities(client, execution)) {
      const key = `${execution.runId} ${held.activity?.id}`;
      if (held.paused || held.attempt < NOTED_FROM || noted.has(key)) continue;
      noted.add(key);
      note(heldText(id, held));
    }
  }
}

/** What the heartbeat of a sampling activity says. */
interface Sampled {
  tokens: number;
  shard?: Shard;
}

async function sampledOf(
  client: Client,
  pending: readonly temporal.api.workflow.v1.IPendingActivityInfo[],
): Promise<Sampled | undefined> {
  const payloads = pending.find(({ heartbeatDetails }) => heartbeatDetails)?.heartbeatDetails?.payloads;
  const details = await decodeFromPayloadsAtIndex<Sampled | null>(client.options.loadedDataConverter, 0, payloads);
  return details && 'tokens' in details ? details : undefined;
}

/** Describes the speed and the time that is left, if the last description is old enough. The time is known after the first part. */
export function samplingSpeed(now = Date.now): (sampled: Sampled | undefined) => string | undefined {
  let first: { at: number; tokens: number } | undefined; // of the current part
  let notedAt = now();
  let begun: { at: number; index: number } | undefined; // the first part that was seen
  let [index, partAt] = [-1, 0]; // the current part, and when it was seen first
  return (sampled) => {
    if (sampled === undefined) return undefined;
    const { tokens, shard = { index: 0, of: 1 } } = sampled;
    const at = now();
    if (first === undefined || shard.index !== index || tokens < first.tokens) first = { at, tokens };
    if (shard.index !== index) [index, partAt] = [shard.index, at];
    begun ??= { at, index };
    if (at - notedAt < SPEED_EVERY_MS || at === first.at) return undefined;
    notedAt = at;
    const done = index - begun.index;
    const left = (((partAt - begun.at) / done) * (shard.of - index) - (at - partAt)) / 1000;
    return [
      ...(shard.of > 1 ? [`part ${index + 1} of ${shard.of}`] : []),
      `${Math.round(((tokens - first.tokens) * 1000) / (at - first.at))} tokens/s`,
      ...(done > 0 && left > 0 ? [`about ${duration(left)} left`] : []),
    ].join(', ');
  };
}
