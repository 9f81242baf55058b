// What the threads of this process own in native memory. A worker thread that is stopped releases nothing itself. So every thread
// notes what it owns in one shared table, and the thread that started it releases what is left.
import { getEnvironmentData, isMainThread, setEnvironmentData, threadId } from 'node:worker_threads';
import { endTurnOf } from './exclusive.js';
import { type Handle, ortApi } from './ortApi.js';

/** The kinds are released in this order: nothing may be released before what uses it. */
const KINDS = ['binding', 'runOptions', 'value', 'session', 'arena', 'memory'] as const;
type Kind = (typeof KINDS)[number];

/** Something that this thread owns, until it is released once. */
export interface Owned {
  readonly kind: Kind;
  readonly handle: Handle;
  readonly slot: number;
}

const SLOTS = 2 ** 15; // a decoder of a large model owns about a thousand
const KEY = 'gauntlet: native memory';
const FREE = 0n;

/** Two numbers per slot: the tag of owner and kind (0: the slot is free), and the handle. Worker threads inherit the table. */
const table =
  (getEnvironmentData(KEY) as BigUint64Array | undefined) ?? new BigUint64Array(new SharedArrayBuffer(SLOTS * 16));
if (isMainThread) setEnvironmentData(KEY, table);

const tagOf = (thread: number, kind: Kind): bigint => BigInt(thread * KINDS.length + KINDS.indexOf(kind) + 1);
let next = 0; // where the search for a free slot begins

export function track(kind: Kind, handle: Handle): Owned {
  for (let i = 0; i < SLOTS; i++) {
    const slot = (next + i) % SLOTS;
    if (Atomics.compareExchange(table, 2 * slot, FREE, tagOf(threadId, kind)) !== FREE) continue;
    Atomics.store(table, 2 * slot + 1, handle);
    next = slot + 1;
    return { kind, handle, slot };
  }
  release(kind, handle);
  throw new RangeError(`more than ${SLOTS} objects in native memory`);
}

export function releaseOwned({ kind, handle, slot }: Owned): void {
  Atomics.store(table, 2 * slot + 1, FREE);
  Atomics.store(table, 2 * slot, FREE);
  next = slot;
  release(kind, handle);
}

/** Releases what a thread that has ended still owned. */
export function releaseOwnedBy(thread: number): void {
  endTurnOf(thread);
  for (const kind of KINDS) {
    const tag = tagOf(thread, kind);
    for (let slot = 0; slot < SLOTS; slot++) {
      if (Atomics.load(table, 2 * slot) !== tag) continue;
      const handle = Atomics.load(table, 2 * slot + 1);
      if (handle === FREE)
        Atomics.store(table, 2 * slot, FREE); // the thread ended between its two writes
      else releaseOwned({ kind, handle, slot });
    }
  }
}

function release(kind: Kind, handle: Handle): void {
  const { call, cuda } = ortApi();
  if (kind === 'memory') cuda().free(handle);
  else if (kind === 'arena') unregister(handle);
  else call(RELEASE[kind], handle);
}

function unregister(arena: Handle): void {
  const { call, environment } = ortApi();
  try {
    call('UnregisterAllocator', environment, arena);
  } catch {
    // two threads made an arena at the same time, and the other one has ended: the runtime knows at most one
  }
}

const RELEASE = {
  binding: 'ReleaseIoBinding',
  runOptions: 'ReleaseRunOptions',
  value: 'ReleaseValue',
  session: 'ReleaseSession',
} as const;

/** Whether any thread owns an object of this kind. */
export function isOwned(kind: Kind): boolean {
  for (let slot = 0; slot < SLOTS; slot++) {
    const tag = Atomics.load(table, 2 * slot);
    if (tag !== FREE && (tag - 1n) % BigInt(KINDS.length) === BigInt(KINDS.indexOf(kind))) return true;
  }
  return false;
}

/** The number of objects that all threads own. */
export const countOwned = (): number => {
  let count = 0;
  for (let slot = 0; slot < SLOTS; slot++) if (Atomics.load(table, 2 * slot) !== FREE) count++;
  return count;
};
