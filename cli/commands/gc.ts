// `gauntlet store gc`: frees the space of artifacts that no checkpoint and no open run refers to.
import { Client, Connection } from '@temporalio/client';
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { dataConverter } from '../../infra/payloadCodec.js';
import { RETENTION_MS } from '../../infra/temporalNamespace.js';
import { runningAddress } from '../../infra/temporalServer.js';
import { type TemporalTarget, temporalTarget } from '../../infra/temporalTarget.js';
import { type FileStore, openFileStore } from '../../store/fileStore.js';
import { listFolder } from '../../store/inventory.js';
import { MANIFEST, RESULT } from '../../store/runs.js';
import { type Swept, sweep } from '../../store/sweep.js';
import { integer, jsonOption, number } from '../options.js';
import { createOutput, megabytes } from '../output.js';
import { statusOf, withStore } from '../session.js';
import { startCheckpoints } from '../startCheckpoints.js';

const HOUR = 3_600_000;
/** Files used within the last hour always stay: clocks differ, and activities start before they write. */
const GRACE = HOUR;
const CONNECT_MS = 3_000;

interface Flags {
  store: string;
  dryRun?: boolean;
  list?: boolean;
  keep?: number;
  olderThan: number;
  json?: boolean;
}

type Target = Pick<TemporalTarget, 'connection' | 'namespace'>;

/** The server of this store's runs, if it is known. Starts nothing. */
function serverOf(store: string): Target | undefined {
  const address = runningAddress(store);
  const embedded =
    address === undefined
      ? undefined
      : { connection: { address }, namespace: process.env.TEMPORAL_NAMESPACE || 'default' };
  return temporalTarget(process.env) ?? embedded;
}

const STAGE = /\/stage-\d$/;
const UNKNOWN = 'has no result, and no server knows its status';

export interface OpenRun {
  run: string; // or the id of another open workflow
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
    .option('--keep <n>', 'also thin ended runs: keep every nth checkpoint, the best and the latest', integer(1))
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (flags: Flags) => {
    const output = createOutput(flags.json);
    const store = await openFileStore(flags.store);
    const now = Date.now();
    const limit = now - Math.max(flags.olderThan * 24 * HOUR, GRACE);
    const { starts, ...known } = await openRuns(store, limit, serverOf(flags.store), flags.keep !== undefined);
    const keepFrom = Math.min(limit, ...known.open.map(({ since }) => since - GRACE));
    const swept = await sweep(store, {
      keepFrom,
      open: new Set(known.open.map(({ run }) => run)),
      beginnings: starts,
      dryRun: flags.dryRun === true,
      ...(flags.keep === undefined ? {} : { keepEvery: flags.keep }),
    });
    if (!known.asked) output.note('no Temporal server answers: every run without a result counts as open');
    const result = { dryRun: flags.dryRun === true, keepFrom: new Date(keepFrom).toISOString(), ...known, ...swept };
    output.result(result, () => {
      const files = flags.list === true ? swept.paths.map((path) => `  ${path}\n`).join('') : '';
      return files + sweptText(swept, known.open, keepFrom, flags.dryRun === true);
    });
  });
}

/**
 * Runs whose artifacts must stay, and since when: runs that are open on the server; runs without a result that were used
 * since `limit` (a failed run may be resumed); runs without a result whose status no server knows. These may be open on
 * another server, and `gauntlet resume` can start them again until the retention has passed.
 */
