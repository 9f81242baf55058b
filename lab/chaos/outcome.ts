// The outcome of a run, without times. Two runs are equal if their outcomes are equal.
import { listCheckpoints } from '../../store/checkpoints.js';
import { kindOfRow } from '../../store/memo.js';
import { openStore } from '../../store/openStore.js';
import { readMetrics, readResult } from '../../store/runs.js';
import { verifyStore } from '../../store/verify.js';

const CLOCKED = ['seconds', 'tokensPerSecond', 'trainingSeconds', 'report', 'sandboxFaultRate'];

const timeless = (record: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !CLOCKED.includes(name)));

/** A run with kills also raises the alarm that attempts to use the sandbox fail. */
function withoutFaults(record: object): object {
  const { warnings = [], ...rest } = record as { warnings?: { kind: string }[] };
  const others = warnings.filter(({ kind }) => kind !== 'faults');
  return others.length > 0 ? { ...rest, warnings: others } : rest;
}

/**
 * Name → value. Contains every artifact digest of checkpoints, every metric with the digests it names, the result, and the
 * digest of each activity's result.
 */
export async function outcomeOf(folder: string, runId: string): Promise<Map<string, string>> {
  const store = await openStore(folder);
  const outcome = new Map<string, string>();
  for (const { name, files, score } of await listCheckpoints(store, runId)) {
    outcome.set(`${name} score`, String(score));
    for (const [path, digest] of Object.entries(files)) outcome.set(`${name}/${path}`, digest);
  }
  for (const [index, record] of (await readMetrics(store, runId)).entries()) {
    for (const [field, value] of Object.entries(timeless(withoutFaults(record))))
      outcome.set(`metrics ${index} ${field}`, JSON.stringify(value));
  }
  const { result } = await readResult(store, runId);
  for (const [field, value] of Object.entries(timeless(result ?? {})))
    outcome.set(`result ${field}`, JSON.stringify(value));
  for (const key of (await store.memoKeys()).filter((key) => kindOfRow(key).kind === 'result'))
    outcome.set(`output ${key.slice(0, 16)}`, (await store.getMemo(key)) ?? 'lost');
  return outcome;
}

/** The names of values that differ or exist on one side only. */
export function differences(expected: Map<string, string>, actual: Map<string, string>): string[] {
  const names = new Set([...expected.keys(), ...actual.keys()]);
  return [...names].filter((name) => expected.get(name) !== actual.get(name)).sort();
}

/** Reads every byte of the store. @returns the damaged and missing artifacts */
export async function damageOf(folder: string): Promise<string[]> {
  const { findings } = await verifyStore(await openStore(folder));
  return findings.map(({ kind, name, problem }) => `${kind} ${name}: ${problem}`);
}
