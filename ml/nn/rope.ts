// Rotary positions (Su et al. 2021) as tables, rounded to f32 wherever transformers rounds: at position 32 768 one unit
// in the last place of a frequency would already turn a head by 0.002.
import type { DecoderConfig, RopeScaling } from './config.js';

const f32 = Math.fround;

/** cos and sin of position·frequency, [positions, hd/2]. */
export function ropeTables(
  c: Pick<DecoderConfig, 'headDim' | 'ropeTheta' | 'ropeScaling'>,
  positions: number,
): { cos: Float32Array; sin: Float32Array } {
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

/** θ^(−2i/hd) in radians per position, [hd/2]. */
function ropeFrequencies({
  headDim,
  ropeTheta,
  ropeScaling,
}: Pick<DecoderConfig, 'headDim' | 'ropeTheta' | 'ropeScaling'>): Float32Array {
  return Float32Array.from({ length: headDim / 2 }, (_, i) => {
    const frequency = f32(1 / f32(ropeTheta ** f32((2 * i) / headDim)));
    return ropeScaling ? scaled(frequency, ropeScaling) : frequency;
  });
}

/**
 * Llama 3's rule: what turns often within the original context stays, what turns less than once is slowed by `factor`,
 * and between the two the frequency is a mixture.
 */
function scaled(frequency: number, { factor, lowFreqFactor, highFreqFactor, originalContext }: RopeScaling): number {
  const wavelength = f32(f32(1 / frequency) * f32(2 * Math.PI));
  if (wavelength > f32(originalContext / lowFreqFactor)) return f32(frequency / factor);
  if (wavelength < f32(originalContext / highFreqFactor)) return frequency;
  const turns = f32(f32(1 / wavelength) * originalContext); // of this frequency within the original context
  const kept = f32(f32(turns - lowFreqFactor) / f32(highFreqFactor - lowFreqFactor));
  return f32(f32(f32(f32(1 - kept) * frequency) / factor) + f32(kept * frequency));
}
