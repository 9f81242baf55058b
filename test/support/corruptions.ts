// Seeded corruptions of a store: one bit of a file flips, or the file is truncated, extended or deleted. Each test
// checks whether the reader of the file rejects it by name, and whether `store verify` names it.
import { basename } from 'node:path';
import { RandomStream } from '../../core/base/random.js';
import { loadCheckpoint, readPointer } from '../../store/checkpoints.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { readRecord } from '../../store/records.js';
import { readInput, readMetrics, readResult, readRun } from '../../store/runs.js';
import { verifyStore } from '../../store/verify.js';

export const HOWS = ['flip', 'truncate', 'extend', 'delete'] as const;
export type How = (typeof HOWS)[number];

export interface FileClass {
  name: string;
  pattern: RegExp; // replaces the path in the store in messages
  /** Reads the file as the program does. Absent if no reader reads a file of this kind alone. */
  load?(store: ObjectStore, path: string[]): Promise<unknown>;
  /** True if only the verifier notices a deletion, because a reader takes the file for one that was never written. */
  silentDeletion?: boolean;
}

const run = (parts: string[]): string => parts[1]!;

export const FILE_CLASSES: readonly FileClass[] = [
  {
    name: 'blob',
    pattern: /^blobs\/sha256\//,
    load: (store, parts) => store.getBlob(`sha256:${parts[2]}${parts[3]}`),
  },
  {
    name: 'memo row',
    pattern: /^memo\/[0-9a-f]{64}$/,
    load: (store, parts) => store.getMemo(parts[1]!),
    silentDeletion: true,
  },
  {
    name: 'memo record',
    pattern: /^memo\/.*\.inputs$/,
    load: (store, parts) => store.getMemo(parts[1]!),
    silentDeletion: true,
  },
  { name: 'manifest', pattern: /^runs\/[^/]+\/manifest\.json$/, load: (store, parts) => readRun(store, run(parts)) },
  { name: 'input', pattern: /^runs\/[^/]+\/input\.json$/, load: (store, parts) => readInput(store, run(parts)) },
  { name: 'metrics', pattern: /^runs\/[^/]+\/metrics\//, load: (store, parts) => readMetrics(store, run(parts)) },
  { name: 'result', pattern: /^runs\/[^/]+\/result\.json$/, load: (store, parts) => readResult(store, run(parts)) },
  { name: 'chain', pattern: /^runs\/[^/]+\/chain\.json$/, load: (store, parts) => readResult(store, run(parts)) },
  {
    name: 'report',
    pattern: /^runs\/[^/]+\/report\.html$/,
    load: (store, parts) => readRecord(store, run(parts), 'report.html'),
  },
  {
    name: 'digest list',
    pattern: /^runs\/[^/]+\/digests\//,
    load: (store, parts) => readRecord(store, run(parts), parts.slice(3).join('/')),
    silentDeletion: true,
  },
  {
    name: 'checkpoint metadata',
    pattern: /^runs\/[^/]+\/checkpoints\/[^/]+\/metadata\.json$/,
    load: (store, parts) => loadCheckpoint(store, run(parts), parts[3]!),
  },
  {
    name: 'checkpoint pointer',
    pattern: /^runs\/[^/]+\/checkpoints\/checkpoint_(best|latest)$/,
    load: async (store, parts) => {
      await readPointer(store, run(parts), parts[3]!);
      await loadCheckpoint(store, run(parts), parts[3]!.slice('checkpoint_'.length));
    },
  },
  {
    name: 'checkpoint file',
    pattern: /^runs\/[^/]+\/checkpoints\/[^/]+\/.*(?<!metadata\.json)$/,
    load: (store, parts) => loadCheckpoint(store, run(parts), parts[3]!),
  },
];

export interface Trial {
  path: string;
  kind: string;
  how: How;
  refused: boolean; // the reader of the file rejects it by name
  verified: boolean; // the verifier names the file
}

export interface Trials {
  trials: number;
  files: number;
  undetected: Trial[];
  byKind: Record<string, { files: number; trials: number; refused: number; verified: number }>;
}

/** Undoes each corruption before it applies the next one. */
export async function corruptAtRandom(store: ObjectStore, count: number, seed: number): Promise<Trials> {
  const random = new RandomStream('corruptions', seed);
  const before = await verifyStore(store);
  if (!before.ok) throw new Error(`damaged to begin with: ${JSON.stringify(before.findings.slice(0, 3))}`);
  const groups = FILE_CLASSES.map((fileClass) => ({ fileClass, paths: [] as string[] }));
  for (const folder of ['blobs', 'memo', 'runs']) {
    for (const name of (await store.objects.names(folder)).sort()) {
      const path = `${folder}/${name}`;
      groups.find(({ fileClass }) => fileClass.pattern.test(path))?.paths.push(path); // other files do not belong to the store
    }
  }
  const filled = groups.filter((group) => group.paths.length > 0);
  const result: Trials = { trials: 0, files: 0, undetected: [], byKind: {} };
  for (const { fileClass, paths: of } of filled) {
    result.files += of.length;
    result.byKind[fileClass.name] = { files: of.length, trials: 0, refused: 0, verified: 0 };
  }
  for (; result.trials < count; result.trials++) {
    const { fileClass, paths: of } = random.choice(filled);
    const trial = await tryOne(store, fileClass, random.choice(of), random.choice(HOWS), random);
    const kind = result.byKind[fileClass.name]!;
    kind.trials++;
    if (trial.refused) kind.refused++;
    if (trial.verified) kind.verified++;
    const mayPass = fileClass.silentDeletion && trial.how === 'delete';
    if (!trial.verified || !(trial.refused || mayPass)) result.undetected.push(trial);
  }
  const after = await verifyStore(store);
  if (!after.ok) throw new Error(`not undone: ${JSON.stringify(after.findings.slice(0, 3))}`);
  return result;
}

async function tryOne(
  store: ObjectStore,
  { name: kind, load }: FileClass,
  path: string,
  how: How,
  random: RandomStream,
): Promise<Trial> {
  const { objects } = store;
  const good = Buffer.from((await objects.read(path))!);
  const parts = path.split('/');
  const damaged = damage(good, how, random);
  if (damaged === undefined) await objects.remove(path);
  else await objects.write(path, damaged, 'replace');
  const names = namesOf(path);
  const { findings } = await verifyStore(store);
  const verified = findings.some(({ name, problem }) => names.every((part) => `${name}: ${problem}`.includes(part)));
  const refusal = await load?.(store, parts).then(
    () => undefined,
    (error: Error) => error.message,
  );
  const refused = refusal?.includes(names.at(-1)!) === true;
  await objects.write(path, good, 'replace'); // the reader may have moved it aside
  for (const name of await objects.names('quarantine')) await objects.remove(`quarantine/${name}`);
  return { path, kind, how, refused, verified };
}

function damage(good: Buffer, how: How, random: RandomStream): Buffer | undefined {
  const bytes = Buffer.from(good);
  switch (how) {
    case 'flip': {
      const at = random.int(0, bytes.length - 1);
      bytes[at] = bytes[at]! ^ (1 << random.int(0, 7));
      return bytes;
    }
    case 'truncate':
      return bytes.subarray(0, random.int(0, bytes.length - 1));
    case 'extend':
      return Buffer.concat([bytes, Buffer.from(random.choice([' ', '\n', '\0', '}', 'a0']))]);
    case 'delete':
      return undefined;
  }
}

/** The text that a line must contain to name this file. */
function namesOf(path: string): string[] {
  const parts = path.split('/');
  if (parts[0] === 'blobs') return [`${parts[2]}${parts[3]}`];
  if (parts[0] === 'memo') return [parts[1]!];
  if (parts[2] === 'checkpoints') {
    const inside = parts.slice(4).join('/');
    return inside === '' ? [parts[3]!] : [parts[3]!, inside];
  }
  return [parts.slice(2).join('/') || basename(path)];
}
