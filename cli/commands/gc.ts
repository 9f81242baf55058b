// `gauntlet store gc`: frees the space of artifacts that no checkpoint and no open run refers to.
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { RETENTION_MS } from '../../infra/temporalNamespace.js';
import { listFolder } from '../../store/inventory.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { MANIFEST, RESULT } from '../../store/runs.js';
import { type Swept, sweep } from '../../store/sweep.js';
import { jsonOption, number } from '../input/options.js';
import { hasServer, type StoreFlags, statusOf, withSession, withStore } from '../run/session.js';
import { createOutput, failureOf, type Output, sizeText } from '../terminal/output.js';

const HOUR = 3_600_000;
/** Files used within the last hour always stay: clocks differ, and activities start before they write. */
const GRACE = HOUR;

interface Flags extends StoreFlags {
  dryRun?: boolean;
  list?: boolean;
  olderThan: number;
}

/** Every open workflow that may read the store. Other projects may use the same namespace. */
const OPEN = `ExecutionStatus = 'Running' AND WorkflowType IN ('trainFullPipeline', 'solveProblems', 'evaluateCheckpoint')`;
const UNKNOWN = 'has no result, and no server knows its status';

export interface OpenRun {
  run: string; // the id of a run or of another open workflow
  why: 'is open' | 'was used recently' | typeof UNKNOWN;
  since: number; // ms since 1970
}

export function addGc(group: Command): void {
  const command = group
    .command('gc')
    .description('remove old artifacts that no checkpoint and no open run refers to')
    .option('--dry-run', 'print what would be removed, remove nothing')
    .option('--list', 'print every file')
    .option('--older-than <days>', 'only files not used for this long (one hour at least)', number({ from: 0 }), 7)
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (flags: Flags) => {
    const output = createOutput(flags.json);
    const store = await openStore(flags.store);
    const now = Date.now();
    const limit = now - Math.max(flags.olderThan * 24 * HOUR, GRACE);
    const known = await withServer(flags, output, (client) => openRuns(store, limit, client));
    const keepFrom = Math.min(limit, ...known.open.map(({ since }) => since - GRACE));
    const swept = await sweep(store, {
      keepFrom,
      open: new Set(known.open.map(({ run }) => run)),
      dryRun: flags.dryRun === true,
    });
    if (!known.asked) output.note('no Temporal server answers: every run without a result counts as open');
    const result = { dryRun: flags.dryRun === true, keepFrom: new Date(keepFrom).toISOString(), ...known, ...swept };
    output.result(result, () => {
      const files = flags.list === true ? swept.paths.map((path) => `  ${path}\n`).join('') : '';
      return files + sweptText(swept, known.open, keepFrom, flags.dryRun === true);
    });
  });
}

/** Calls `work` with a client if a server answers. Starts no server. */
async function withServer<T>(flags: Flags, output: Output, work: (client?: Client) => Promise<T>): Promise<T> {
  if (!hasServer(flags.store)) return work();
  return withSession(flags, output, 'none', ({ client }) => work(client)).catch((error: unknown) => {
    if (failureOf(error).code === 'SERVER_UNAVAILABLE') return work();
    throw error;
  });
}

/**
 * Returns the runs whose artifacts must stay, and since when. They are open on the server, or they have no result and were
 * used since `limit` (a failed run may be resumed), or they have no result and no server knows their status: they may be open
 * on another server, and `gauntlet resume` can start them again until the retention has passed.
 */
export async function openRuns(
  store: ObjectStore,
  limit: number,
  client: Client | undefined, // undefined if no server answers
): Promise<{ asked: boolean; open: OpenRun[] }> {
  const runs = await Promise.all((await store.listRuns()).map((run) => usageOf(store, run)));
  const ids = runs.map(({ run }) => run);
  const server = client && (await openOn(client, ids));
  const open = runs.flatMap(({ run, since, lastUse, ended }): OpenRun[] => {
    const standing = server?.runs.get(run);
    if (standing === 'is open') return [{ run, why: standing, since }];
    const mayGoOn = server === undefined || (standing === undefined && lastUse >= limit - RETENTION_MS);
    if (!ended && mayGoOn) return [{ run, why: UNKNOWN, since }];
    return !ended && lastUse >= limit ? [{ run, why: 'was used recently', since }] : [];
  });
  const others = [...(server?.others ?? [])].map(([run, since]): OpenRun => ({ run, why: 'is open', since }));
  return { asked: server !== undefined, open: [...open, ...others] };
}

interface RunUse {
  run: string;
  since: number; // when its first file was used
  lastUse: number;
  ended: boolean;
}

async function usageOf(store: ObjectStore, run: string): Promise<RunUse> {
  const files = await listFolder(store, `runs/${run}`);
  const manifest = files.find(({ name }) => name === MANIFEST)?.usedAt ?? Number.POSITIVE_INFINITY;
  const since = files.reduce((first, { usedAt }) => Math.min(first, usedAt), manifest);
  const lastUse = files.reduce((last, { usedAt }) => Math.max(last, usedAt), 0);
  return { run, since: Math.min(since, Date.now()), lastUse, ended: files.some(({ name }) => name === RESULT) };
}

interface ServerView {
  runs: Map<string, 'is open' | 'is closed'>; // the runs that the server knows, by id
  others: Map<string, number>; // when all other open workflows started (ms), by id
}

async function openOn(client: Client, ids: readonly string[]): Promise<ServerView> {
  const runs = new Map<string, 'is open' | 'is closed'>();
  for (const id of ids) {
    const status = await statusOf(client, id);
    const open = status === 'RUNNING' || status === 'PAUSED' || status === 'CONTINUED_AS_NEW';
    if (status !== undefined) runs.set(id, open ? 'is open' : 'is closed');
  }
  const others = new Map<string, number>();
  for await (const { workflowId, startTime } of client.workflow.list({ query: OPEN })) {
    if (runs.get(workflowId) !== 'is open') others.set(workflowId, startTime.getTime());
  }
  return { runs, others };
}

function sweptText(swept: Swept, open: readonly OpenRun[], keepFrom: number, dryRun: boolean): string {
  const { memos, blobs, leftovers, bytes } = swept;
  const rows: [number, string][] = [
    [memos.files, 'memo rows'],
    [blobs.files, 'artifacts'],
    [leftovers.files, 'damaged or left-over files'],
  ];
  const lines = rows.filter(([count]) => count > 0).map(([count, what]) => `  ${count} ${what}`);
  return [
    ...open.map(({ run, why }) => `kept: what '${run}' may need (${why})`),
    `${dryRun ? 'would free' : 'freed'} ${sizeText(bytes)} not used since ${new Date(keepFrom).toISOString()}`,
    ...lines,
  ].join('\n');
}
