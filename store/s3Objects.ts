// The objects of a store in a bucket of S3 or of a server with the same protocol. S3 has no rename and no time of last
// use. So every use of an object writes an empty object under `used/`, and `move` copies, deletes and only then reads that
// mark: a user first writes the mark and then looks for the object, so one of the two sees the other.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { Objects, Use } from './objects.js';
import { isConflict, isMissing, isRefused, noConditionalWrites, openingError, s3Fault } from './s3Errors.js';
import type { S3Place } from './s3Place.js';

const PART = 8 * 2 ** 20; // larger objects are uploaded in parts of this size
const ATTEMPTS = 5; // how often a request is tried, with growing pauses
const USED = 'used/';
/** An object is not marked again within this time after its last use. A sweep keeps an hour (cli/commands/gc.ts). */
const RECENT_MS = 10 * 60_000;
const RECENT_MOST = 10_000; // objects
/** The object that shows that there is a store. Each opening tries to create it, to test conditional writes. */
const MARKER = 'gauntlet-store';

type Entry = Use & { name: string };

export class S3Objects implements Objects {
  private readonly client: S3Client;
  private readonly bucket: string;
  private readonly prefix: string;
  private readonly recent = new Map<string, Use>(); // the objects that this process wrote or marked lately

  static async open(place: S3Place): Promise<S3Objects> {
    const objects = new S3Objects(place);
    const create = async (): Promise<boolean> => {
      try {
        return await objects.put(MARKER, 'A store of gauntlet.\n', true);
      } catch (error) {
        throw openingError(error, place);
      }
    };
    // a second creation must be refused
    if ((await create()) && (await create())) throw noConditionalWrites(place);
    return objects;
  }

