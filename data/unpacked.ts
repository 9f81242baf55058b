// The bytes of a problem file: as they are, or unpacked from gzip or zstd. A packed file that unpacks to far more than problems
// do is refused, because a bomb of a few kilobytes could fill the disk or the memory.
import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline, Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ZSTDDecoder } from 'zstddec/stream';
import { GauntletError } from '../core/errors.js';

export type Container = 'plain' | 'gzip' | 'zstd' | 'parquet';

const MAGIC: readonly [Container, RegExp][] = [
  ['gzip', /^1f8b/],
  ['zstd', /^(28b52ffd|5.2a4d18)/], // or a frame to skip
  ['parquet', /^50415231/],
];

/** A packed file may hold this many times its own size. Problems compress to a tenth; bombs to a thousandth. */
const MAX_RATIO = 200;
const ALWAYS_ALLOWED = 1 << 24; // bytes

/** What a file begins with; its name does not count. */
export async function containerOf(file: string): Promise<Container> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    const head = buffer.toString('hex', 0, bytesRead);
    return MAGIC.find(([, magic]) => magic.test(head))?.[0] ?? 'plain';
  } finally {
    await handle.close();
  }
}

/** How many bytes a file of this size may hold unpacked. */
export const mostBytes = (size: number): number => Math.max(ALWAYS_ALLOWED, MAX_RATIO * size);

/** @param fault makes the error of a file that is a bomb or damaged, from what is wrong with it */
export async function unpacked(
  file: string,
  container: Exclude<Container, 'parquet'>,
  fault: (message: string) => Error,
): Promise<Readable> {
  if (container === 'plain') return createReadStream(file);
  const { size } = await stat(file);
  const most = mostBytes(size);
  const tool = container === 'gzip' ? 'gunzip' : 'unzstd';
  let read = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      read += chunk.length;
      const message = `unpacks to more than ${most} bytes, far more than problems compress to`;
      done(read > most ? fault(`${message}; unpack it with ${tool} if that is right`) : null, chunk);
    },
  });
  if (container === 'zstd') {
    await zstd.init();
    return pipeline(Readable.from(unzstd(file, fault)), limit, () => undefined); // its error also reaches the reader
  }
  const gunzip = createGunzip();
  gunzip.once('end', () => {
    if (gunzip.bytesWritten < size) limit.destroy(fault('has bytes after its gzip data; unpack it with gunzip'));
  });
  return pipeline(createReadStream(file), gunzip, limit, () => undefined);
}

const zstd = new ZSTDDecoder(); // the zlib of Node 20 knows no zstd
const CHUNK = 1 << 16;

/** The decoder does not report wrong bytes: it gives empty pieces without an end. Of right bytes it reads one or more each time. */
function* unzstd(file: string, fault: (message: string) => Error): Generator<Uint8Array> {
  const handle = openSync(file, 'r');
  const chunk = Buffer.alloc(CHUNK);
  let empty = 0; // pieces of a chunk
  const chunks = function* (): Generator<Uint8Array> {
    for (let count = 1; count > 0; empty = 0) {
      count = readSync(handle, chunk, 0, CHUNK, null);
      yield chunk.subarray(0, count);
    }
  };
  try {
    for (const piece of zstd.decodeStreaming(chunks())) {
      if (piece.length > 0) yield piece;
      else if (++empty > CHUNK)
        throw fault('is damaged: its data or its checksum is wrong, or its window has more than 128 MB');
    }
  } catch (error) {
    throw error instanceof GauntletError ? error : fault('is damaged: it ends too early');
  } finally {
    closeSync(handle);
  }
}
