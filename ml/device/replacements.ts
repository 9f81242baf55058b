// Operations that a provider of ONNX Runtime computes wrongly, or not at all, in terms of operations that it has. A GPU
// provider leaves what it does not have to the CPU, which copies all inputs and outputs.
import type { Replacements } from '../ir/replace.js';
import type { Provider } from './providers.js';

const CUDA: Replacements = {
  // fails for groups of eight-bit numbers
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
