// The quantised weights of a model, made once and kept in the cache folder under what they are made of.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type ErrorCode, GauntletError } from '../../core/errors.js';
import { locationOf, planOf } from '../device/weightLocations.js';
import { cacheFolder } from '../hf/cacheFolder.js';
import type { ModelFiles } from '../hf/model.js';
import { isPacked, packedFormat, packedLayout } from '../hf/packed.js';
import type { ParameterPlan } from '../nn/parameters.js';
import { inThread } from '../pool/inThread.js';
import type { Quantization } from './engine.js';
import type { QuantiseAnswer, QuantiseTask } from './quantizeWorker.js';

/** The plan of a quantised model, whose file is made first where it is missing, and the digest of its computation. */
export async function openQuantised(
  model: ModelFiles,
  digest: string,
  quantization: Quantization,
): Promise<{ plan: ParameterPlan; digest: string }> {
  const { bits, groupSize } = quantization;
  const format = packedFormat(quantization);
  const layout = packedLayout(model.config, quantization);
  const path = join(cacheFolder(), 'quantised', `${digest}-${format}.safetensors`);
  if (!isPacked(path, layout)) await quantise({ stored: model.stored, layout, groupSize, target: path });
  const location = locationOf(path);
  const at = (offset: number): { location: string; offset: number } => ({ location, offset });
  const plan = new Map(planOf(model.stored));
  for (const { name, bits: own, values, scales } of layout.matrices)
    plan.set(name, {
      bits: own,
      groupSize,
      values: at(values),
      scales: at(scales),
      zeros: at(layout.zeros[own].offset),
    });
  return { plan, digest: createHash('sha256').update(`${digest} ${format} ${bits}`).digest('hex') };
}

async function quantise(task: QuantiseTask): Promise<void> {
  const script = new URL('./quantizeWorker.js', import.meta.url);
  const { error } = await inThread<QuantiseAnswer>(script, task).catch((cause: Error) => {
    throw new GauntletError('ENGINE_FAULT', `quantising: ${cause.message}`, { cause });
  });
  if (error) throw new GauntletError(error.code as ErrorCode, error.message);
}
