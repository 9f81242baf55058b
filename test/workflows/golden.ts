// Recorded histories, as compressed JSON. If GAUNTLET_RECORD_HISTORIES is set, tests record their histories again.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { WorkflowHandle } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { ROOT } from '../../infra/root.mjs';

const FOLDER = `${ROOT}/test/workflows/histories`;

interface Payload {
  data?: string; // encoded as base64
}

/** The output of `temporal workflow show --output json`. */
export interface RecordedHistory {
  events: Record<string, unknown>[];
}

export async function record(name: string, handle: Pick<WorkflowHandle, 'fetchHistory'>): Promise<void> {
  if (!process.env.GAUNTLET_RECORD_HISTORIES) return;
  const root = `${ROOT}/`; // appears in stack traces
  const text = historyToJSON(await handle.fetchHistory())
    .replaceAll(`file://${root}`, '')
    .replaceAll(root, '');
  await writeFile(`${FOLDER}/${name}.json.gz`, gzipSync(`${text}\n`, { level: 9 }));
}

export async function recordedNames(): Promise<string[]> {
  return (await readdir(FOLDER)).map((file) => file.replace(/\.json\.gz$/, '')).sort();
}

export async function recorded(name: string): Promise<RecordedHistory> {
  return JSON.parse(gunzipSync(await readFile(`${FOLDER}/${name}.json.gz`)).toString()) as RecordedHistory;
}

export function workflowIdOf({ events }: RecordedHistory): string {
  return (events[0]!.workflowExecutionStartedEventAttributes as { workflowId: string }).workflowId;
}

/** The sizes of all payloads in bytes. */
export function payloadSizes(value: unknown): number[] {
  if (typeof value !== 'object' || value === null) return [];
  const { payloads } = value as { payloads?: Payload[] };
  const own = Array.isArray(payloads) ? payloads.map(({ data }) => Buffer.from(data ?? '', 'base64').length) : [];
  const rest = Object.entries(value).filter(([name]) => name !== 'payloads' || !Array.isArray(payloads));
  return [...own, ...rest.flatMap(([, below]) => payloadSizes(below))];
}
