// The bytes of a problem file: as they are, or unpacked from gzip or zstd. A packed file that unpacks to far more than problems
// do is refused, because a bomb of a few kilobytes could fill the disk or the memory.
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { type Duplex, pipeline, type Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Decompress } from 'fzstd';

export type Container = 'plain' | 'gzip' | 'zstd' | 'parquet';

const MAGIC: readonly [Container, number[]][] = [
  ['gzip', [0x1f, 0x8b]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['parquet', [0x50, 0x41, 0x52, 0x31]],
];

/** A packed file may hold this many times its own size. Problems compress to a tenth; bombs to a thousandth. */
const MAX_RATIO = 200;
const ALWAYS_ALLOWED = 1 << 28; // bytes

/** What a file begins with; its name does not count. */
export async function containerOf(file: string): Promise<Container> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    const head = buffer.subarray(0, bytesRead);
    return MAGIC.find(([, magic]) => magic.every((byte, i) => head[i] === byte))?.[0] ?? 'plain';
  } finally {
    await handle.close();
  }
}

/** @param fault makes the error of a file that is a bomb or damaged, from what is wrong with it */
export async function unpacked(
  file: string,
  container: Exclude<Container, 'parquet'>,
  fault: (message: string) => Error,
): Promise<Readable> {
  const source = createReadStream(file);
  if (container === 'plain') return source;
  const most = Math.max(ALWAYS_ALLOWED, MAX_RATIO * (await stat(file)).size);
  let read = 0;
  const count = (bytes: number): void => {
    read += bytes;
    const tool = container === 'gzip' ? 'gunzip' : 'unzstd';
    if (read > most)
      throw fault(
        `unpacks to more than ${most} bytes, far more than problems compress to; unpack it with ${tool} if that is right`,
      );
  };
  const unpack = container === 'gzip' ? gunzipCounted(count) : [unzstd(count, fault)];
  return pipeline([source, ...unpack], () => undefined) as Transform; // its error also reaches the reader
}

function gunzipCounted(count: (bytes: number) => void): Duplex[] {
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        count(chunk.length);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  return [createGunzip(), limit];
}

/** The zlib of Node 20 knows no zstd. Pieces are counted as they are unpacked: one block of a bomb may hold a gigabyte. */
function unzstd(count: (bytes: number) => void, fault: (message: string) => Error): Transform {
  const stream = new Transform({
    transform: (chunk: Buffer, _encoding, done) => push(chunk, false, done),
    flush: (done) => push(new Uint8Array(), true, done),
  });
  let counted: unknown; // what `count` threw: fzstd reports errors of its own with a code
  const decompress = new Decompress((piece) => {
    try {
      count(piece.length);
    } catch (error) {
      counted = error;
      throw error;
    }
    if (piece.length > 0) stream.push(Buffer.from(piece));
  });
  const push = (chunk: Uint8Array, last: boolean, done: (error?: Error) => void): void => {
    try {
      decompress.push(chunk, last);
      done();
    } catch (error) {
      done((counted as Error | undefined) ?? fault(`is damaged: ${(error as Error).message}`));
    }
  };
  return stream;
}
