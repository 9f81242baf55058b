// How a worker gets the weights of the base model. A small model is in shared memory, and each worker feeds a copy, into
// which an adapter can be merged. ONNX Runtime maps the files of a large model: all graphs, threads and processes share
// one copy in the page cache.
import { locateWeights } from '../device/weightLocations.js';
import { type ModelFiles, packingOf, readWeights, type Weights } from '../hf/model.js';
import type { Quantization } from '../hf/packed.js';
import type { DecoderConfig } from '../nn/config.js';
import { parameterLayout, viewsOf } from '../nn/layout.js';
import type { WeightLocations } from '../nn/separateWeights.js';
import { flattenWeights } from '../pool/shared.js';
import { openQuantized } from './quantizedWeights.js';

/** Models with more parameters are mapped, and trained with as many sequences at a time as their activations allow. */
const LARGE = 32e6;
export const isLarge = ({ parameters }: { parameters: number }): boolean => parameters > LARGE;

/** The weights of larger models do not stay in a core's L2 cache between steps, so cores should share one read of them. */
const L2_PARAMETERS = 2e6;
export const exceedsL2 = ({ parameters }: { parameters: number }): boolean => parameters > L2_PARAMETERS;

/** `weights` are flat as parameterLayout, in shared memory. */
export type Base = { kind: 'fed'; weights: Float32Array } | { kind: 'mapped'; locations: WeightLocations };

/** A model in a session: weights to feed, or the locations of weights to map. */
export type SessionModel = { config: DecoderConfig } & (
  | { weights: Weights; locations?: undefined }
  | { weights?: undefined; locations: WeightLocations }
);

/** The model of a session, with a private copy of weights that are fed. */
export const sessionModel = (config: DecoderConfig, base: Base): SessionModel =>
  base.kind === 'fed'
    ? { config, weights: viewsOf(parameterLayout(config), new Float32Array(base.weights)) }
    : { config, locations: base.locations };

export const isQuantized = ({ locations }: SessionModel): boolean =>
  locations !== undefined && [...locations.values()].some((location) => 'bits' in location);

/** The weights for the workers, and the digest of the resulting computation. */
export async function openBase(
  model: ModelFiles,
  digest: string,
  quantization?: Quantization,
): Promise<{ base: Base; digest: string }> {
  const packing = packingOf(model, quantization);
  if (packing) {
    const quantized = await openQuantized(model, digest, packing);
    return { base: { kind: 'mapped', locations: quantized.locations }, digest: quantized.digest };
  }
  if (isLarge(model)) return { base: { kind: 'mapped', locations: locateWeights(model.stored) }, digest };
  const weights = flattenWeights(parameterLayout(model.config), readWeights(model.stored));
  return { base: { kind: 'fed', weights }, digest };
}
