// Follows a run by its `progress` query until it ends: a bar in a terminal, a line per step elsewhere.
import { QueryNotRegisteredError, QueryRejectedError, type WorkflowHandle } from '@temporalio/client';
import chalk from 'chalk';
import { SingleBar } from 'cli-progress';
import type { RunProgress } from '../core/schema/run.js';
import { throughOutages } from './outage.js';
import { duration, holdLine, isUnanswered } from './output.js';
import { Pace, pleaOf, progressBar, progressLine } from './progress.js';

const POLL_MS = 500;
const REDRAWS_A_SECOND = 4;

export interface WatchOptions {
  signal?: AbortSignal; // ends watching; the run goes on
  stream?: NodeJS.WriteStream; // default: standard error
  quiet?: boolean; // waits, and shows nothing
}

/** Shows progress until the workflow ends; resolves to its result. @throws the signal's reason when it aborts */
export async function watchRun(handle: WorkflowHandle, { signal, stream, quiet }: WatchOptions = {}): Promise<unknown> {
  const display = quiet ? { update: noop, stop: noop } : openDisplay(stream ?? process.stderr);
  let finished = false;
  let lost = false; // there is no server to ask for the last figures
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
      let timer: NodeJS.Timeout | undefined;
      const pause = new Promise((resolve) => {
        timer = setTimeout(resolve, POLL_MS);
      });
      await Promise.race([ended, aborted, pause]);
      clearTimeout(timer);
    }
    signal?.throwIfAborted();
    const last = lost ? undefined : await Promise.race([queryProgress(handle).catch(noop), aborted]);
    if (last) display.update(last);
  } finally {
    display.stop();
  }
  return result;
}

const noop = (): undefined => undefined;

/** Undefined while no worker can answer: a run without a worker just waits. */
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

export function openDisplay(stream: NodeJS.WriteStream, now: () => number = Date.now): Display {
  return stream.isTTY ? barDisplay(stream, now) : lineDisplay(stream, now);
}

/** One line that never reaches the last column, written only when its text changes; erased for a remark above it. */
function barDisplay(stream: NodeJS.WriteStream, now: () => number): Display {
  const pace = new Pace();
  let shown: RunProgress | undefined;
  let told: string | undefined;
  const line = (): string =>
    shown === undefined
      ? ''
      : progressBar(shown, pace.left(shown, now()), stream.columns || 80).replace(/^[█░]+/, (bar) => chalk.cyan(bar));
  const bar = new SingleBar({
    stream,
    format: line,
    hideCursor: true,
    linewrap: false,
    clearOnComplete: true,
    fps: REDRAWS_A_SECOND,
    gracefulExit: false, // signals are the command's
  });
  const draw = (): void => bar.start(Math.max(1, shown!.totalSteps), shown!.step);
  return {
    update(progress) {
      const first = shown === undefined;
      shown = progress;
      pace.update(progress, now());
      const plea = pleaOf(progress);
      if (plea !== undefined && plea !== told) {
        if (!first) bar.stop();
        stream.write(`${plea}\n`);
        draw();
      }
      told = plea;
      if (!first) return bar.update(progress.step);
      draw();
      holdLine({ clear: () => bar.stop(), redraw: draw });
    },
    stop() {
      holdLine(undefined);
      if (shown === undefined) return;
      bar.stop();
      stream.write(`${line()}\n`);
    },
  };
}

function lineDisplay(stream: NodeJS.WriteStream, now: () => number): Display {
  const pace = new Pace();
  let last = '';
  return {
    update(progress) {
      pace.update(progress, now());
      const plea = pleaOf(progress);
      const line = plea === undefined ? progressLine(progress) : `${progressLine(progress)}\n${plea}`;
      if (line === last) return;
      last = line;
      const left = pace.left(progress, now());
      stream.write(`${line}${left === undefined ? '' : ` · ${duration(left)} left`}\n`);
    },
    stop: noop,
  };
}
