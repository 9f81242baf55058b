// A folder serves one machine: files that another machine writes can be stale or half visible in its caches, and two
// servers on one database destroy it. So processes that work with a folder say so in it, and the second machine is refused.
// Containers of one machine see the same files and may share a folder, but not an embedded server.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GauntletError } from '../core/base/errors.js';
import { isAlive } from './lock.mjs';
import { BOOT, isHere, PLACE } from './place.mjs';

const BEAT_MS = 2000; // how often a process touches its file
const WATCH_MS = 15_000; // if a file does not change for so long, its process has died. Clocks need not agree.

/** Magic numbers that statfs(2) gives to file systems. Node would try for ever to make a folder in /proc. */
const UNUSABLE: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'SMB'],
  [0x5346414f, 'AFS'],
  [0x9fa0, 'procfs'],
]);

/** @throws GauntletError BAD_CONFIG if the folder is on a network file system or in /proc. It need not exist. */
export async function refuseNetworkFolder(folder: string, typeOf = fileSystemOf): Promise<void> {
  const kind = UNUSABLE.get((await typeOf(folder)) >>> 0);
  if (kind === undefined) return;
  const way = 'name a folder on a disk of this machine, or give several machines a bucket (s3://BUCKET/PREFIX)';
  throw new GauntletError('BAD_CONFIG', `store: ${folder} is on ${kind}, which stores do not support: ${way}`);
}

async function fileSystemOf(folder: string): Promise<number> {
  try {
    return (await statfs(folder)).type;
  } catch {
    return dirname(folder) === folder ? 0 : fileSystemOf(dirname(folder));
  }
}

export interface FolderClaim {
  /** Rejects if another machine took the folder over while this one slept; never resolves. */
  lost: Promise<never>;
  release(): Promise<void>;
}

/**
 * Claims a folder for this machine, and with `server` for this pid namespace.
 * @throws GauntletError BAD_CONFIG if another machine or namespace is using it
 */
export async function claimFolder(
  folder: string,
  { server = false, beatMs = BEAT_MS, watchMs = WATCH_MS } = {},
): Promise<FolderClaim> {
  const hosts = join(folder, 'hosts');
  const own = [PLACE, BOOT, process.pid, server ? 'server' : 'worker', randomBytes(4).toString('hex')].join('~');
  const path = join(hosts, own);
  let beat: NodeJS.Timeout | undefined;
  let released = false;
  const release = async (): Promise<void> => {
    released = true;
    clearInterval(beat);
    await rm(path, { force: true });
  };
  const claim = async (): Promise<void> => {
    await guard(folder, async () => {
      await mkdir(hosts, { recursive: true });
      await writeFile(path, '');
    });
    // First writes, then looks: if two processes begin at the same time, at least one sees the other.
    const stranger = await liveStranger(hosts, server, watchMs);
    if (stranger === undefined) return;
    await release();
    throw inUse(folder, stranger);
  };
  const lost = new Promise<never>((_, reject) => {
    beat = setInterval(() => {
      const now = new Date();
      utimes(path, now, now).catch((error: NodeJS.ErrnoException) => {
        // Another machine took this process for dead, unless the whole store was removed.
        if (error.code === 'ENOENT' && !released && existsSync(hosts)) claim().catch(reject);
      });
    }, beatMs);
    beat.unref();
  });
  lost.catch(() => undefined); // avoids an unhandled rejection
  await claim();
  return { lost, release };
}

interface Stranger {
  host: string;
  pid: string;
  boot: string;
}

/** Returns a process elsewhere that keeps touching its file. Removes the files of processes that do not. */
async function liveStranger(hosts: string, server: boolean, watchMs: number): Promise<Stranger | undefined> {
  const watched = new Map<string, { stranger: Stranger; touched: number | undefined }>();
  const touchedAt = (name: string) =>
    stat(join(hosts, name)).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
  for (const name of await readdir(hosts)) {
    const [place = '', boot = '', pid = '', kind] = name.split('~');
    if (kind === undefined) continue;
    if (isHere(place) && !isAlive(Number(pid))) await rm(join(hosts, name), { force: true });
    if (isHere(place) || (boot === BOOT && !(server && kind === 'server'))) continue;
    const stranger = { host: place.replace(/-[^-]*$/, ''), pid, boot };
    watched.set(name, { stranger, touched: await touchedAt(name) });
  }
  const deadline = performance.now() + watchMs;
  while (watched.size > 0 && performance.now() < deadline) {
    await sleep(watchMs / 20);
    for (const [name, { stranger, touched }] of watched) {
      const now = await touchedAt(name);
      if (now === undefined)
        watched.delete(name); // its process has ended
      else if (now !== touched) return stranger;
    }
  }
  for (const name of watched.keys()) await rm(join(hosts, name), { force: true });
  return undefined;
}

function inUse(folder: string, { host, pid, boot }: Stranger): GauntletError {
  const who = `${boot === BOOT ? 'another container' : 'another machine'} (${host}, process ${pid})`;
  const way =
    boot === BOOT
      ? 'set TEMPORAL_ADDRESS to its server, or stop it there'
      : `stop gauntlet there, or give all machines a bucket (npx gauntlet store copy ${folder} s3://BUCKET/PREFIX)`;
  return new GauntletError('BAD_CONFIG', `store: ${folder} is in use by ${who}: ${way}`);
}

async function guard(folder: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new GauntletError('STORE_FAULT', `writing ${folder}: ${(error as Error).message}`, { cause: error });
  }
}
