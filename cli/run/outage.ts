// Outages of the server: a watch that polls it beside all other calls, and calls that are repeated. The client itself retries
// a call for twenty seconds before it fails, and waits up to a minute on a dead connection.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, ScheduleDescription, ScheduleHandle } from '@temporalio/client';
import { GauntletError } from '../../core/base/errors.js';
import { commandLine } from '../terminal/commandLine.js';
import { isUnanswered } from '../terminal/output.js';

const PACE = { everyMs: 1500, answerMs: 3000 };
const NOTED_AFTER = 2; // the number of failed polls before a note, at most nine seconds
const GIVEN_UP_AFTER = 27; // the number of failed polls before giving up, at most two minutes

export interface ServerWatch {
  /** Rejects or never settles if the server does not answer. */
  ask(): Promise<unknown>;
  address: string;
  note(line: string): void;
  signal: AbortSignal; // ends the polling
  pace?: typeof PACE;
}

/**
 * Notes when the server stops answering and when it answers again. Counts polls, not seconds, so that sleep of the machine
 * does not count.
 * @throws GauntletError SERVER_UNAVAILABLE if it does not answer for two minutes; the signal's reason after an abort
 */
export async function watchServer({ ask, address, note, signal, pace = PACE }: ServerWatch): Promise<never> {
  for (let silent = 0; ; ) {
    await sleep(pace.everyMs, undefined, { signal });
    if (await answers(ask, pace.answerMs)) {
      if (silent >= NOTED_AFTER) note(`the Temporal server at ${address} answers again`);
      silent = 0;
      continue;
    }
    silent++;
    signal.throwIfAborted();
    if (silent === NOTED_AFTER) note(`the Temporal server at ${address} does not answer: trying for two minutes`);
    if (silent < GIVEN_UP_AFTER) continue;
    const lost = `the Temporal server at ${address} has not answered for two minutes`;
    throw new GauntletError(
      'SERVER_UNAVAILABLE',
      `${lost}: start one with ${commandLine('up')}, then run the same command again`,
    );
  }
}

async function answers(ask: () => Promise<unknown>, withinMs: number): Promise<boolean> {
  const late = new AbortController();
  const limit = sleep(withinMs, false, { signal: late.signal }).catch(() => false);
  const answered = ask().then(
    () => true,
    () => false,
  );
  return Promise.race([answered, limit]).finally(() => late.abort());
}

/** Asks the server something cheap. The deadline also ends the client's retries. */
export const asker =
  ({ connection, workflowService }: Client) =>
  (): Promise<unknown> =>
    connection.withDeadline(Date.now() + PACE.answerMs, () => workflowService.getSystemInfo({}));

/** Repeats a call that fails in an outage, by default for as long as `watchServer` tolerates an outage. */
export async function throughOutages<T>(call: () => Promise<T>, attempts = 6): Promise<T> {
  for (let left = attempts; ; left--) {
    try {
      return await call();
    } catch (error) {
      if (left === 1 || !isUnanswered(error)) throw error;
    }
  }
}

/** Asks twice: the workflow behind a schedule can be late on a busy server, which then ends the request after 30 seconds. */
export const describeSchedule = (schedule: ScheduleHandle): Promise<ScheduleDescription> =>
  throughOutages(() => schedule.describe(), 2);