  static async exists(place: S3Place): Promise<boolean> {
    const { client, bucket, prefix } = new S3Objects(place);
    try {
      // not HeadObject: its answer does not tell a missing bucket from a missing object
      const { KeyCount = 0 } = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix + MARKER }));
      return KeyCount > 0;
    } catch (error) {
      throw openingError(error, place);
    }
  }

  private constructor({ bucket, prefix, endpoint, region }: S3Place) {
    this.bucket = bucket;
    this.prefix = prefix;
    process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'; // this version of the SDK supports Node 20
    this.client = new S3Client({
      maxAttempts: ATTEMPTS,
      responseChecksumValidation: 'WHEN_REQUIRED', // the store compares digests, which tell damage from a fault of the network
      requestHandler: { connectionTimeout: 5_000, socketTimeout: 60_000 },
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }), // other servers rarely have a domain per bucket
    });
  }

  locate(key: string): string {
    return `s3://${this.bucket}/${this.prefix}${key}`;
  }

  async read(key: string, length?: number): Promise<Uint8Array | undefined> {
    const part = length === undefined ? {} : { Range: `bytes=0-${length - 1}` };
    for (let attempt = 1; ; attempt++) {
      try {
        const { Body } = await this.client.send(new GetObjectCommand({ ...this.at(key), ...part }));
        return await Body!.transformToByteArray();
      } catch (error) {
        if (isMissing(error)) return undefined;
        // the client retries a request, but not an answer that breaks off
        if (attempt === ATTEMPTS || '$metadata' in (error as object)) throw s3Fault(error, 'reading', this.locate(key));
      }
    }
  }

  /** If the answer to a write is lost, the retry says that another writer was first. */
  write(key: string, bytes: Uint8Array | string, mode: 'replace' | 'create'): Promise<boolean> {
    return this.guard('writing', key, async () => {
      const usedAt = Date.now();
      const isWritten = await this.put(key, bytes, mode === 'create');
      if (isWritten) this.remember(key, { bytes: Buffer.byteLength(bytes), usedAt });
      return isWritten;
    });
  }

  use(key: string): Promise<Use | undefined> {
    return this.guard('looking at', key, async () => {
      const [found, mark] = await Promise.all([this.head(key), this.head(USED + key)]);
      return found && { bytes: found.bytes, usedAt: Math.max(found.usedAt, mark?.usedAt ?? 0) };
    });
  }

  touch(key: string): Promise<Use | undefined> {
    return this.guard('touching', key, async () => {
      const known = this.recent.get(key);
      const usedAt = Date.now();
      if (known !== undefined && usedAt - known.usedAt < RECENT_MS) return known;
      await this.put(USED + key, '', false);
      const found = await this.head(key);
      if (found !== undefined) return this.remember(key, { bytes: found.bytes, usedAt });
      await this.delete(USED + key);
      return undefined;
    });
  }

  move(from: string, to: string): Promise<Use | undefined> {
    this.recent.delete(from);
    return this.guard('moving', from, async () => {
      const found = await this.head(from);
      if (found === undefined) return undefined;
      const { bytes, usedAt, etag } = found;
      const source = encodeURIComponent(`${this.bucket}/${this.prefix}${from}`).replaceAll('%2F', '/');
      try {
        await this.client.send(new CopyObjectCommand({ ...this.at(to), CopySource: source, CopySourceIfMatch: etag }));
        await this.client.send(new DeleteObjectCommand({ ...this.at(from), IfMatch: etag })).catch((error: unknown) => {
          if (!isMissing(error)) throw error; // an earlier attempt, whose answer was lost, may have deleted it
        });
      } catch (error) {
        // somebody removed or replaced the object meanwhile: it stays, and a copy of what it was does no harm
        if (isMissing(error) || isRefused(error) || isConflict(error)) return undefined;
        throw error;
      }
      const mark = await this.head(USED + from);
      // a touch from here on finds no object; if that is restored or written again, its own time is new
      if (mark !== undefined) await this.delete(USED + from);
      return { bytes, usedAt: Math.max(usedAt, mark?.usedAt ?? 0) };
    });
  }

  async restore(from: string, to: string): Promise<boolean> {
    const bytes = await this.read(from);
    if (bytes !== undefined) await this.write(to, bytes, 'create');
    return bytes !== undefined;
  }

  remove(key: string): Promise<void> {
    this.recent.delete(key);
    return this.guard('removing', key, async () => {
      await Promise.all([this.delete(key), this.delete(USED + key)]);
    });
  }

  async names(folder: string): Promise<string[]> {
    return (await this.below(`${folder}/`)).map(({ name }) => name);
  }

  async list(folder: string): Promise<Entry[]> {
    const [found, marks] = await Promise.all([this.below(`${folder}/`), this.below(`${USED}${folder}/`)]);
    const usedAt = new Map(marks.map((mark) => [mark.name, mark.usedAt]));
    return found.map((entry) => ({ ...entry, usedAt: Math.max(entry.usedAt, usedAt.get(entry.name) ?? 0) }));
  }

  async folders(folder: string): Promise<string[]> {
    const start = `${this.prefix}${folder}/`;
    const found: string[] = [];
    for await (const { CommonPrefixes = [] } of this.pages(`${folder}/`, '/'))
      found.push(...CommonPrefixes.map(({ Prefix }) => Prefix!.slice(start.length, -1)));
    return found;
  }

  private remember(key: string, use: Use): Use {
    if (this.recent.size >= RECENT_MOST) this.recent.clear();
    this.recent.set(key, use);
    return use;
  }

  private async below(start: string): Promise<Entry[]> {
    const found: Entry[] = [];
    for await (const { Contents = [] } of this.pages(start)) {
      for (const { Key, Size, LastModified } of Contents) {
        const name = Key!.slice(this.prefix.length + start.length);
        found.push({ name, bytes: Size ?? 0, usedAt: LastModified?.getTime() ?? 0 });
      }
    }
    return found;
  }

  private async *pages(start: string, Delimiter?: string): AsyncGenerator<ListObjectsV2CommandOutput> {
    const input = { Bucket: this.bucket, Prefix: this.prefix + start, Delimiter };
    try {
      yield* paginateListObjectsV2({ client: this.client }, input);
    } catch (error) {
      throw s3Fault(error, 'listing', this.locate(start));
    }
  }

  /** False if the object exists already and only a new one is wanted. */
  private async put(key: string, content: Uint8Array | string, isNew: boolean): Promise<boolean> {
    const Body = typeof content === 'string' ? Buffer.from(content) : content;
    const params = { ...this.at(key), Body, ...(isNew ? { IfNoneMatch: '*' } : {}) };
    for (let attempt = 1; ; attempt++) {
      try {
        if (Body.length <= PART) await this.client.send(new PutObjectCommand(params));
        else await new Upload({ client: this.client, params, partSize: PART }).done();
        return true;
      } catch (error) {
        if (isNew && isRefused(error)) return false;
        if (attempt === ATTEMPTS || !isConflict(error)) throw error;
        await sleep(attempt * 100);
      }
    }
  }

  private async head(key: string): Promise<(Use & { etag: string | undefined }) | undefined> {
    try {
      const { ContentLength, LastModified, ETag } = await this.client.send(new HeadObjectCommand(this.at(key)));
      return { bytes: ContentLength ?? 0, usedAt: LastModified?.getTime() ?? 0, etag: ETag };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  private async delete(key: string): Promise<void> {
    await this.client.send(new DeleteObjectCommand(this.at(key)));
  }

  private at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.bucket, Key: this.prefix + key };
  }

  private async guard<T>(doing: string, key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw s3Fault(error, doing, this.locate(key));
    }
  }
}
