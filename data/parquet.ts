// The rows of a Parquet file, one row group after the other. A thread unpacks the groups, because damaged pages can keep the
// reader busy without an end: a file that takes too long is refused.
import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import type { SchemaTree } from 'hyparquet';
import { startThread } from '../infra/scripts.js';
import { MARK } from './exactJson.js';
import { type GroupsTask, PARQUET_LIMITS, ParquetFault, textOf, type Wanted } from './parquetGroups.js';
import type { GroupMessage } from './parquetThread.js';

/** A row of a Parquet file. `exact` has the numbers of float columns as floats: 1.0 is not the int 1. */
export interface ParquetRow {
  json: unknown;
  exact(): unknown;
}

/** @throws ParquetFault, or an error of the file system */
export async function* readParquet(file: string, wanted?: Wanted, limits = PARQUET_LIMITS): AsyncGenerator<ParquetRow> {
  const task: GroupsTask = { file, limits, wanted };
  let left = 1000 * limits.seconds + (await stat(file)).size / 1000; // milliseconds of waiting for the thread that are left
  const thread = startThread(new URL('./parquetThread.js', import.meta.url), task);
  const isLate = new AbortController();
  try {
    for (;;) {
      const from = performance.now();
      const timer = setTimeout(() => isLate.abort(), left);
      const answer = once(thread, 'message', { signal: isLate.signal }); // rejects with an error of the thread
      thread.postMessage('next');
      const [message] = (await answer.finally(() => clearTimeout(timer))) as [GroupMessage];
      if ('fault' in message) throw new ParquetFault(message.fault);
      if ('end' in message) return;
      left -= performance.now() - from;
      const { rows, schema } = message;
      for (const row of rows) yield { json: plain(row, schema, false), exact: () => plain(row, schema, true) };
    }
  } catch (error) {
    if (!isLate.signal.aborted) throw error;
    throw new ParquetFault(`takes more than ${limits.seconds} s to read: is it damaged?`);
  } finally {
    await thread.terminate();
  }
}

/** Converts a value to JSON in the form of exactJson.ts. Types that no problem needs, such as times and raw bytes, become text. */
function plain(value: unknown, node: SchemaTree | undefined, exact: boolean): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') {
    const isSafe = BigInt.asIntN(54, value) === value;
    return isSafe ? Number(value) : exact ? { [MARK]: String(value) } : String(value);
  }
  if (typeof value === 'number') {
    const isFloat = /^(FLOAT|DOUBLE)$/.test(node?.element.type ?? '') || !Number.isInteger(value);
    if (!isFloat || (!exact && Number.isFinite(value))) return value;
    return { [MARK]: Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : String(value) };
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return isUtf8(value) ? textOf(value) : Buffer.from(value).toString('base64');
  if (ArrayBuffer.isView(value)) return plain([...(value as unknown as Iterable<unknown>)], node, exact);
  if (Array.isArray(value)) {
    const repeated = node?.children[0] ?? node;
    const inner = repeated?.children.length === 1 && node !== repeated ? repeated.children[0] : repeated;
    return value.map((one) => plain(one, inner, exact));
  }
  if (typeof value !== 'object') return value;
  const child = new Map(node?.children.map((one) => [one.element.name, one]));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner, child.get(key), exact)]));
}
