// A model's identity: sha256 over config.json and the weight files. Files of gigabytes are read as a stream, and the
// digest is remembered under what the file system says of them.
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, readFileSync, realpathSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from './atomicFile.js';
import { cacheFolder } from './cacheFolder.js';
import { weightFiles } from './checkpoint.js';

const REMEMBERED_FROM = 1 << 28; // bytes; less is hashed in a fraction of a second

export interface DigestOptions {
  cache?: string; // folder of remembered digests; one that cannot be written is passed over
  rememberFrom?: number; // bytes of all files together
}

export async function digestModel(
  folder: string,
  { cache = join(cacheFolder(), 'digests'), rememberFrom = REMEMBERED_FROM }: DigestOptions = {},
): Promise<string> {
  const files = ['config.json', ...weightFiles(folder)].map((name) => join(folder, name));
  const places = files.map((path) => ({ path, ...identity(path) }));
  const large = places.reduce((sum, { size }) => sum + size, 0) >= rememberFrom;
  const key = createHash('sha256').update(JSON.stringify(places)).digest('hex');
  const remembered = large ? recall(join(cache, key)) : undefined;
  if (remembered) return remembered;
  const hash = createHash('sha256');
  for (const path of files) await update(hash, path);
  const digest = hash.digest('hex');
  if (large) remember(join(cache, key), digest);
  return digest;
}

/** What changes whenever the content does. */
function identity(path: string): { real: string; size: number; modified: string; inode: string } {
  const { size, mtimeNs, ino } = statSync(path, { bigint: true });
  return { real: realpathSync(path), size: Number(size), modified: String(mtimeNs), inode: String(ino) };
}

async function update(hash: Hash, path: string): Promise<void> {
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Uint8Array);
}

function recall(path: string): string | undefined {
  try {
    return /^[0-9a-f]{64}$/.exec(readFileSync(path, 'utf8'))?.[0];
  } catch {
    return undefined;
  }
}

function remember(path: string, digest: string): void {
  try {
    writeAtomically(path, (fd) => writeSync(fd, digest));
  } catch {
    // it is computed again next time
  }
}
