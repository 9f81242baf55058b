// Rounds f32 numbers to 16 bits, to the nearest number, ties to even.

const bitsOf = (numbers: Float32Array): Uint32Array =>
  new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);

export const bfloat16Bits = (numbers: Float32Array): Uint16Array =>
  Uint16Array.from(bitsOf(numbers), (x) => (x + 0x7fff + ((x >>> 16) & 1)) >>> 16);

/** Rounds to f16. The caller checks that no number is beyond 65,504, the largest that fits. */
export function float16Bits(numbers: Float32Array): Uint16Array {
  const sum = new Float32Array(1);
  const sumBits = new Uint32Array(sum.buffer);
  return Uint16Array.from(bitsOf(numbers), (x, i) => {
    const sign = (x >>> 16) & 0x8000;
    const size = x & 0x7fffffff;
    if (size >= 0x38800000) return sign | ((size + 0xfff + ((size >>> 13) & 1) - 0x38000000) >>> 13);
    sum[0] = Math.abs(numbers[i]!) + 0.5; // f32 numbers from 0.5 to 1 are 2⁻²⁴ apart, like f16 numbers below 2⁻¹⁴
    return sign | (sumBits[0]! - 0x3f000000);
  });
}
