// Follows a run by its `progress` query until it ends: a bar in a terminal, a line per step elsewhere.
import type { WorkflowHandle } from '@temporalio/client';
import { QueryNotRegisteredError, QueryRejectedError } from '@temporalio/client';
import chalk from 'chalk';
import { SingleBar } from 'cli-progress';
import type { RunProgress } from '../core/schema/run.js';
import { duration, percent } from './output.js';

const POLL_MS = 1000;

/** One line: where a run stands and how it does. */
export function progressLine(progress: RunProgress): string {
  const place =
    progress.stage === undefined ? progress.state : `stage ${progress.stage} ${progress.phase ?? ''}`.trim();
  const parts = [`${place}`, `step ${progress.step}/${progress.totalSteps}`];
  if (progress.reward !== undefined) parts.push(`reward ${progress.reward.toFixed(3)}`);
  if (progress.passRate !== undefined) parts.push(`pass ${percent(progress.passRate)}`);
  if (progress.validity !== undefined) parts.push(`valid tests ${percent(progress.validity)}`);
  if (progress.tokensPerSecond !== undefined) parts.push(`${Math.round(progress.tokensPerSecond)} tokens/s`);
  if (progress.validation?.passRate !== undefined) parts.push(`validation ${percent(progress.validation.passRate)}`);
  return parts.join(' · ');
}

/** Seconds left, from the pace since `from` (a step count at a time in ms); undefined before the first step. */
export function timeLeft(progress: RunProgress, from: { step: number; at: number }, now: number): number | undefined {
  const done = progress.step - from.step;
  if (done <= 0) return undefined;
  return (((now - from.at) / done) * (progress.totalSteps - progress.step)) / 1000;
}

/** Writes progress to `stream` (standard error) until the workflow ends; resolves to its result. */
export async function watchRun<T>(handle: WorkflowHandle, stream: NodeJS.WriteStream = process.stderr): Promise<T> {
  const display = stream.isTTY ? barDisplay(stream) : lineDisplay(stream);
  let finished = false;
  const result = handle.result().finally(() => {
    finished = true;
  });
  result.catch(() => undefined); // awaited below; a failure while polling is not "unhandled"
  try {
    while (!finished) {
      const progress = await queryProgress(handle);
      if (progress !== undefined) display.update(progress);
      await Promise.race([result.then(noop, noop), new Promise((resolve) => setTimeout(resolve, POLL_MS))]);
    }
  } finally {
    display.stop();
  }
  return (await result) as T;
}

const noop = (): void => undefined;

/** Undefined while no worker can answer: a run without a worker just waits. */
export async function queryProgress(handle: WorkflowHandle): Promise<RunProgress | undefined> {
  try {
    return await handle.query<RunProgress>('progress');
  } catch (error) {
    if (error instanceof QueryNotRegisteredError || error instanceof QueryRejectedError) throw error;
    return undefined;
  }
}

interface Display {
  update(progress: RunProgress): void;
  stop(): void;
}

function barDisplay(stream: NodeJS.WriteStream): Display {
  const bar = new SingleBar({
    stream,
    format: `${chalk.cyan('{bar}')} {percentage}% · {line} · {left}`,
    barsize: 18,
    hideCursor: true,
    linewrap: false,
    etaBuffer: 1,
  });
  let from: { step: number; at: number } | undefined;
  return {
    update(progress) {
      const now = Date.now();
      if (from === undefined) {
        from = { step: progress.step, at: now };
        bar.start(Math.max(1, progress.totalSteps), progress.step, { line: progressLine(progress), left: '' });
      }
      const left = timeLeft(progress, from, now);
      bar.setTotal(Math.max(1, progress.totalSteps));
      bar.update(progress.step, {
        line: progressLine(progress),
        left: left === undefined ? '' : `${duration(left)} left`,
      });
    },
    stop: () => bar.stop(),
  };
}

function lineDisplay(stream: NodeJS.WriteStream): Display {
  let last = '';
  let from: { step: number; at: number } | undefined;
  return {
    update(progress) {
      const now = Date.now();
      from ??= { step: progress.step, at: now };
      const line = progressLine(progress);
      if (line === last) return;
      last = line;
      const left = timeLeft(progress, from, now);
      stream.write(`${line}${left === undefined ? '' : ` · ${duration(left)} left`}\n`);
    },
    stop: noop,
  };
}
