// Rounds f32 weights to the types that we write, like ggml and the gguf package.
import { GauntletError } from '../../core/errors.js';

export type EncodedType = 'F32' | 'F16' | 'BF16' | 'Q8_0';

const MAX_HALF = 65504;
const CODES = 32; // in a block of Q8_0

/** @param count of Q8_0 is a multiple of 32. @throws {GauntletError} BAD_INPUT naming `where`, if a number is too large for the type */
export function encode(type: EncodedType, numbers: Float32Array, where: string): Uint8Array {
  if (type === 'F32') return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  if (type === 'BF16') return toBf16(numbers);
  const worst = numbers.find((x) => !(Math.abs(x) <= MAX_HALF));
  if (worst !== undefined)
    throw new GauntletError('BAD_INPUT', `${where}: a weight of ${worst} does not fit ${type}; choose --type F32`);
  return type === 'F16' ? new Uint8Array(toHalf(numbers).buffer) : toQ8(numbers);
}

const bitsOf = (numbers: Float32Array): Uint32Array =>
  new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);

/** Rounds to nearest, ties to even. */
function toBf16(numbers: Float32Array): Uint8Array {
  return new Uint8Array(Uint16Array.from(bitsOf(numbers), (x) => (x + 0x7fff + ((x >>> 16) & 1)) >>> 16).buffer);
}

/** Rounds to nearest, ties to even. */
function toHalf(numbers: Float32Array): Uint16Array {
  const bits = bitsOf(numbers);
  const sum = new Float32Array(1);
  const sumBits = new Uint32Array(sum.buffer);
  return Uint16Array.from(bits, (x, i) => {
    const sign = (x >>> 16) & 0x8000;
    const size = x & 0x7fffffff;
    if (size >= 0x38800000) return sign | ((size + 0xfff + ((size >>> 13) & 1) - 0x38000000) >>> 13);
    sum[0] = Math.abs(numbers[i]!) + 0.5; // f32 numbers from 0.5 to 1 are 2⁻²⁴ apart, like the halves below 2⁻¹⁴
    return sign | (sumBits[0]! - 0x3f000000);
  });
}

/** Blocks of a scale in f16 and 32 codes. */
function toQ8(numbers: Float32Array): Uint8Array {
  const blocks = numbers.length / CODES;
  const scales = new Float32Array(blocks);
  const out = new Uint8Array(blocks * (2 + CODES));
  for (let block = 0; block < blocks; block++) {
    let largest = 0;
    for (let i = 0; i < CODES; i++) largest = Math.max(largest, Math.abs(numbers[block * CODES + i]!));
    const scale = Math.fround(largest / 127);
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    scales[block] = scale;
    for (let i = 0; i < CODES; i++) {
      const x = Math.fround(numbers[block * CODES + i]! * inverse);
      out[block * (2 + CODES) + 2 + i] = Math.sign(x) * Math.floor(Math.abs(x) + 0.5); // as a signed byte
    }
  }
  const halves = new Uint8Array(toHalf(scales).buffer);
  for (let block = 0; block < blocks; block++) out.set(halves.subarray(2 * block, 2 * block + 2), block * (2 + CODES));
  return out;
}
