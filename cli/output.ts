// What a command prints: people read lines on stderr and results on stdout; with --json stdout holds JSON only.
import { isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';
import chalk from 'chalk';
import Table from 'cli-table3';
import { GauntletError } from '../core/errors.js';

const UNAVAILABLE = 14; // gRPC

export interface Output {
  readonly json: boolean;
  /** A line for people; silent with --json. */
  say(line?: string): void;
  /** A remark on the way (progress, warnings); always on standard error. */
  note(line: string): void;
  /** The result: with --json one line of JSON, else `human()`. */
  result(value: unknown, human: () => string): void;
}

/** A display that holds the terminal's last line for the moment; a remark is printed above it. */
let lineHolder: { clear(): void; redraw(): void } | undefined;

export function holdLine(holder: { clear(): void; redraw(): void } | undefined): void {
  lineHolder = holder;
}

/** A remark on standard error. */
export function note(line: string): void {
  lineHolder?.clear();
  process.stderr.write(`${line}\n`);
  lineHolder?.redraw();
}

export function createOutput(json: boolean): Output {
  return {
    json,
    say: (line = '') => {
      if (!json) process.stdout.write(`${line}\n`);
    },
    note,
    result: (value, human) => {
      lineHolder?.clear();
      process.stdout.write(`${json ? JSON.stringify(value) : human()}\n`);
      lineHolder?.redraw();
    },
  };
}

/** One clear line for any failure; the stack only with GAUNTLET_DEBUG=1. */
export function describeError(error: unknown): string {
  if (process.env.GAUNTLET_DEBUG === '1' && error instanceof Error) return error.stack ?? error.message;
  const root = deepestCause(error);
  if (isGrpcServiceError(root) && isUnanswered(root)) {
    const lost = `the Temporal server no longer answers (${root.details.split('\n')[0]!.split('. ')[0]})`;
    return `${lost}: npx gauntlet up, then the same command again [SERVER_UNAVAILABLE]`;
  }
  if (root instanceof NamespaceNotFoundError)
    return `the Temporal server has no namespace ${root.namespace}: set TEMPORAL_NAMESPACE to one that it has [SERVER_UNAVAILABLE]`;
  const text = root instanceof Error ? root.message : String(root);
  const code = root instanceof GauntletError ? root.code : (root as { type?: string } | null)?.type;
  const line = text.split('\n').find((part) => part.trim() !== '') ?? 'unknown failure';
  return typeof code === 'string' && code !== '' ? `${line} [${code}]` : line;
}

/** That no server was there for a call, as often as the client tried it. */
export function isUnanswered(error: unknown): boolean {
  const root = deepestCause(error);
  return isGrpcServiceError(root) && root.code === UNAVAILABLE;
}

/** Temporal wraps an activity's failure several times; the innermost says what went wrong. */
function deepestCause(error: unknown): unknown {
  let current = error;
  while (current instanceof Error && !(current instanceof GauntletError) && current.cause instanceof Error) {
    current = current.cause;
  }
  return current;
}

export function printError(error: unknown): void {
  process.stderr.write(`${chalk.red('error')}: ${describeError(error)}\n`);
}

/** Rows under a head; coloured only where the terminal takes it. */
export function tableText(head: string[], rows: (string | number)[][]): string {
  const table = new Table({ head: head.map((title) => chalk.cyan(title)), style: { head: [], border: [] } });
  table.push(...rows);
  return table.toString();
}

export const percent = (rate: number | undefined): string =>
  rate === undefined ? '–' : `${(100 * rate).toFixed(1)} %`;

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  const whole = Math.max(0, Math.round(seconds));
  const minutes = Math.floor(whole / 60);
  return minutes > 0 ? `${minutes} min ${String(whole % 60).padStart(2, '0')} s` : `${whole} s`;
}

export function megabytes(bytes: number): string {
  return bytes < 1e5 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
