// AdamW with decoupled weight decay (Loshchilov & Hutter 2019, alg. 2), as torch.optim.AdamW computes it: moments in
// f32, bias correction in f64. Pure: nothing that is passed in changes.

export interface AdamWConfig {
  learningRate: number;
  betas: readonly [number, number];
  eps: number;
  weightDecay: number;
  maxGradNorm: number; // of the whole vector; Infinity: no clipping
}

/** Moments aligned with the parameters. `step` counts applied updates. */
export interface Moments {
  step: number;
  m: Float32Array;
  v: Float32Array;
}

export const newMoments = (size: number): Moments => ({
  step: 0,
  m: new Float32Array(size),
  v: new Float32Array(size),
});

/** Euclidean norm, summed in index order in f64. */
export function globalNorm(gradients: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < gradients.length; i++) sum += gradients[i]! * gradients[i]!;
  return Math.sqrt(sum);
}

/** torch.nn.utils.clip_grad_norm_: the factor that brings the norm down to `max`, at most 1. */
export const clipFactor = (norm: number, max: number): number =>
  max === Number.POSITIVE_INFINITY ? 1 : Math.min(1, max / (norm + 1e-6));

export interface AdamWResult {
  parameters: Float32Array;
  state: Moments;
  gradNorm: number; // before clipping
}

/**
 * One step. `decays` says which elements decay (norms and biases usually do not); absent: all of them.
 * @throws RangeError where the vectors differ in length or the gradient is not finite
 */
export function adamwStep(
  parameters: Float32Array,
  state: Moments,
  gradients: Float32Array,
  config: AdamWConfig,
  decays?: (index: number) => boolean,
): AdamWResult {
  const n = parameters.length;
  if (gradients.length !== n || state.m.length !== n || state.v.length !== n) {
    throw new RangeError(`AdamW: ${n} parameters, ${gradients.length} gradients, ${state.m.length} moments`);
  }
  const gradNorm = globalNorm(gradients);
  if (!Number.isFinite(gradNorm)) throw new RangeError('AdamW: the gradient is not finite');
  const factor = clipFactor(gradNorm, config.maxGradNorm);
  const [beta1, beta2] = config.betas;
  const step = state.step + 1;
  const stepSize = config.learningRate / (1 - beta1 ** step);
  const correction2 = Math.sqrt(1 - beta2 ** step);
  const decay = 1 - config.learningRate * config.weightDecay;
  const out = {
    parameters: new Float32Array(n),
    state: { step, m: new Float32Array(n), v: new Float32Array(n) },
    gradNorm,
  };
  const { m, v } = out.state;
  for (let i = 0; i < n; i++) {
    const g = gradients[i]! * factor;
    m[i] = beta1 * state.m[i]! + (1 - beta1) * g;
    v[i] = beta2 * state.v[i]! + (1 - beta2) * g * g;
    const kept = parameters[i]! * (decays && !decays(i) ? 1 : decay);
    out.parameters[i] = kept - (stepSize * m[i]!) / (Math.sqrt(v[i]!) / correction2 + config.eps);
  }
  return out;
}
