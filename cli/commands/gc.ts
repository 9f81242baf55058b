// `gauntlet gc`: gives back the space of artifacts that no checkpoint and no run that goes on refers to.
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
import { namedBeginnings } from '../beginnings.js';
import { integer } from '../config.js';
import { createOutput, megabytes } from '../output.js';
import { statusOf, withStore } from '../session.js';

const HOUR = 3_600_000;
/** What was used within the last hour stays whatever is asked for: clocks differ, and activities begin before they write. */
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

/** The server that runs of this store would be on, without starting one. */
function serverOf(store: string): Target | undefined {
  const address = runningAddress(store);
  const embedded =
    address === undefined
      ? undefined
      : { connection: { address }, namespace: process.env.TEMPORAL_NAMESPACE || 'default' };
  return temporalTarget(process.env) ?? embedded;
}

const STAGE = /\/stage-\d$/; // of a run, whose id comes before
const UNKNOWN = 'has no result, and no server says how it stands';

export interface OpenRun {
  run: string; // or the id of another workflow that goes on
  why: 'goes on' | 'touched lately' | typeof UNKNOWN;
  since: number; // ms since 1970
}

export function addGc(program: Command): void {
  const command = program
    .command('gc')
    .description('remove old artifacts that no checkpoint and no run that goes on refers to')
    .option('--dry-run', 'only say what would go')
    .option('--list', 'name every file')
    .option('--older-than <days>', 'only what was not used for so long (an hour at least)', days, 7)
    .option(
      '--keep <n>',
      'of runs that have ended, keep every nth checkpoint beside the best and the latest',
      integer('--keep', 1),
    )
    .option('--json', 'one line of JSON');
  withStore(command, 'nobody').action(async (flags: Flags) => {
    const output = createOutput(flags.json === true);
    const store = await openFileStore(flags.store);
    const now = Date.now();
    const limit = now - Math.max(flags.olderThan * 24 * HOUR, GRACE);
    const { beginnings, ...known } = await openRuns(store, limit, serverOf(flags.store), flags.keep !== undefined);
    const keepFrom = Math.min(limit, ...known.open.map(({ since }) => since - GRACE));
    const swept = await sweep(store, {
      keepFrom,
      open: new Set(known.open.map(({ run }) => run)),
      beginnings,
      dryRun: flags.dryRun === true,
      ...(flags.keep === undefined ? {} : { keepEvery: flags.keep }),
    });
    if (!known.asked)
      output.note('no Temporal server answers: every run without a result is taken for one that goes on');
    const result = { dryRun: flags.dryRun === true, keepFrom: new Date(keepFrom).toISOString(), ...known, ...swept };
    output.result(result, () => {
      const files = flags.list === true ? swept.paths.map((path) => `  ${path}\n`).join('') : '';
      return files + sweptText(swept, known.open, keepFrom, flags.dryRun === true);
    });
  });
}

/**
 * Runs whose artifacts must stay, and since when: those that a server says go on, those touched since `limit` (a failed
 * one may be resumed), and those that have not ended where no server answers, or one that does not know them: they may
 * go on with another one, and until its retention has passed `gauntlet resume` may start them again here.
 */
export async function openRuns(
  store: FileStore,
  limit: number,
  target: Target | undefined,
  withBeginnings = false,
): Promise<{ asked: boolean; open: OpenRun[]; beginnings: ReadonlySet<string> }> {
  const runs = await Promise.all((await store.listRuns()).map((run) => standingOf(store, run)));
  const server =
    target === undefined
      ? undefined
      : await goingOn(
          target,
          runs.map(({ run }) => run),
          withBeginnings,
        );
  const open = runs.flatMap(({ run, since, lastUse, ended }): OpenRun[] => {
    const standing = server?.runs.get(run);
    if (standing === 'goes on') return [{ run, why: standing, since }];
    const mayGoOn = server === undefined || (standing === undefined && lastUse >= limit - RETENTION_MS);
    if (!ended && mayGoOn) return [{ run, why: UNKNOWN, since }];
    return !ended && lastUse >= limit ? [{ run, why: 'touched lately', since }] : [];
  });
  const others = [...(server?.others ?? [])].map(([run, since]): OpenRun => ({ run, why: 'goes on', since }));
  return { asked: server !== undefined, open: [...open, ...others], beginnings: server?.beginnings ?? new Set() };
}

interface Standing {
  run: string;
  since: number; // of its first file
  lastUse: number;
  ended: boolean;
}

async function standingOf(store: FileStore, run: string): Promise<Standing> {
  const files = await listFolder(store, `runs/${run}`);
  const manifest = files.find(({ name }) => name === MANIFEST)?.usedAt ?? Number.POSITIVE_INFINITY;
  const since = files.reduce((first, { usedAt }) => Math.min(first, usedAt), manifest);
  const lastUse = files.reduce((last, { usedAt }) => Math.max(last, usedAt), 0);
  return { run, since: Math.min(since, Date.now()), lastUse, ended: files.some(({ name }) => name === RESULT) };
}

interface GoingOn {
  runs: Map<string, 'goes on' | 'is closed'>; // those of the ids that it knows
  others: Map<string, number>; // every other workflow that goes on, since when
  beginnings: Set<string>; // checkpoints that one of these, or a schedule, is still to begin at
}

/** Undefined where no server answers. */
async function goingOn(target: Target, ids: readonly string[], withBeginnings: boolean): Promise<GoingOn | undefined> {
  const connection = await Connection.connect({ ...target.connection, connectTimeout: CONNECT_MS }).catch(
    () => undefined,
  );
  if (connection === undefined) return undefined;
  try {
    const client = new Client({ connection, namespace: target.namespace, dataConverter: dataConverter(process.env) });
    const runs = new Map<string, 'goes on' | 'is closed'>();
    for (const id of ids) {
      const status = await statusOf(client, id);
      const open = status === 'RUNNING' || status === 'PAUSED' || status === 'CONTINUED_AS_NEW';
      if (status !== undefined) runs.set(id, open ? 'goes on' : 'is closed');
    }
    const others = new Map<string, number>();
    const unprepared: string[] = [];
    for await (const { workflowId, type, startTime } of client.workflow.list({
      query: `ExecutionStatus = 'Running'`,
    })) {
      if (runs.get(workflowId.replace(STAGE, '')) === 'goes on') continue;
      others.set(workflowId, startTime.getTime());
      if (type === 'trainFullPipeline') unprepared.push(workflowId);
    }
    const beginnings = withBeginnings ? await namedBeginnings(client, unprepared) : new Set<string>();
    return { runs, others, beginnings };
  } catch (error) {
    if (error instanceof GauntletError) throw error;
    return undefined; // it knows no such namespace, or went away
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
    ...open.map(({ run, why }) => `stays: what '${run}' may need (${why})`),
    `${dryRun ? 'would free' : 'freed'} ${megabytes(bytes)} not used since ${new Date(keepFrom).toISOString()}`,
    ...lines,
  ].join('\n');
}

function days(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new GauntletError('BAD_INPUT', `--older-than: '${text}' is not a number of days from 0 on`);
}
