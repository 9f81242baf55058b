// Follows a run with its `progress` query until it ends: a live view in a terminal, otherwise a line per step.
import { setTimeout } from 'node:timers/promises';
import { QueryNotRegisteredError, QueryRejectedError, type WorkflowHandle } from '@temporalio/client';
import type { RunProgress } from '../../core/schema/run.js';
import type { Band } from '../../dashboard/api.js';
import { LEAST_COLUMNS, liveView } from '../terminal/liveView.js';
import { isUnanswered, print } from '../terminal/output.js';
import { attentionOf, Pace, progressLine, warningsIn } from '../terminal/progress.js';
import { openStatusLine } from '../terminal/statusLine.js';
import { throughOutages } from './outage.js';

const POLL_MS = 500;
const LIVE_LINES = 3;

export interface WatchOptions {
  signal?: AbortSignal; // ends watching, not the run
  stream?: NodeJS.WriteStream; // default: standard error
  quiet?: boolean; // shows nothing
  schedule?: () => Promise<readonly Band[]>; // reads the schedule of the run, as far as it is known
}

/** Shows progress until the workflow ends; resolves to its result. @throws the signal's reason when it aborts */
export async function watchRun(
  handle: WorkflowHandle,
  { signal, stream, quiet, schedule }: WatchOptions = {},
): Promise<unknown> {
  const display = quiet ? { update: noop, stop: noop } : openDisplay(stream ?? process.stderr, { schedule });
  let finished = false;
  let lost = false; // true if the server no longer answers
  const result = throughOutages(() => handle.result())
    .catch((error: unknown) => {
      lost = isUnanswered(error);
      throw error;
    })
    .finally(() => {
      finished = true;
    });
  const ended = result.then(noop, noop);
  const aborted = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
  try {
    while (!finished && !signal?.aborted) {
      const progress = await Promise.race([queryProgress(handle), ended, aborted]);
      if (progress && !signal?.aborted) display.update(progress);
      await Promise.race([ended, aborted, setTimeout(POLL_MS, undefined, { ref: false })]);
    }
    signal?.throwIfAborted();
    // the last progress is asked for twice, because the run may not answer while it ends
    for (let asked = 0, last: RunProgress | undefined; asked < 2 && last === undefined && !lost; asked++) {
      last = await Promise.race([queryProgress(handle).catch(noop), aborted.then(noop)]);
      if (last) display.update(last);
    }
  } finally {
    display.stop();
  }
  return result;
}

const noop = (): undefined => undefined;

/** Asks the run for its progress. Undefined while no worker answers. */
export async function queryProgress(handle: WorkflowHandle): Promise<RunProgress | undefined> {
  try {
    return await handle.query<RunProgress>('progress');
  } catch (error) {
    if (error instanceof QueryNotRegisteredError || error instanceof QueryRejectedError) throw error;
    return undefined;
  }
}

export interface Display {
  update(progress: RunProgress): void;
  stop(): void;
}

interface DisplayOptions extends Pick<WatchOptions, 'schedule'> {
  now?: () => number;
  env?: NodeJS.ProcessEnv;
}

/** Opens a live view in a terminal, otherwise a view of lines. A log of CI gets lines even if it says that it is a terminal. */
export function openDisplay(
  stream: NodeJS.WriteStream,
  { now = Date.now, env = process.env, schedule }: DisplayOptions = {},
): Display {
  const isLive = stream.isTTY && !env.CI && env.TERM !== 'dumb';
  return isLive ? liveDisplay(stream, now, schedule) : lineDisplay(stream, now);
}

/** Returns a function that finds the warnings whose topic was not shown before. Their figures change with every step. */
function newWarnings(): (progress: RunProgress) => string[] {
  const known = new Set<string>();
  return (progress) => {
    const fresh = warningsIn(progress).filter(({ topic }) => !known.has(topic));
    for (const { topic } of fresh) known.add(topic);
    return fresh.map(({ line }) => line);
  };
}

function liveDisplay(stream: NodeJS.WriteStream, now: () => number, schedule: WatchOptions['schedule']): Display {
  const pace = new Pace();
  let shown: RunProgress | undefined;
  let attention: string | undefined;
  const warningsOf = newWarnings();
  const [passRates, validities]: [number[], number[]] = [[], []];
  let bands: readonly Band[] = [];
  let phase = '';
  const text = (): string => {
    if (shown === undefined) return '';
    const [columns, left] = [stream.columns || 80, pace.left(shown, now())];
    if (bands.length > 0 && columns >= LEAST_COLUMNS)
      return liveView({ progress: shown, left, bands, passRates, validities }, columns, stream);
    return progressLine(shown, left).slice(0, columns - 1); // a character in the last column wraps in some terminals
  };
  const line = openStatusLine(text, stream, LIVE_LINES);
  /** Reads the schedule again in every phase, because it changes with the settings of the run. */
  const readSchedule = async ({ stage, phase: name, totalSteps }: RunProgress): Promise<void> => {
    const next = `${stage} ${name} ${totalSteps}`;
    if (stage === undefined || next === phase) return;
    phase = next;
    bands = (await schedule?.().catch(noop)) ?? bands;
  };
  return {
    update(progress) {
      if (progress.step > (shown?.step ?? 0)) {
        if (progress.passRate !== undefined) passRates.push(progress.passRate);
        if (progress.validity !== undefined) validities.push(progress.validity);
      }
      shown = progress;
      void readSchedule(progress);
      pace.update(progress, now());
      for (const warning of warningsOf(progress)) line.printAbove(warning);
      const asks = attentionOf(progress);
      if (asks !== undefined && asks !== attention) line.printAbove(asks);
      else line.draw();
      attention = asks;
    },
    stop() {
      line.close();
      if (shown !== undefined) print(`${text()}\n`, stream);
    },
  };
}

function lineDisplay(stream: NodeJS.WriteStream, now: () => number): Display {
  const pace = new Pace();
  let last = '';
  const warningsOf = newWarnings();
  return {
    update(progress) {
      pace.update(progress, now());
      const attention = attentionOf(progress);
      const line = attention === undefined ? progressLine(progress) : `${progressLine(progress)}\n${attention}`;
      if (line === last) return;
      last = line;
      const figures = progressLine(progress, pace.left(progress, now()));
      print(`${attention === undefined ? figures : `${figures}\n${attention}`}\n`, stream);
      for (const warning of warningsOf(progress)) print(`${warning}\n`, stream);
    },
    stop: noop,
  };
}
