// Reads the bytes of a problem file, as they are or unpacked from gzip or zstd. A packed file that unpacks to far more than problems
// do is refused, because a bomb of a few kilobytes could fill the disk or the memory.
import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline, Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ZSTDDecoder } from 'zstddec/stream';

export type Container = 'plain' | 'gzip' | 'zstd' | 'parquet';

const MAGIC: readonly [Container, RegExp][] = [
  ['gzip', /^1f8b/],
  ['zstd', /^(28b52ffd|5.2a4d18)/], // the second form is a frame to skip
  ['parquet', /^50415231/],
];

/** A packed file may hold this many times its own size. Problems compress to a tenth; bombs to a thousandth. */
const MAX_RATIO = 200;
const ALWAYS_ALLOWED = 1 << 24; // bytes

/** The container of a file, from its first bytes. The name of the file does not matter. */
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

/** @param fault makes the error for a file that is damaged or a bomb, from the text that says what is wrong */
export async function unpacked(
  file: string,
  container: Exclude<Container, 'parquet'>,
  fault: (message: string) => Error,
): Promise<Readable> {
  if (container === 'plain') return createReadStream(file);
  const most = mostBytes((await stat(file)).size);
  let read = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      read += chunk.length;
      const message = `unpacks to more than ${most} bytes, far more than problems do; unpack it if that is right`;
      done(read > most ? fault(message) : null, chunk);
    },
  });
  if (container === 'zstd') {
    await zstd.init();
    return pipeline(Readable.from(unzstd(file, fault)), limit, () => undefined); // its error also reaches the reader
  }
  return pipeline(createReadStream(file), createGunzip(), limit, () => undefined);
}

const zstd = new ZSTDDecoder(); // the zlib of Node 20 knows no zstd
const CHUNK = 1 << 16;

/** The decoder does not report wrong bytes: it gives empty pieces without an end. Of right bytes it reads one or more each time. */
function* unzstd(file: string, fault: (message: string) => Error): Generator<Uint8Array> {
  const handle = openSync(file, 'r');
  const chunk = Buffer.alloc(CHUNK);
  let empty = 0; // empty pieces since the last chunk
  const chunks = function* (): Generator<Uint8Array> {
    for (let count = 1; count > 0; empty = 0) {
      count = readSync(handle, chunk, 0, CHUNK, null);
      yield chunk.subarray(0, count);
    }
  };
  try {
    for (const piece of zstd.decodeStreaming(chunks())) {
      if (piece.length > 0) yield piece;
      else if (++empty > CHUNK) throw new Error('its data, its checksum, or a window of more than 128 MB');
    }
  } catch (error) {
    throw fault(`is damaged: ${(error as Error).message}`);
  } finally {
    closeSync(handle);
  }
}
