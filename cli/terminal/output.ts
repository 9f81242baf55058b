// What a command prints: results on standard output, everything else on standard error. With --json standard output
// holds JSON only. Only `print` writes to a terminal: ids, names and texts of others reach it without control characters.
import { randomUUID } from 'node:crypto';
import { getSystemErrorMap, styleText } from 'node:util';
import { isGrpcServiceError, NamespaceNotFoundError, WorkflowFailedError } from '@temporalio/client';
import Table from 'cli-table3';
import { CommanderError } from 'commander';
import { ERROR_CODES, type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { visible, visibleJson } from '../../core/base/visible.js';
import type { Interval } from '../../core/evaluation/intervals.js';
import { commandLine, isInStore } from './commandLine.js';
import { EXIT, EXIT_CODES } from './exitCodes.js';

/** The details of the status with which calls end if the server has started again elsewhere. Servers use its code, too. */
export const MOVED = 'the Temporal server of this store is now at ';
const UNANSWERED: readonly number[] = [4, 14]; // gRPC: deadline exceeded (an overloaded server says so), unavailable

export interface Output {
  readonly json: boolean;
  /** Progress or a warning, on standard error. */
  note(line: string): void;
  /** Prints `value` as one line of JSON with --json, otherwise `human()`. @param exact keeps control characters */
  result(value: unknown, human: () => string, exact?: boolean): void;
}

type Style = Parameters<typeof styleText>[0];

/** Stands for the character that begins a colour until `printable` puts that in. No other text can contain it. */
const COLOUR = randomUUID();
const ESCAPE = '\u001b';

/** Coloured if `stream` is a terminal; NO_COLOR and FORCE_COLOR override that. */
export const paint = (style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string =>
  styleText(style, visible(text), { stream }).replaceAll(ESCAPE, COLOUR);

/** Makes a text safe for a terminal: colours of `paint` stay, other control characters become escapes. */
export const printable = (text: string): string => visible(text).replaceAll(COLOUR, ESCAPE);

/** @returns false if the stream is full */
export const print = (text: string, stream: NodeJS.WriteStream = process.stdout): boolean =>
  stream.write(printable(text));

export const printJson = (value: unknown): boolean => process.stdout.write(`${visibleJson(JSON.stringify(value))}\n`);

/** The progress bar on the last line of the terminal. Notes are printed above it. */
let lineHolder: { clear(): void; redraw(): void } | undefined;

export function holdLine(holder: { clear(): void; redraw(): void } | undefined): void {
  lineHolder = holder;
}

export function note(line: string): void {
  lineHolder?.clear();
  print(`${line}\n`, process.stderr);
  lineHolder?.redraw();
}

export function createOutput(json = false): Output {
  return {
    json,
    note,
    result: (value, human, exact = false) => {
      lineHolder?.clear();
      if (json) printJson(value);
      else if (exact) process.stdout.write(`${human()}\n`);
      else print(`${human()}\n`);
      lineHolder?.redraw();
    },
  };
}

/** What went wrong, for people and for programs. */
export interface Failure {
  code?: string; // a code that docs/errors.md lists
  message: string; // one line
  hint?: string; // what to do about it
  exitCode: number;
}

export function failureOf(error: unknown): Failure {
  const cause = deepestCause(error);
  if (cause instanceof CommanderError) {
    const message = cause.message
      .trim()
      .replace(/^error: /, '')
      .replace(/(?<!\s)\s*\n\s*/g, ' ');
    return { code: 'BAD_INPUT', message, hint: 'use --help to list arguments and options', exitCode: EXIT.usage };
  }
  if (isGrpcServiceError(cause) && isUnanswered(cause)) {
    const reason = cause.details.split('\n')[0]!.split('. ')[0];
    const message = `the Temporal server no longer answers (${reason}): start one with ${commandLine('up')}, then run the same command again`;
    return { message, ...detailsOf('SERVER_UNAVAILABLE') };
  }
  if (isGrpcServiceError(cause) && cause.details.startsWith(MOVED))
    return { message: `${cause.details}: run the same command again`, ...detailsOf('SERVER_UNAVAILABLE') };
  if (cause instanceof NamespaceNotFoundError) {
    const message = `the Temporal server has no namespace ${cause.namespace}: set TEMPORAL_NAMESPACE to one that it has`;
    return { message, ...detailsOf('SERVER_UNAVAILABLE') };
  }
  const system = systemFailure(cause);
  if (system) return system;
  const text = cause instanceof Error ? cause.message : String(cause);
  const message = text.split('\n').find((line) => line.trim() !== '') ?? 'unknown failure';
  const code = cause instanceof GauntletError ? cause.code : (cause as { type?: unknown } | null)?.type;
  const details = isErrorCode(code)
    ? detailsOf(code)
    : { ...(code ? { code: String(code) } : {}), exitCode: EXIT.failed };
  return { message, ...details, ...(isFailedWorkflow(error) && { exitCode: EXIT.failed }) };
}

/** Failures that a person corrects by naming another file. All other failures of the file system come from its disk. */
const WRONG_PATH = 'ENOENT ENOTDIR EISDIR EEXIST ENOTEMPTY ELOOP ENAMETOOLONG EACCES EPERM EINVAL'.split(' ');
const NETWORK = ['connect', 'read', 'getaddrinfo'];

/** Describes a failure of a file or a port, with the reason that the operating system gives. */
function systemFailure(error: unknown): Failure | undefined {
  const { code = '', errno, syscall, path, port, message } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'ERR_SOCKET_BAD_PORT') return { message, ...detailsOf('BAD_INPUT') };
  const reason = errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1];
  if (reason === undefined || syscall === undefined) return undefined;
  if (syscall === 'listen' || syscall === 'bind') {
    const detail = detailsOf(code === 'EADDRINUSE' ? 'PORT_TAKEN' : 'BAD_INPUT');
    return { message: `port ${port ?? ''}: ${reason} (${code})`, ...detail };
  }
  if (path === undefined && NETWORK.includes(syscall)) return undefined;
  const ofStore = path !== undefined && isInStore(path);
  const place = path === undefined ? '' : `${ofStore ? 'the store cannot be used: ' : ''}${path}: `;
  const ours = ofStore || path === undefined || !WRONG_PATH.includes(code) ? 'STORE_FAULT' : 'BAD_INPUT';
  return { message: `${place}${reason} (${code})`, ...detailsOf(ours) };
}

