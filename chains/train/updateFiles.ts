// Files of the run about unfinished updates: the state after the latest saved minibatch, and gradients that workers
// exchange. They are large and no digest names them, so they are removed as soon as they are used. Each begins with the
// hash of the rest. A file that is missing or damaged is computed again, so losing one costs time only.
import { createHash } from 'node:crypto';
import type { Shard } from '../../core/run/shards.js';
import type { RunRef } from '../../core/schema/runRef.js';
import { type UpdatePolicyInput, updatePolicy } from '../../method/train.js';
import { UPDATES } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { decodeTensors, encodeTensors, type TensorFile } from '../../store/tensors.js';
import { keyOf } from '../memoKey.js';
import type { Scope } from '../scope.js';
import type { Progress, Update } from './update.js';

const HASH_BYTES = 32;

export const gradientsFile = (minibatch: number, { index, of }: Shard): string => `${minibatch}-${index}-of-${of}`;
const stateFile = (done: number): string => `state-${done}`;
const minibatchOf = (name: string): number => Number(/\d+/.exec(name)?.[0]);

type UpdateFiles = ReturnType<typeof filesOf>;

export function filesOf(store: Store, update: UpdatePolicyInput) {
  const { runId } = update.run;
  const prefix = `${UPDATES}/${keyOf(updatePolicy, update)}.`;
  const hashOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
  return {
    write: (name: string, bytes: Uint8Array) =>
      store.writeRunFile(runId, prefix + name, Buffer.concat([hashOf(bytes), bytes])),
    /** Undefined if the file is missing or damaged. */
    async read(name: string) {
      const file = await store.readRunFile(runId, prefix + name);
      const bytes = file?.subarray(HASH_BYTES);
      return bytes && hashOf(bytes).equals(file!.subarray(0, HASH_BYTES)) ? bytes : undefined;
    },
    async names() {
      const paths = await store.listRunFiles(runId, UPDATES);
      return paths.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
    },
    remove: (name: string) => store.removeRunFile(runId, prefix + name),
  };
}

/** Replaces the files of earlier minibatches. */
export async function saveState(files: UpdateFiles, progress: Progress): Promise<void> {
  await files.write(stateFile(progress.done), encodeState(progress));
  for (const name of await files.names()) if (minibatchOf(name) < progress.done) await files.remove(name);
}

/** The state after `done` minibatches. Before the first minibatch, it is the state at the start of the step. */
export async function readState(files: UpdateFiles, update: Update, done: number): Promise<Progress | undefined> {
  if (done === 0) return update.start();
  const file = await files.read(stateFile(done));
  if (file === undefined) return undefined;
  const { tensors, meta }: TensorFile = decodeTensors(file);
  const { step, ...numbers } = meta as Pick<Progress, 'stats' | 'ratios' | 'seconds'> & { step: number };
  return {
    ...numbers,
    done,
    adapter: { ...(await update.adapter()), values: tensors.values! },
    optimizer: { step, m: tensors.m!, v: tensors.v! },
  };
}

/** The latest undamaged state. */
export async function latestState(files: UpdateFiles, update: Update): Promise<Progress> {
  const saved = (await files.names()).filter((name) => name.startsWith('state-')).map(minibatchOf);
  for (const done of saved.sort((a, b) => b - a)) {
    const state = await readState(files, update, done);
    if (state !== undefined) return state;
  }
  return update.start();
}

/** Removes what is left of finished updates. */
export async function removeUpdateFiles({ store }: Scope, { run }: { run: RunRef }): Promise<object> {
  for (const path of await store.listRunFiles(run.runId, UPDATES)) await store.removeRunFile(run.runId, path);
  return {};
}

function encodeState({ adapter, optimizer: { step, m, v }, ...numbers }: Progress): Uint8Array {
  return encodeTensors({ values: adapter.values, m, v }, { ...numbers, step });
}