export async function openRuns(
  store: FileStore,
  limit: number,
  target: Target | undefined,
  withStarts = false,
): Promise<{ asked: boolean; open: OpenRun[]; starts: ReadonlySet<string> }> {
  const runs = await Promise.all((await store.listRuns()).map((run) => usageOf(store, run)));
  const server =
    target === undefined
      ? undefined
      : await openOn(
          target,
          runs.map(({ run }) => run),
          withStarts,
        );
  const open = runs.flatMap(({ run, since, lastUse, ended }): OpenRun[] => {
    const standing = server?.runs.get(run);
    if (standing === 'is open') return [{ run, why: standing, since }];
    const mayGoOn = server === undefined || (standing === undefined && lastUse >= limit - RETENTION_MS);
    if (!ended && mayGoOn) return [{ run, why: UNKNOWN, since }];
    return !ended && lastUse >= limit ? [{ run, why: 'was used recently', since }] : [];
  });
  const others = [...(server?.others ?? [])].map(([run, since]): OpenRun => ({ run, why: 'is open', since }));
  return { asked: server !== undefined, open: [...open, ...others], starts: server?.starts ?? new Set() };
}

interface RunUse {
  run: string;
  since: number; // of its first file
  lastUse: number;
  ended: boolean;
}

async function usageOf(store: FileStore, run: string): Promise<RunUse> {
  const files = await listFolder(store, `runs/${run}`);
  const manifest = files.find(({ name }) => name === MANIFEST)?.usedAt ?? Number.POSITIVE_INFINITY;
  const since = files.reduce((first, { usedAt }) => Math.min(first, usedAt), manifest);
  const lastUse = files.reduce((last, { usedAt }) => Math.max(last, usedAt), 0);
  return { run, since: Math.min(since, Date.now()), lastUse, ended: files.some(({ name }) => name === RESULT) };
}

interface ServerView {
  runs: Map<string, 'is open' | 'is closed'>; // the ids that the server knows
  others: Map<string, number>; // start times of all other open workflows, ms
  starts: Set<string>; // checkpoints at which an open run or a schedule will start
}

/** Undefined if no server answers. */
async function openOn(target: Target, ids: readonly string[], withStarts: boolean): Promise<ServerView | undefined> {
  const connection = await Connection.connect({ ...target.connection, connectTimeout: CONNECT_MS }).catch(
    () => undefined,
  );
  if (connection === undefined) return undefined;
  try {
    const client = new Client({ connection, namespace: target.namespace, dataConverter: dataConverter(process.env) });
    const runs = new Map<string, 'is open' | 'is closed'>();
    for (const id of ids) {
      const status = await statusOf(client, id);
      const open = status === 'RUNNING' || status === 'PAUSED' || status === 'CONTINUED_AS_NEW';
      if (status !== undefined) runs.set(id, open ? 'is open' : 'is closed');
    }
    const others = new Map<string, number>();
    const unprepared: string[] = [];
    for await (const { workflowId, type, startTime } of client.workflow.list({
      query: `ExecutionStatus = 'Running'`,
    })) {
      if (runs.get(workflowId.replace(STAGE, '')) === 'is open') continue;
      others.set(workflowId, startTime.getTime());
      if (type === 'trainFullPipeline') unprepared.push(workflowId);
    }
    const starts = withStarts ? await startCheckpoints(client, unprepared) : new Set<string>();
    return { runs, others, starts };
  } catch (error) {
    if (error instanceof GauntletError) throw error;
    return undefined; // the server went away, or has no such namespace
  } finally {
    await connection.close();
  }
}

export function sweptText(swept: Swept, open: readonly OpenRun[], keepFrom: number, dryRun: boolean): string {
  const { checkpoints, memos, blobs, leftovers, bytes } = swept;
  const rows: [number, string][] = [
    [checkpoints.names.length, `checkpoints: ${checkpoints.names.join(', ')}`],
    [memos.files, 'memo rows'],
    [blobs.files, 'artifacts'],
    [leftovers.files, 'damaged or left-over files'],
  ];
  const lines = rows.filter(([count]) => count > 0).map(([count, what]) => `  ${count} ${what}`);
  return [
    ...open.map(({ run, why }) => `kept: what '${run}' may need (${why})`),
    `${dryRun ? 'would free' : 'freed'} ${megabytes(bytes)} not used since ${new Date(keepFrom).toISOString()}`,
    ...lines,
  ].join('\n');
}