const detailsOf = (code: ErrorCode) => ({ code, hint: ERROR_CODES[code].help, exitCode: EXIT_CODES[code] });

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);

const isFailedWorkflow = (error: unknown): boolean =>
  error instanceof Error && (error instanceof WorkflowFailedError || isFailedWorkflow(error.cause));

/** Describes a failure in one line, or with its stack if GAUNTLET_DEBUG is 1. */
export function describeError(error: unknown): string {
  if (process.env.GAUNTLET_DEBUG === '1' && error instanceof Error) return error.stack ?? error.message;
  const { message, code } = failureOf(error);
  return code === undefined ? message : `${message} [${code}]`;
}

/** Prints the last line on standard error, as a JSON object with --json. @returns the exit code */
export function printError(error: unknown, json: boolean): number {
  const { exitCode, code, message, hint } = failureOf(error);
  const line = json
    ? visibleJson(JSON.stringify({ error: { code, message, hint } }))
    : `${paint('red', 'error', process.stderr)}: ${describeError(error)}`;
  print(`${line}\n`, process.stderr);
  return exitCode;
}

/** True if no server answered any attempt of a call. */
export function isUnanswered(error: unknown): boolean {
  const root = deepestCause(error);
  return isGrpcServiceError(root) && UNANSWERED.includes(root.code);
}

/** Finds the innermost error, which names the cause: Temporal wraps the failure of an activity several times. */
function deepestCause(error: unknown): unknown {
  let current = error;
  while (current instanceof Error && !(current instanceof GauntletError) && current.cause instanceof Error) {
    current = current.cause;
  }
  return current;
}

/** Renders rows below a header. A column in which no row has a value is left out. */
export function tableText(head: string[], rows: (string | number)[][]): string {
  const cyan = (title: string): string => styleText('cyan', title, { stream: process.stdout }); // the table measures its width
  const isShown = (_: unknown, i: number): boolean => rows.length === 0 || rows.some((cells) => cells[i] !== '–');
  const table = new Table({ head: head.filter(isShown).map(cyan), style: { head: [], border: [], compact: true } });
  table.push(
    ...rows.map((cells) => cells.filter(isShown).map((cell) => visible(String(cell)).replace(/[\n\t]/g, ' '))),
  );
  return table.toString().replaceAll(ESCAPE, COLOUR);
}

/** Returns '1 problem' or '2 problems'. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

export const percent = (rate: number | undefined): string =>
  rate === undefined ? '–' : `${(100 * rate).toFixed(1)} %`;

export const interval = ({ low, high }: Interval): string => `${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)}`;

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  const whole = Math.max(0, Math.round(seconds));
  const minutes = Math.floor(whole / 60);
  return minutes > 0 ? `${minutes} min ${String(whole % 60).padStart(2, '0')} s` : `${whole} s`;
}

/** Returns a size such as '1.5 kB', '20.0 MB' or '3.1 GB'. */
export function sizeText(bytes: number): string {
  if (bytes < 1e5) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
