// Operations that ONNX Runtime computes wrongly on a device, in terms of operations that it computes correctly.
import type { Replacements } from '../ir/replace.js';
import type { Provider } from './providers.js';

export function replacementsFor(provider: Provider): Replacements {
  if (provider === 'cpu') return {};
  return {
    // the WebGPU provider leaves the second output (1/rms) unwritten; gradients read it
    SimplifiedLayerNormalization(g, { inputs, attrs: { epsilon } }) {
      const [x, scale] = [inputs[0]!, inputs[1]!];
      const meanSquare = g.reduceMean(g.mul(x, x), [-1], true);
      return [g.rmsNorm(x, scale, epsilon), g.reciprocal(g.sqrt(g.add(meanSquare, g.scalar(epsilon))))];
    },
  };
}
