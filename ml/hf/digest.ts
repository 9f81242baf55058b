// The identity of a model: sha256 over all its files that change results. Files are read as a stream. The digest of a large
// model is cached under the file system's metadata.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync, realpathSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { weightFiles } from './checkpoint.js';
import { cacheFolder, writeAtomically } from './files.js';

/** Files that a model may lack. They decide what a prompt looks like and where an answer ends. */
const OPTIONAL = ['generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'];
const CACHED_FROM = 1 << 28; // bytes; less is hashed in a fraction of a second

export interface DigestOptions {
  cache?: string; // folder of cached digests; ignored if it cannot be written
  cachedFrom?: number; // in bytes; the digest is cached if all files together are at least as large
}

export async function digestModel(
  folder: string,
  { cache = join(cacheFolder(), 'digests'), cachedFrom = CACHED_FROM }: DigestOptions = {},
): Promise<string> {
  const present = OPTIONAL.filter((name) => existsSync(join(folder, name)));
  const paths = ['config.json', ...weightFiles(folder), ...present].map((name) => join(folder, name));
  const files = paths.map((path) => ({ path, ...identity(path) }));
  const large = files.reduce((sum, { size }) => sum + size, 0) >= cachedFrom;
  const entry = join(cache, createHash('sha256').update(JSON.stringify(files)).digest('hex'));
  const known = large ? readCached(entry) : undefined;
  if (known) return known;
  const hash = createHash('sha256');
  for (const path of paths)
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Uint8Array);
  const digest = hash.digest('hex');
  if (large) writeCached(entry, digest);
  return digest;
}

/** Metadata that changes whenever the content changes. */
function identity(path: string): { real: string; size: number; modified: string; inode: string } {
  const stat = statSync(path, { bigint: true });
  if (!stat.isFile()) throw new GauntletError('BAD_MODEL', `${path}: not a file`); // a pipe or device may never end
  const { size, mtimeNs, ino } = stat;
  return { real: realpathSync(path), size: Number(size), modified: String(mtimeNs), inode: String(ino) };
}

function readCached(path: string): string | undefined {
  try {
    return /^[0-9a-f]{64}$/.exec(readFileSync(path, 'utf8'))?.[0];
  } catch {
    return undefined;
  }
}

function writeCached(path: string, digest: string): void {
  try {
    writeAtomically(path, (fd) => writeSync(fd, digest));
  } catch {
    // the digest is computed again next time
  }
}
