// Where a worker finds the weights of the base: in shared memory, from which it feeds every run (small models: an
// adapter can be merged into its copy), or in files that ONNX Runtime maps (large ones: one copy, in the page cache, for
// all graphs, threads and processes, and for every role that the base plays).

import { planOf } from '../device/weightLocations.js';
import { type ModelFiles, readWeights, type Weights } from '../hf/model.js';
import type { DecoderConfig } from '../nn/config.js';
import { parameterLayout } from '../nn/decoder.js';
import type { ParameterPlan } from '../nn/parameters.js';
import { flattenWeights, type SharedWeights } from '../pool/shared.js';
import type { Quantization } from './engine.js';
import { openQuantised } from './quantizedWeights.js';

/** Models of more parameters are mapped, recomputed in training, and worked on one row at a time. */
const LARGE = 32e6;
export const isLarge = ({ parameters }: { parameters: number }): boolean => parameters > LARGE;

/** Models of more parameters do not stay in a core's cache from step to step: cores then share one reading of them. */
const CACHED = 2e6;
export const outgrowsCache = ({ parameters }: { parameters: number }): boolean => parameters > CACHED;

export type Base = { kind: 'fed'; weights: SharedWeights } | { kind: 'mapped'; plan: ParameterPlan };

/** What a session needs of a model: weights that it feeds, or a plan of those that it maps. */
export type SessionModel = { config: DecoderConfig } & (
  | { weights: Weights; plan?: undefined }
  | { weights?: undefined; plan: ParameterPlan }
);

/** The weights of a model as its workers get them, and the digest of what they then compute with. */
export async function openBase(
  model: ModelFiles,
  digest: string,
  quantization?: Quantization,
): Promise<{ base: Base; digest: string }> {
  if (quantization) {
    const quantised = await openQuantised(model, digest, quantization);
    return { base: { kind: 'mapped', plan: quantised.plan }, digest: quantised.digest };
  }
  if (isLarge(model)) return { base: { kind: 'mapped', plan: planOf(model.stored) }, digest };
  const weights = flattenWeights(parameterLayout(model.config), readWeights(model.stored));
  return { base: { kind: 'fed', weights }, digest };
}
