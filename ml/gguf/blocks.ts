// The block formats of ggml: weights of a block share scales (ggml-quants.c in github.com/ggml-org/llama.cpp defines them).
// A product of a scale and a code is exact in a double, so every weight is rounded to f32 once, as by ggml.
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

/** Writes the weights of the block that starts at byte `at`. `half(i)` is the f16 at byte i. */
type Decode = (block: Uint8Array, at: number, half: (at: number) => number, out: Float32Array, to: number) => void;

/** @param count the number of weights, a multiple of the block's */
export function dequantize(type: BlockType, data: Uint8Array, count: number): Float32Array {
  if (type === 'F32' || type === 'F16' || type === 'BF16') return toFloat32(data, type, 'a tensor');
  const [weights, bytes] = BLOCKS[type];
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const half = (at: number): number => HALVES[view.getUint16(at, true)]!;
  const out = new Float32Array(count);
  const decode = DECODERS[type];
  for (let block = 0; block < count / weights; block++) decode(data, block * bytes, half, out, block * weights);
  return out;
}

/** Reads 32 codes of four bits from 16 bytes, the first half from the low bits. `high`, if given, has a fifth bit of each. */
function codesOf32(
  data: Uint8Array,
  at: number,
  high: number | undefined,
  write: (i: number, code: number) => void,
): void {
  const bits =
    high === undefined ? 0 : data[high]! | (data[high + 1]! << 8) | (data[high + 2]! << 16) | (data[high + 3]! << 24);
  for (let i = 0; i < 16; i++) {
    const byte = data[at + i]!;
    write(i, (byte & 15) | (((bits >>> i) & 1) << 4));
    write(i + 16, (byte >> 4) | (((bits >>> (i + 16)) & 1) << 4));
  }
}

/** The scale and the minimum of group `i`: eight pairs of six-bit numbers are packed in 12 bytes. */
function scaleAndMinimum(data: Uint8Array, at: number, i: number): [number, number] {
  const byte = (j: number): number => data[at + j]!;
  if (i < 4) return [byte(i) & 63, byte(i + 4) & 63];
  return [(byte(i + 4) & 15) | ((byte(i - 4) >> 6) << 4), (byte(i + 4) >> 4) | ((byte(i) >> 6) << 4)];
}

/** Reads 256 codes from 128 bytes: 64 at a time, the first half from the low bits. `high`, if given, has a fifth bit of each. */
function kBlock(
  data: Uint8Array,
  { scales, codes, high }: { scales: number; codes: number; high?: number },
  [scale, minimum]: [number, number],
  out: Float32Array,
  to: number,
): void {
  for (let group = 0; group < 8; group++) {
    const [s, m] = scaleAndMinimum(data, scales, group);
    const from = codes + 32 * (group >> 1);
    const shift = group % 2 === 0 ? 0 : 4;
    for (let i = 0; i < 32; i++) {
      const fifth = high === undefined ? 0 : ((data[high + i]! >> group) & 1) << 4;
      const code = ((data[from + i]! >> shift) & 15) | fifth;
      out[to + 32 * group + i] = scale * s * code - minimum * m;
    }
  }
}

const DECODERS: Readonly<Record<Exclude<BlockType, 'F32' | 'F16' | 'BF16'>, Decode>> = {
  Q4_0: (data, at, half, out, to) => {
    const scale = half(at);
    codesOf32(data, at + 2, undefined, (i, code) => (out[to + i] = scale * (code - 8)));
  },
  Q4_1: (data, at, half, out, to) => {
    const [scale, minimum] = [half(at), half(at + 2)];
    codesOf32(data, at + 4, undefined, (i, code) => (out[to + i] = scale * code + minimum));
  },
  Q5_0: (data, at, half, out, to) => {
    const scale = half(at);
    codesOf32(data, at + 6, at + 2, (i, code) => (out[to + i] = scale * (code - 16)));
  },
  Q5_1: (data, at, half, out, to) => {
    const [scale, minimum] = [half(at), half(at + 2)];
    codesOf32(data, at + 8, at + 4, (i, code) => (out[to + i] = scale * code + minimum));
  },
  Q8_0: (data, at, half, out, to) => {
    const scale = half(at);
    for (let i = 0; i < 32; i++) out[to + i] = scale * ((data[at + 2 + i]! << 24) >> 24);
  },
  Q4_K: (data, at, half, out, to) =>
    kBlock(data, { scales: at + 4, codes: at + 16 }, [half(at), half(at + 2)], out, to),
  Q5_K: (data, at, half, out, to) =>
    kBlock(data, { scales: at + 4, high: at + 16, codes: at + 48 }, [half(at), half(at + 2)], out, to),
  Q6_K: (data, at, half, out, to) => {
    const scale = half(at + 208);
    for (let i = 0; i < 256; i++) {
      const [part, group, within] = [i >> 7, (i >> 5) & 3, i & 31]; // halves of 128, quarters of 32
      const low = data[at + 64 * part + 32 * (group & 1) + within]! >> (group < 2 ? 0 : 4);
      const high = data[at + 128 + 32 * part + within]! >> (2 * group);
      const own = (data[at + 192 + (i >> 4)]! << 24) >> 24;
      out[to + i] = scale * own * (((low & 15) | ((high & 3) << 4)) - 32);
    }
  },
};
