// An update whose gradients several workers compute. They exchange gradients and states through files of the run, which
// are removed as soon as they are used: they are large, and no digest names them. A file that is missing or damaged is
// computed again, so losing one costs time only.
import { createHash } from 'node:crypto';
import type { PolicyStats } from '../core/schema/trajectory.js';
import { type Shard, shardsOf } from '../core/shards.js';
import type { GradientPart, GradientSums } from '../ml/engine/engine.js';
import type { Store } from '../store/store.js';
import { decodeTensors, encodeTensors, type TensorFile } from '../store/tensors.js';
import type { TokenNumbers } from './artifacts.js';
import { keyOf } from './memoise.js';
import type { Scope } from './scope.js';
import type {
  ApplyGradientsInput,
  ComputeGradientsInput,
  MinibatchInput,
  RunRef,
  Timed,
  UpdatePolicyInput,
} from './types.js';
import { applyMinibatch, openUpdate, type Progress, UPDATE_VERSION, type Update } from './update.js';

const FOLDER = 'shards';
const HASH_BYTES = 32;

/** Computes the gradients of one shard of a minibatch. */
export async function computeGradients(scope: Scope, input: ComputeGradientsInput): Promise<Timed<object>> {
  const started = performance.now();
  const { minibatch, shard } = input;
  const files = filesOf(scope.store, updateOf(input));
  const update = await openUpdate(scope, updateOf(input));
  const progress = update && (await readState(files, update, minibatch));
  if (progress !== undefined) {
    const parts = await ownParts(scope, update!, progress, shard);
    await files.write(gradientsFile(minibatch, shard), encodeParts(parts));
  } // else another attempt has applied them
  return { seconds: (performance.now() - started) / 1000 };
}

/** Applies the gradients of all shards of a minibatch. */
export async function applyGradients(scope: Scope, input: ApplyGradientsInput): Promise<object> {
  const started = performance.now();
  const { minibatch } = input;
  const files = filesOf(scope.store, updateOf(input));
  const update = await openUpdate(scope, updateOf(input));
  const progress = update && (await readState(files, update, minibatch));
  if (progress === undefined) return {};
  const parts: GradientPart[] = [];
  for (const shard of shardsOf(input.of)) {
    const found = await files.read(gradientsFile(minibatch, shard));
    parts.push(...(found ? decodeParts(found) : await ownParts(scope, update!, progress, shard)));
  }
  const { sequences, loss } = update!.minibatch(minibatch);
  const sums = update!.opened.engine.sumGradients(sequences, { adapter: progress.adapter, loss }, parts);
  const seconds = progress.seconds + input.seconds + (performance.now() - started) / 1000;
  await files.write(stateFile(minibatch + 1), encodeState(await applyMinibatch(update!, progress, sums, seconds)));
  await files.remove((name) => name.startsWith(`${minibatch}-`) || name === stateFile(minibatch));
  return {};
}

/** The state after the last minibatch whose gradients shards computed. */
export async function latestState({ store }: Scope, update: Update): Promise<Progress | undefined> {
  if (!isSharded(update.input.run)) return undefined;
  const files = filesOf(store, update.input);
  for (let done = update.minibatches.length; done > 0; done--) {
    const state = await readState(files, update, done);
    if (state !== undefined) return state;
  }
  return undefined;
}

export const isSharded = ({ engine }: Pick<RunRef, 'engine'>): boolean => engine.shards > 1;

/** Removes what is left of finished updates. */
export async function removeShards({ store }: Scope, { run }: { run: RunRef }): Promise<object> {
  for (const path of await store.listRunFiles(run.runId, FOLDER)) await store.removeRunFile(run.runId, path);
  return {};
}

async function ownParts(scope: Scope, update: Update, progress: Progress, shard: Shard): Promise<GradientPart[]> {
  const { sequences, loss } = update.minibatch(progress.done);
  const { adapter } = progress;
  return update.opened.engine.gradientShard(sequences, { adapter, loss, signal: scope.signal, shard });
}

const updateOf = ({ run, update }: MinibatchInput): UpdatePolicyInput => ({ run, ...update });
const gradientsFile = (minibatch: number, { index, of }: Shard): string => `${minibatch}-${index}-of-${of}`;
const stateFile = (done: number): string => `state-${done}`;

interface ShardFiles {
  write(name: string, bytes: Uint8Array): Promise<void>;
  read(name: string): Promise<Uint8Array | undefined>; // undefined: missing or damaged
  remove(isUsed: (name: string) => boolean): Promise<void>;
}

/** The files of an update. Each begins with the hash of the rest. */
function filesOf(store: Store, update: UpdatePolicyInput): ShardFiles {
  const { runId } = update.run;
  const folder = `${FOLDER}/${keyOf('updatePolicy', UPDATE_VERSION, update)}`;
  const hashOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
  return {
    write: (name, bytes) => store.writeRunFile(runId, `${folder}/${name}`, Buffer.concat([hashOf(bytes), bytes])),
    async read(name) {
      const file = await store.readRunFile(runId, `${folder}/${name}`);
      const bytes = file?.subarray(HASH_BYTES);
      return bytes && hashOf(bytes).equals(file!.subarray(0, HASH_BYTES)) ? bytes : undefined;
    },
    async remove(isUsed) {
      for (const path of await store.listRunFiles(runId, folder))
        if (isUsed(path.slice(folder.length + 1))) await store.removeRunFile(runId, path);
    },
  };
}

const encodeParts = (parts: readonly GradientPart[]): Uint8Array =>
  encodeTensors(
    Object.fromEntries(parts.map(({ index, sums }) => [String(index), sums.gradients])),
    Object.fromEntries(parts.map(({ index, sums: { gradients: _, ...numbers } }) => [String(index), numbers])),
  );

function decodeParts(bytes: Uint8Array): GradientPart[] {
  const { tensors, meta } = decodeTensors(bytes);
  return Object.entries(tensors).map(([index, gradients]) => {
    const numbers = meta[index] as Omit<GradientSums, 'gradients'>;
    return { index: Number(index), sums: { ...numbers, gradients } };
  });
}

function encodeState({ adapter, optimizer: { step, m, v }, ...numbers }: Progress): Uint8Array {
  return encodeTensors({ values: adapter.values, m, v }, { ...numbers, step });
}

/** The state after `done` minibatches. Before the first one, it is that of the step. */
async function readState(files: ShardFiles, update: Update, done: number): Promise<Progress | undefined> {
  if (done === 0) return update.start();
  const file = await files.read(stateFile(done));
  if (file === undefined) return undefined;
  const { tensors, meta }: TensorFile = decodeTensors(file);
  const { step, stats, ratios, seconds } = meta as {
    step: number;
    stats: PolicyStats[];
    ratios: TokenNumbers;
    seconds: number;
  };
  return {
    done,
    stats,
    ratios,
    seconds,
    adapter: { ...(await update.adapter()), values: tensors.values! },
    optimizer: { step, m: tensors.m!, v: tensors.v! },
  };
}
