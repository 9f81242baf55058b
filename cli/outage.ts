// Whether the server of a run that is watched still answers, asked beside everything else: the client tries a call again
// for twenty seconds before it says that it failed, and waits up to a minute for an answer on a line that is dead.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { GauntletError } from '../core/errors.js';
import { isUnanswered } from './output.js';

const PACE = { everyMs: 1500, answerMs: 3000 };
const SAID_AFTER = 2; // askings in vain, nine seconds at most
const GIVEN_UP_AFTER = 27; // two minutes at most

export interface ServerWatch {
  /** Rejects, or never settles, where the server does not answer. */
  ask(): Promise<unknown>;
  address: string;
  note(line: string): void;
  signal: AbortSignal; // ends it
  pace?: typeof PACE;
}

/**
 * Says when the server has stopped to answer, and when it answers again. Counts askings, not seconds: a machine that slept
 * has missed none.
 * @throws GauntletError SERVER_UNAVAILABLE when it has been gone for too long; the signal's reason when it aborts
 */
export async function watchServer({ ask, address, note, signal, pace = PACE }: ServerWatch): Promise<never> {
  for (let silent = 0; ; ) {
    await sleep(pace.everyMs, undefined, { signal });
    if (await answers(ask, pace.answerMs)) {
      if (silent >= SAID_AFTER) note(`the Temporal server at ${address} answers again`);
      silent = 0;
      continue;
    }
    silent++;
    signal.throwIfAborted();
    if (silent === SAID_AFTER) note(`the Temporal server at ${address} does not answer: trying on for two minutes`);
    if (silent < GIVEN_UP_AFTER) continue;
    const lost = `the Temporal server at ${address} has not answered for two minutes`;
    throw new GauntletError('SERVER_UNAVAILABLE', `${lost}: npx gauntlet up, then the same command again`);
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

/** The cheapest question; the client's own retries of it end with the time for an answer. */
export const asker =
  ({ connection, workflowService }: Client) =>
  (): Promise<unknown> =>
    connection.withDeadline(Date.now() + PACE.answerMs, () => workflowService.getSystemInfo({}));

/** A call that waits for long, made again where the server was gone meanwhile: as long as `watchServer` bears with it. */
export async function throughOutages<T>(call: () => Promise<T>): Promise<T> {
  for (let left = 6; ; left--) {
    try {
      return await call();
    } catch (error) {
      if (left === 1 || !isUnanswered(error)) throw error;
    }
  }
}
