// Rounds f32 weights to the types that we write, like ggml and the gguf package.
import { GauntletError } from '../../core/base/errors.js';
import { bfloat16Bits, float16Bits } from '../ir/bits16.js';

export type EncodedType = 'F32' | 'F16' | 'BF16' | 'Q8_0';

const MAX_HALF = 65504;
const CODES = 32; // the number of codes in a block of Q8_0

/** @throws {GauntletError} BAD_INPUT naming `where`, if a number is too large for the type */
export function encode(type: EncodedType, numbers: Float32Array, where: string): Uint8Array {
  if (type === 'F32') return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  if (type === 'BF16') return new Uint8Array(bfloat16Bits(numbers).buffer);
  const worst = numbers.find((x) => !(Math.abs(x) <= MAX_HALF));
  if (worst !== undefined)
    throw new GauntletError('BAD_INPUT', `${where}: a weight of ${worst} does not fit ${type}; choose --type F32`);
  return type === 'F16' ? new Uint8Array(float16Bits(numbers).buffer) : toQ8(numbers);
}

/** Writes blocks of a scale in f16 and 32 codes. The number of weights must be a multiple of 32. */
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
      out[block * (2 + CODES) + 2 + i] = Math.sign(x) * Math.floor(Math.abs(x) + 0.5); // the array stores it as a signed byte
    }
  }
  const halves = new Uint8Array(float16Bits(scales).buffer);
  for (let block = 0; block < blocks; block++) out.set(halves.subarray(2 * block, 2 * block + 2), block * (2 + CODES));
  return out;
}
