// AdamW with decoupled weight decay (Loshchilov & Hutter 2019, alg. 2), as torch.optim.AdamW computes it: moments are in f32,
// bias correction is in f64. No argument changes.

export interface AdamWConfig {
  learningRate: number;
  betas: readonly [number, number];
  eps: number;
  weightDecay: number;
  maxGradNorm: number; // limit for the norm of the whole vector; Infinity: no clipping
}

/** The moments of every parameter. `step` counts applied updates. */
export interface OptimizerState {
  step: number;
  m: Float32Array;
  v: Float32Array;
}

export const newOptimizerState = (size: number): OptimizerState => ({
  step: 0,
  m: new Float32Array(size),
  v: new Float32Array(size),
});

/** The Euclidean norm, summed in index order in f64. */
export function globalNorm(gradients: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < gradients.length; i++) sum += gradients[i]! * gradients[i]!;
  return Math.sqrt(sum);
}

/** The factor that reduces the norm to `max`, at most 1, as in torch.nn.utils.clip_grad_norm_. */
export const clipFactor = (norm: number, max: number): number =>
  max === Number.POSITIVE_INFINITY ? 1 : Math.min(1, max / (norm + 1e-6));

interface AdamWResult {
  parameters: Float32Array;
  state: OptimizerState;
  gradNorm: number; // the norm before clipping
}

/**
 * One step. `decays` says which elements decay; norms and biases usually do not. Absent: all decay.
 * @throws RangeError if the vectors differ in length or the gradient is not finite
 */
export function adamwStep(
  parameters: Float32Array,
  state: OptimizerState,
  gradients: Float32Array,
  config: AdamWConfig,
  decays?: (index: number) => boolean,
): AdamWResult {
  const n = parameters.length;
  if (gradients.length !== n || state.m.length !== n || state.v.length !== n) {
    throw new RangeError(
      `AdamW: ${n} parameters, ${gradients.length} gradients and ${state.m.length} moments must be equally many`,
    );
  }
  const gradNorm = globalNorm(gradients);
  if (!Number.isFinite(gradNorm)) throw new RangeError('AdamW: the gradient is not finite');
  const factor = clipFactor(gradNorm, config.maxGradNorm);
  const [beta1, beta2] = config.betas;
  const step = state.step + 1;
  const stepSize = config.learningRate / (1 - beta1 ** step);
  const correction2 = Math.sqrt(1 - beta2 ** step);
  const decay = 1 - config.learningRate * config.weightDecay;
  const updated = new Float32Array(n);
  const { m, v } = newOptimizerState(n);
  for (let i = 0; i < n; i++) {
    const g = gradients[i]! * factor;
    m[i] = beta1 * state.m[i]! + (1 - beta1) * g;
    v[i] = beta2 * state.v[i]! + (1 - beta2) * g * g;
    const decayed = parameters[i]! * (decays && !decays(i) ? 1 : decay);
    updated[i] = decayed - (stepSize * m[i]!) / (Math.sqrt(v[i]!) / correction2 + config.eps);
  }
  return { parameters: updated, state: { step, m, v }, gradNorm };
}
