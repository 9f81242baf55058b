// An in-memory store for tests that do not depend on the file system. It runs FileStore and replaces only its files.
import type { Dirent } from 'node:fs';
import { AtomicFiles } from '../../store/atomicFiles.js';
import { FileStore } from '../../store/fileStore.js';

interface MemoryFile {
  bytes: Uint8Array;
  usedAt: number;
}

/** Copies into a Buffer with its own memory, like a Buffer read from a file; small Buffers share a pool. */
const ownCopy = (bytes: Uint8Array): Buffer => Buffer.from(Uint8Array.from(bytes).buffer);

class MemoryFiles extends AtomicFiles {
  private readonly contents = new Map<string, MemoryFile>();

  override async read(target: string): Promise<Uint8Array | undefined> {
    const file = this.contents.get(target);
    return file && ownCopy(file.bytes);
  }

  override async touch(target: string): Promise<boolean> {
    const file = this.contents.get(target);
    if (file) file.usedAt = Date.now();
    return file !== undefined;
  }

  override async facts(target: string): Promise<{ bytes: number; usedAt: number } | undefined> {
    const file = this.contents.get(target);
    return file && { bytes: file.bytes.length, usedAt: file.usedAt };
  }

  override async move(from: string, to: string): Promise<boolean> {
    const moved = await this.alias(from, to, true);
    this.contents.delete(from);
    return moved;
  }

  override async alias(from: string, to: string, replace = false): Promise<boolean> {
    const file = this.contents.get(from);
    if (file && (replace || !this.contents.has(to))) this.contents.set(to, file);
    return file !== undefined;
  }

  override async remove(target: string): Promise<void> {
    this.contents.delete(target);
  }

  override async write(target: string, bytes: Uint8Array | string, mode: 'replace' | 'create'): Promise<boolean> {
    if (mode === 'create' && this.contents.has(target)) return false;
    this.contents.set(target, { bytes: ownCopy(Buffer.from(bytes as Uint8Array)), usedAt: Date.now() });
    return true;
  }

  override async entries(folder: string) {
    const below = [...this.contents.keys()].filter((path) => path.startsWith(`${folder}/`));
    const names = new Set(below.map((path) => path.slice(folder.length + 1).split('/')[0]!));
    return [...names].map((name) => {
      const isFile = this.contents.has(`${folder}/${name}`);
      return { name, isFile: () => isFile, isDirectory: () => !isFile, isSymbolicLink: () => false } as Dirent;
    });
  }

  override async isInside(_base: string, folder: string): Promise<boolean> {
    return [...this.contents.keys()].some((path) => path.startsWith(`${folder}/`));
  }

  override async sweepTemporaries(): Promise<void> {}
}

/** `root` names the store in messages; no such folder exists. */
export function openMemoryStore(root = '/memory'): FileStore {
  return new FileStore(root, new MemoryFiles(`${root}/tmp`));
}
