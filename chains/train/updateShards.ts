// An update whose gradients several workers compute. They exchange gradients and states through files of the run.
import { type Shard, shardsOf } from '../../core/run/shards.js';
import type { Timed } from '../../method/activity.js';
import type { ApplyGradientsInput, ComputeGradientsInput, MinibatchInput } from '../../method/train.js';
import type { GradientPart, GradientSums } from '../../ml/engine/engine.js';
import { decodeTensors, encodeTensors } from '../../store/tensors.js';
import type { Scope } from '../scope.js';
import { applyMinibatch, openUpdate, type Progress, type Update } from './update.js';
import { filesOf, gradientsFile, readState, saveState } from './updateFiles.js';

/** Computes the gradients of one shard of a minibatch. */
export async function computeGradients(scope: Scope, input: ComputeGradientsInput): Promise<Timed<object>> {
  const started = performance.now();
  const { minibatch, shard } = input;
  const { files, update, progress } = await openMinibatch(scope, input);
  if (progress !== undefined) {
    const parts = await ownParts(scope, update!, progress, shard);
    await files.write(gradientsFile(minibatch, shard), encodeParts(parts));
  } // otherwise another attempt has already applied the gradients
  return { seconds: (performance.now() - started) / 1000 };
}

/** Applies the gradients of all shards of a minibatch. */
export async function applyGradients(scope: Scope, input: ApplyGradientsInput): Promise<object> {
  const started = performance.now();
  const { minibatch } = input;
  const { files, update, progress } = await openMinibatch(scope, input);
  if (progress === undefined) return {};
  const parts: GradientPart[] = [];
  for (const shard of shardsOf(input.of)) {
    const found = await files.read(gradientsFile(minibatch, shard));
    parts.push(...(found ? decodeParts(found) : await ownParts(scope, update!, progress, shard)));
  }
  const { sequences, loss } = update!.minibatch(minibatch);
  const sums = update!.opened.engine.sumGradients(sequences, { adapter: progress.adapter, loss }, parts);
  const seconds = progress.seconds + input.seconds + (performance.now() - started) / 1000;
  await saveState(files, await applyMinibatch(update!, progress, sums, seconds));
  return {};
}

async function ownParts(scope: Scope, update: Update, progress: Progress, shard: Shard): Promise<GradientPart[]> {
  const { sequences, loss } = update.minibatch(progress.done);
  const { adapter } = progress;
  return update.opened.engine.gradientShard(sequences, { adapter, loss, signal: scope.signal, shard });
}

/** The files of the update, and its state before the minibatch if that is still needed. */
async function openMinibatch(scope: Scope, { run, update: given, minibatch }: MinibatchInput) {
  const input = { run, ...given };
  const files = filesOf(scope.store, input);
  const update = await openUpdate(scope, input);
  return { files, update, progress: update && (await readState(files, update, minibatch)) };
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
