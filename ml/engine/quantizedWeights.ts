// The quantized weights of a model: computed once and cached in a file whose name identifies model and format.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { locateWeights, locationOf } from '../device/weightLocations.js';
import { cacheFolder } from '../hf/files.js';
import { layoutOf, type ModelFiles } from '../hf/model.js';
import { isPacked, type PackedLayout, type Packing, packedName } from '../hf/packed.js';
import type { FileRange, WeightLocations } from '../nn/separateWeights.js';
import { inThread } from '../pool/inThread.js';
import type { QuantizeAnswer, QuantizeTask } from './quantizeWorker.js';

/** Quantizes the model unless the file exists. @returns the weights, and the digest of what is computed with them */
export async function openQuantized(
  model: ModelFiles,
  digest: string,
  packing: Packing,
): Promise<{ locations: WeightLocations; digest: string }> {
  const name = packedName(packing);
  const layout = layoutOf(model, packing);
  const path = join(cacheFolder(), 'quantized', `${digest}-${name}.safetensors`);
  const keepBlocks = 'formats' in packing;
  if (!isPacked(path, layout)) await quantize({ stored: model.stored, layout, keepBlocks, target: path });
  const locations = locateQuantized(model.stored, layout, path);
  const identity = keepBlocks ? [digest, name] : [digest, name, packing.bits];
  return { locations, digest: createHash('sha256').update(identity.join(' ')).digest('hex') };
}

/** Locates the quantized matrices in their file, and the other parameters in the checkpoint. */
export function locateQuantized(stored: ModelFiles['stored'], layout: PackedLayout, path: string): WeightLocations {
  const location = locationOf(path);
  const at = (offset: number): FileRange => ({ location, offset });
  const locations = new Map(locateWeights(stored));
  for (const { name, offset } of layout.plain) locations.set(name, { dtype: 'float32', ...at(offset) });
  for (const { name, bits, groupSize, minima, values, scales } of layout.matrices) {
    const zeros = at(layout.zeros[bits].offset);
    const places = {
      values: at(values),
      scales: at(scales),
      zeros,
      ...(minima !== undefined && { minima: at(minima) }),
    };
    locations.set(name, { bits, groupSize, ...places });
  }
  return locations;
}

async function quantize(task: QuantizeTask): Promise<void> {
  const script = new URL('./quantizeWorker.js', import.meta.url);
  const { error } = await inThread<QuantizeAnswer>(script, task).catch((cause: Error) => {
    throw new GauntletError('ENGINE_FAULT', `quantizing: ${cause.message}`, { cause });
  });
  if (error) throw new GauntletError(error.code as ErrorCode, error.message);
}
