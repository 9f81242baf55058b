// The block formats of ggml: weights of a block share scales (ggml-quants.c in github.com/ggml-org/llama.cpp defines them).
import type { PackedFormat } from '../hf/packed.js';
import { HALVES, toFloat32 } from '../hf/safetensors.js';

/** How many weights and bytes a block of a type has, and ggml's number of the type. */
export const BLOCKS = {
  F32: [1, 4, 0],
  F16: [1, 2, 1],
  Q4_0: [32, 18, 2],
  Q4_1: [32, 20, 3],
  Q5_0: [32, 22, 6],
  Q5_1: [32, 24, 7],
  Q8_0: [32, 34, 8],
  Q4_K: [256, 144, 12],
  Q5_K: [256, 176, 13],
  Q6_K: [256, 210, 14],
  BF16: [1, 2, 30],
} as const satisfies Record<string, readonly [weights: number, bytes: number, code: number]>;
export type BlockType = keyof typeof BLOCKS;

/**
 * The blocks of a tensor: weight i of group g is scales[g]·(codes[i] − zero) + minima[g]. A product of a scale and a code is exact in a
 * double, so every weight is rounded to f32 once, as by ggml.
 */
export interface Coded {
  codes: Uint8Array;
  scales: Float32Array;
  minima: Float32Array; // empty if the type has none
}

/** Writes the codes of block `b`, which starts at byte `at`, and the scales and minima of its groups. `half(i)` is the f16 at byte i. */
type Decode = (data: Uint8Array, at: number, half: (at: number) => number, to: Coded, b: number) => void;

interface BlockFormat {
  group: 16 | 32; // weights that share a scale
  bits: 4 | 8; // the fewest of the two that hold a code
  zero: number;
  minima?: true;
  decode: Decode;
}

/** Reads 32 codes of four bits from 16 bytes, the first half from the low bits. `high`, if given, has a fifth bit of each. */
function codesOf32(data: Uint8Array, at: number, high: number | undefined, { codes }: Coded, b: number): void {
  const bits =
    high === undefined ? 0 : data[high]! | (data[high + 1]! << 8) | (data[high + 2]! << 16) | (data[high + 3]! << 24);
  for (let i = 0; i < 16; i++) {
    const byte = data[at + i]!;
    codes[32 * b + i] = (byte & 15) | (((bits >>> i) & 1) << 4);
    codes[32 * b + i + 16] = (byte >> 4) | (((bits >>> (i + 16)) & 1) << 4);
  }
}

/** The scale and the minimum of group `i`: eight pairs of six-bit numbers are packed in 12 bytes. */
function scaleAndMinimum(data: Uint8Array, at: number, i: number): [number, number] {
  const byte = (j: number): number => data[at + j]!;
  if (i < 4) return [byte(i) & 63, byte(i + 4) & 63];
  return [(byte(i + 4) & 15) | ((byte(i - 4) >> 6) << 4), (byte(i + 4) >> 4) | ((byte(i) >> 6) << 4)];
}

/** Reads 256 codes from 128 bytes: 64 at a time, the first half from the low bits. `high`, if given, has a fifth bit of each. */
const kBlock =
  (places: { scales: number; codes: number; high?: number }): Decode =>
  (data, at, half, to, b) => {
    for (let group = 0; group < 8; group++) {
      const [s, m] = scaleAndMinimum(data, at + places.scales, group);
      to.scales[8 * b + group] = half(at) * s;
      to.minima[8 * b + group] = -half(at + 2) * m;
      const from = at + places.codes + 32 * (group >> 1);
      const shift = group % 2 === 0 ? 0 : 4;
      for (let i = 0; i < 32; i++) {
        const fifth = places.high === undefined ? 0 : ((data[at + places.high + i]! >> group) & 1) << 4;
        to.codes[256 * b + 32 * group + i] = ((data[from + i]! >> shift) & 15) | fifth;
      }
    }
  };

/** A block of 32 weights: a scale, perhaps a minimum, and the codes. */
const block32 =
  (places: { minimum?: number; high?: number; codes: number }): Decode =>
  (data, at, half, to, b) => {
    to.scales[b] = half(at);
    if (places.minimum !== undefined) to.minima[b] = half(at + places.minimum);
    codesOf32(data, at + places.codes, places.high === undefined ? undefined : at + places.high, to, b);
  };

