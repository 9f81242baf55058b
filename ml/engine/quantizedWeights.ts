// The quantized weights of a model: computed once and cached in a file whose name identifies model and format.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { locateWeights, locationOf } from '../device/weightLocations.js';
import { cacheFolder } from '../hf/files.js';
import type { ModelFiles } from '../hf/model.js';
import { isPacked, type PackedLayout, packedFormat, packedLayout, type Quantization } from '../hf/packed.js';
import type { FileRange, WeightLocations } from '../nn/separateWeights.js';
import { inThread } from '../pool/inThread.js';
import type { QuantizeAnswer, QuantizeTask } from './quantizeWorker.js';

/** Quantizes the model unless the file exists. @returns the weights, and the digest of what is computed with them */
export async function openQuantized(
  model: ModelFiles,
  digest: string,
  quantization: Quantization,
): Promise<{ locations: WeightLocations; digest: string }> {
  const { bits, groupSize } = quantization;
  const format = packedFormat(quantization);
  const layout = packedLayout(model.config, quantization);
  const path = join(cacheFolder(), 'quantized', `${digest}-${format}.safetensors`);
  if (!isPacked(path, layout)) await quantize({ stored: model.stored, layout, groupSize, target: path });
  const locations = locateQuantized(model.stored, layout, groupSize, path);
  return { locations, digest: createHash('sha256').update(`${digest} ${format} ${bits}`).digest('hex') };
}

/** Locates the quantized matrices in their file, and the other parameters in the checkpoint. */
export function locateQuantized(
  stored: ModelFiles['stored'],
  layout: PackedLayout,
  groupSize: number,
  path: string,
): WeightLocations {
  const location = locationOf(path);
  const at = (offset: number): FileRange => ({ location, offset });
  const locations = new Map(locateWeights(stored));
  for (const { name, bits, values, scales } of layout.matrices) {
    const zeros = at(layout.zeros[bits].offset);
    locations.set(name, { bits, groupSize, values: at(values), scales: at(scales), zeros });
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
