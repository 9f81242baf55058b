// The memory that this process may use, and what its caches hold of it. The budget changes no result: it only decides what
// stays open, and how many workers train at a time.
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { GauntletError } from '../../core/base/errors.js';

export interface MemoryBudget {
  bytes: number;
  from: 'GAUNTLET_MEMORY' | 'container' | 'machine';
}

/** The Temporal server and the sandboxes run in the same container. */
const SHARE_OF_CONTAINER = 0.75;
/** Other programs need memory, too, and the system caches files in what is free. */
const SHARE_OF_MACHINE = 0.5;
/** The smallest budget has room for Node.js, the code, and the graphs of one small model. */
const LEAST = 500e6;

const UNITS: Record<string, number> = { '': 1, M: 1e6, G: 1e9, Mi: 2 ** 20, Gi: 2 ** 30 };

/**
 * The smallest of GAUNTLET_MEMORY, three quarters of the container's memory, and half of the machine's.
 * @param container the limit of the container in bytes; 0 or undefined: it has none
 * @throws {GauntletError} BAD_CONFIG
 */
export function memoryBudget(
  set = process.env.GAUNTLET_MEMORY,
  container: number | undefined = process.constrainedMemory(),
  machine = totalmem(),
): MemoryBudget {
  const limits: MemoryBudget[] = [{ bytes: Math.floor(SHARE_OF_MACHINE * machine), from: 'machine' }];
  // without a limit, the kernel reports a number larger than any machine
  if (container && container < machine)
    limits.push({ bytes: Math.floor(SHARE_OF_CONTAINER * container), from: 'container' });
  if (set) limits.push({ bytes: parseBytes(set), from: 'GAUNTLET_MEMORY' });
  return limits.reduce((smallest, next) => (next.bytes < smallest.bytes ? next : smallest));
}

/** The memory that this process must not exceed: the smaller of GAUNTLET_MEMORY and the container's. undefined: no limit. */
export function memoryLimit(
  set = process.env.GAUNTLET_MEMORY,
  container = process.constrainedMemory(),
): number | undefined {
  const limits = [...(container ? [container] : []), ...(set ? [parseBytes(set)] : [])];
  return limits.length === 0 ? undefined : Math.min(...limits);
}

function parseBytes(text: string): number {
  const [, digits, unit] = /^\s*(\d+(?:\.\d+)?)\s*(|M|G|Mi|Gi)B?\s*$/.exec(text) ?? [];
  const bytes = Math.floor(Number(digits) * (UNITS[unit ?? ''] ?? Number.NaN));
  if (Number.isSafeInteger(bytes) && bytes >= LEAST) return bytes;
  throw new GauntletError(
    'BAD_CONFIG',
    `GAUNTLET_MEMORY must be at least ${LEAST / 1e6}MB, as bytes or with MB, GB, MiB or GiB, is ${JSON.stringify(text)}`,
  );
}

export const sourceOf = ({ from }: MemoryBudget): string =>
  from === 'GAUNTLET_MEMORY' ? from : from === 'machine' ? 'half of the machine' : 'three quarters of the container';

/** The memory that a process has allocated. Mapped files do not count: the system can drop them. Undefined where /proc is missing. */
export const allocatedMemory = (proc = '/proc/self'): number | undefined => procBytes(proc, 'status', 'RssAnon');

/** The bytes that a field of a file in /proc states. Undefined where the file is missing. */
export function procBytes(proc: string, file: string, field: string): number | undefined {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readProc(proc, file))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

function readProc(proc: string, file: string): string {
  try {
    return readFileSync(`${proc}/${file}`, 'latin1');
  } catch {
    return ''; // the system has no /proc, or the process has ended
  }
}

/**
 * A cache of values with sizes. `set` removes the least recently used values until the sum of sizes is within the limit. A
 * single value may exceed it: what is in use must be held. Without sizes, the limit is a number of values.
 */
export class Lru<V> {
  private readonly entries = new Map<string, { value: V; bytes: number }>();
  private sum = 0;

  /** @param removed is called with every value that leaves */
  constructor(
    readonly limit: number,
    private readonly removed: (value: V, key: string) => void = () => undefined,
  ) {}

  get used(): number {
    return this.sum;
  }
  get size(): number {
    return this.entries.size;
  }
  get(key: string): V | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: V, bytes = 1): void {
    this.delete(key);
    this.makeRoom(bytes);
    this.entries.set(key, { value, bytes });
    this.sum += bytes;
  }

  /** Removes values until `bytes` more are within the limit, or none is left. */
  makeRoom(bytes: number): void {
    for (const key of this.entries.keys()) {
      if (this.sum + bytes <= this.limit) return;
      this.delete(key);
    }
  }

  deleteWhere(unused: (value: V, key: string) => boolean): void {
    for (const [key, { value }] of this.entries) if (unused(value, key)) this.delete(key);
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.entries.delete(key);
    this.sum -= entry.bytes;
    this.removed(entry.value, key);
  }
}
