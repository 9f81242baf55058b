// Tables of rotary positions (Su et al. 2021). Numbers are rounded to f32 wherever transformers rounds: an error in the last bit of
// a frequency rotates a head at position 32,768 by 0.002.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import type { DecoderConfig, RopeScaling } from './config.js';

export type RopeConfig = Pick<DecoderConfig, 'headDim' | 'ropeTheta' | 'ropeScaling'>;

const f32 = Math.fround;

/** The tables [positions, hd/2] of cos and sin of position·frequency. */
export function ropeTables(c: RopeConfig, positions: number): { cos: Float32Array; sin: Float32Array } {
  const frequencies = ropeFrequencies(c);
  const half = frequencies.length;
  const cos = new Float32Array(positions * half);
  const sin = new Float32Array(positions * half);
  for (let p = 0; p < positions; p++) {
    for (let i = 0; i < half; i++) {
      const angle = f32(p * frequencies[i]!);
      cos[p * half + i] = Math.cos(angle);
      sin[p * half + i] = Math.sin(angle);
    }
  }
  return { cos, sin };
}

export function ropeConstants(g: Graph, c: RopeConfig, positions: number): [cos: Value, sin: Value] {
  const { cos, sin } = ropeTables(c, positions);
  const shape = [positions, c.headDim / 2];
  return [g.constant('rope_cos', shape, cos), g.constant('rope_sin', shape, sin)];
}

/** The frequencies [hd/2] in radians per position: θ^(−2i/hd), perhaps scaled. */
export function ropeFrequencies({ headDim, ropeTheta, ropeScaling }: RopeConfig): Float32Array {
  return Float32Array.from({ length: headDim / 2 }, (_, i) => {
    const frequency = f32(1 / f32(ropeTheta ** f32((2 * i) / headDim)));
    return ropeScaling ? scaled(frequency, ropeScaling) : frequency;
  });
}

/** The numbers by which scaling divides the frequencies. */
export function ropeDivisors(c: RopeConfig): Float32Array {
  const scaled = ropeFrequencies(c);
  return ropeFrequencies({ ...c, ropeScaling: undefined }).map((frequency, i) => frequency / scaled[i]!);
}

/**
 * Llama 3's rule. Frequencies that rotate often within the original context stay. Those that rotate less than once are
 * divided by `factor`. Frequencies between them are interpolated.
 */
function scaled(frequency: number, { factor, lowFreqFactor, highFreqFactor, originalContext }: RopeScaling): number {
  const wavelength = f32(f32(1 / frequency) * f32(2 * Math.PI));
  if (wavelength > f32(originalContext / lowFreqFactor)) return f32(frequency / factor);
  if (wavelength < f32(originalContext / highFreqFactor)) return frequency;
  const rotations = f32(f32(1 / wavelength) * originalContext);
  const smooth = f32(f32(rotations - lowFreqFactor) / f32(highFreqFactor - lowFreqFactor));
  return f32(f32(f32(f32(1 - smooth) * frequency) / factor) + f32(smooth * frequency));
}