type Quantized = Exclude<BlockType, 'F32' | 'F16' | 'BF16'>;

const FORMATS: Readonly<Record<Quantized, BlockFormat>> = {
  Q4_0: { group: 32, bits: 4, zero: 8, decode: block32({ codes: 2 }) },
  Q4_1: { group: 32, bits: 4, zero: 0, minima: true, decode: block32({ minimum: 2, codes: 4 }) },
  Q5_0: { group: 32, bits: 8, zero: 16, decode: block32({ high: 2, codes: 6 }) },
  Q5_1: { group: 32, bits: 8, zero: 0, minima: true, decode: block32({ minimum: 2, high: 4, codes: 8 }) },
  Q8_0: {
    ...{ group: 32, bits: 8, zero: 128 },
    decode: (data, at, half, to, b) => {
      to.scales[b] = half(at);
      for (let i = 0; i < 32; i++) to.codes[32 * b + i] = data[at + 2 + i]! ^ 128; // it is signed
    },
  },
  Q4_K: { group: 32, bits: 4, zero: 0, minima: true, decode: kBlock({ scales: 4, codes: 16 }) },
  Q5_K: { group: 32, bits: 8, zero: 0, minima: true, decode: kBlock({ scales: 4, high: 16, codes: 48 }) },
  Q6_K: {
    ...{ group: 16, bits: 8, zero: 32 },
    decode: (data, at, half, to, b) => {
      for (let i = 0; i < 16; i++) to.scales[16 * b + i] = half(at + 208) * ((data[at + 192 + i]! << 24) >> 24);
      for (let i = 0; i < 256; i++) {
        const [part, group, within] = [i >> 7, (i >> 5) & 3, i & 31]; // halves of 128, quarters of 32
        const low = data[at + 64 * part + 32 * (group & 1) + within]! >> (group < 2 ? 0 : 4);
        const high = data[at + 128 + 32 * part + within]! >> (2 * group);
        to.codes[256 * b + i] = (low & 15) | ((high & 3) << 4);
      }
    },
  },
};

const isQuantized = (type: string): type is Quantized => Object.hasOwn(FORMATS, type);

/** How the operator for quantized matrices holds the blocks of a type; undefined if the type is not quantized. */
export function packedFormatOf(type: string): PackedFormat | undefined {
  if (!isQuantized(type)) return undefined;
  const { bits, group, minima = false } = FORMATS[type];
  return { bits, groupSize: group, hasMinima: minima };
}

/** @param count the number of weights, a multiple of the block's */
function decoded(type: Quantized, data: Uint8Array, count: number): Coded {
  const [weights, bytes] = BLOCKS[type];
  const { group, minima, decode } = FORMATS[type];
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const half = (at: number): number => HALVES[view.getUint16(at, true)]!;
  const groups = count / group;
  const to = {
    codes: new Uint8Array(count),
    scales: new Float32Array(groups),
    minima: new Float32Array(minima ? groups : 0),
  };
  for (let b = 0; b < count / weights; b++) decode(data, b * bytes, half, to, b);
  return to;
}

/** @param count the number of weights, a multiple of the block's */
export function dequantize(type: BlockType, data: Uint8Array, count: number): Float32Array {
  if (!isQuantized(type)) return toFloat32(data, type, 'a tensor');
  const { codes, scales, minima } = decoded(type, data, count);
  const { group, zero } = FORMATS[type];
  const out = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const g = Math.floor(i / group);
    out[i] = scales[g]! * (codes[i]! - zero) + (minima[g] ?? 0);
  }
  return out;
}

/**
 * The blocks as the operator for quantized matrices reads them: w = scale·(code − 2^(bits−1)) + minimum. Equal to `dequantize` but for
 * the rounding of a sum, in types with minima.
 */
export function codesOf(type: string, data: Uint8Array, count: number): Coded {
  if (!isQuantized(type)) throw new TypeError(`${type} has no codes`);
  const coded = decoded(type, data, count);
  const { bits, zero } = FORMATS[type];
  const shift = 2 ** (bits - 1) - zero;
  if (bits === 8) return { ...coded, codes: coded.codes.map((code) => code + shift) };
  return { ...coded, minima: coded.minima.map((minimum, g) => minimum + shift * coded.scales[g]!) };
}
