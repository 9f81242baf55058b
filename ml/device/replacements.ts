// Replaces operations that a provider of ONNX Runtime computes wrongly or lacks by operations that it has. What a GPU provider
// lacks would run on the CPU, with a copy of all inputs and outputs.
import type { Replacements } from '../ir/replace.js';
import type { Provider } from './providers.js';

const CUDA: Replacements = {
  // CUDA's kernel fails for groups of eight-bit numbers
  DequantizeLinear(g, { inputs, attrs }) {
    const [q, scale, zero] = [inputs[0]!, inputs[1]!, inputs[2]!];
    if (q.dtype !== 'uint8') return [g.dequantize(q, scale, zero, attrs.blockSize)];
    const perGroup = [...scale.shape, 1];
    const codes = g.reshape(g.cast(q, scale.dtype), [...scale.shape, attrs.blockSize]);
    const shifted = g.sub(codes, g.reshape(g.cast(zero, scale.dtype), perGroup));
    return [g.reshape(g.mul(shifted, g.reshape(scale, perGroup)), q.shape)];
  },
};

export const replacementsFor = (provider: Provider): Replacements => (provider === 'cuda' ? CUDA : {});
