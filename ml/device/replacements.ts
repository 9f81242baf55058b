// Operations that a provider of ONNX Runtime computes wrongly, or not at all, in terms of operations that it has. A GPU
// provider leaves what it does not have to the CPU, which copies all inputs and outputs.
import type { Replacements } from '../ir/replace.js';
import type { Provider } from './providers.js';

const WEBGPU: Replacements = {
  // the second output (1/rms) is not written; gradients read it
  SimplifiedLayerNormalization(g, { inputs, attrs: { epsilon } }) {
    const [x, scale] = [inputs[0]!, inputs[1]!];
    const meanSquare = g.reduceMean(g.mul(x, x), [-1], true);
    return [g.rmsNorm(x, scale, epsilon), g.reciprocal(g.sqrt(g.add(meanSquare, g.scalar(epsilon))))];
  },
  // the provider has no kernel for it
  FusedMatMul(g, { inputs, attrs: { transA, transB, alpha } }) {
    const sides = inputs.map((x, i) => {
      const axes = x.shape.map((_, axis) => axis);
      return (i === 0 ? transA : transB) ? g.transpose(x, [...axes.slice(0, -2), axes.at(-1)!, axes.at(-2)!]) : x;
    });
    return [g.scale(g.matMul(sides[0]!, sides[1]!), alpha)];
  },
  // the provider has no kernel for it
  LogSoftmax(g, { inputs }) {
    const shifted = g.sub(inputs[0]!, g.reduceMax(inputs[0]!, [-1], true));
    return [g.sub(shifted, g.log(g.reduceSum(g.exp(shifted), [-1], true)))];
  },
};

const CUDA: Replacements = {
  // fails for groups of eight-bit numbers
  DequantizeLinear(g, { inputs, attrs }) {
    const [q, scale, zero] = [inputs[0]!, inputs[1]!, inputs[2]!];
    if (q.dtype !== 'uint8') return [g.dequantize(q, scale, zero, attrs.blockSize)];
    const perGroup = [...scale.shape, 1];
    const codes = g.reshape(g.cast(q, 'float32'), [...scale.shape, attrs.blockSize]);
    const shifted = g.sub(codes, g.reshape(g.cast(zero, 'float32'), perGroup));
    return [g.reshape(g.mul(shifted, g.reshape(scale, perGroup)), q.shape)];
  },
};

const BY_PROVIDER: Partial<Record<Provider, Replacements>> = { webgpu: WEBGPU, cuda: CUDA };

export const replacementsFor = (provider: Provider): Replacements => BY_PROVIDER[provider] ?? {};
