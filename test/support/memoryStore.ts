// An in-memory store for tests that do not depend on the file system.
import { ObjectStore } from '../../store/objectStore.js';
import type { Objects, Use } from '../../store/objects.js';

interface MemoryObject {
  bytes: Buffer;
  usedAt: number;
}

/** Copies into a Buffer with its own memory, like a Buffer read from a file; small Buffers share a pool. */
const ownCopy = (bytes: Uint8Array): Buffer => Buffer.from(new Uint8Array(bytes).buffer);

export class MemoryObjects implements Objects {
  private readonly contents = new Map<string, MemoryObject>();

  locate(key: string): string {
    return `memory:${key}`;
  }

  async read(key: string, length?: number): Promise<Uint8Array | undefined> {
    const object = this.contents.get(key);
    return object && ownCopy(object.bytes.subarray(0, length));
  }

  async write(key: string, bytes: Uint8Array | string, mode: 'replace' | 'create'): Promise<boolean> {
    if (mode === 'create' && this.contents.has(key)) return false;
    this.contents.set(key, { bytes: ownCopy(Buffer.from(bytes as Uint8Array)), usedAt: Date.now() });
    return true;
  }

  async use(key: string): Promise<Use | undefined> {
    const object = this.contents.get(key);
    return object && { bytes: object.bytes.length, usedAt: object.usedAt };
  }

  async touch(key: string): Promise<Use | undefined> {
    const object = this.contents.get(key);
    if (object) object.usedAt = Date.now();
    return this.use(key);
  }

  async move(from: string, to: string): Promise<Use | undefined> {
    const object = this.contents.get(from);
    if (object === undefined) return undefined;
    this.contents.set(to, object);
    this.contents.delete(from);
    return this.use(to);
  }

  async restore(from: string, to: string): Promise<boolean> {
    const object = this.contents.get(from);
    if (object && !this.contents.has(to)) this.contents.set(to, object);
    return object !== undefined;
  }

  async remove(key: string): Promise<void> {
    this.contents.delete(key);
  }

  async names(folder: string): Promise<string[]> {
    const prefix = `${folder}/`;
    return [...this.contents.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  }

  async list(folder: string): Promise<(Use & { name: string })[]> {
    const names = await this.names(folder);
    return Promise.all(names.map(async (name) => ({ name, ...(await this.use(`${folder}/${name}`))! })));
  }

  async folders(folder: string): Promise<string[]> {
    const names = (await this.names(folder)).filter((name) => name.includes('/'));
    return [...new Set(names.map((name) => name.split('/')[0]!))];
  }
}

export const openMemoryStore = (): ObjectStore => new ObjectStore(new MemoryObjects());
