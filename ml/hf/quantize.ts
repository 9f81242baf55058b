// Writes the quantized weights of a checkpoint, a block of rows at a time: the model is never in memory as a whole.
// Groups are symmetric around zero. The lowest code stands for the weight with the largest absolute value, sign included,
// so that all 2^bits codes are used (the rule of llama.cpp's Q4_0). Equal weights give equal bytes.
import { GauntletError } from '../../core/base/errors.js';
import { type Coded, codesOf } from '../gguf/blocks.js';
import { rowsOf } from '../nn/layout.js';
import { readBytes, readRows, type StoredParameter } from './checkpoint.js';
import { writeAll, writeAtomically } from './files.js';
import type { PackedLayout, PackedMatrix } from './packed.js';

const BLOCK = 1 << 20; // weights that are read at a time

/** Creates the file. @param keepBlocks whether the blocks of a GGUF file are packed as they are @throws {GauntletError} BAD_MODEL if a weight is not finite */
export function quantizeModel(
  stored: ReadonlyMap<string, StoredParameter>,
  layout: PackedLayout,
  keepBlocks: boolean,
  target: string,
): void {
  writeAtomically(target, (fd) => {
    writeAll(fd, layout.header, 0);
    for (const matrix of layout.matrices) packMatrix(fd, stored.get(matrix.source)!, matrix, keepBlocks);
    for (const { name, offset } of layout.plain) copyRows(fd, name, stored.get(name)!, offset);
    for (const [bits, { offset, length }] of Object.entries(layout.zeros))
      writeAll(fd, new Uint8Array(length).fill(bits === '4' ? 0x88 : 0x80), offset);
  });
}

function packMatrix(target: number, source: StoredParameter, matrix: PackedMatrix, keepBlocks: boolean): void {
  const { bits, groupSize, minima, shape } = matrix;
  const [out, into] = shape;
  const rows = Math.max(1, Math.floor(BLOCK / into));
  for (let row = 0; row < out; row += rows) {
    const to = Math.min(out, row + rows);
    const { codes, ...groups } = keepBlocks
      ? codesOf(source.dtype, readBytes(source, row, to), (to - row) * into)
      : codesIn(readRows(matrix.source, source, row, to), bits, groupSize);
    if (!groups.scales.every(Number.isFinite) || !groups.minima.every(Number.isFinite))
      throw new GauntletError('BAD_MODEL', `${source.path}: ${matrix.source} has a weight that is not finite`);
    writeAll(target, packed(codes, bits), matrix.values + (row * into * bits) / 8);
    const at = ((row * into) / groupSize) * 4;
    writeAll(target, new Uint8Array(groups.scales.buffer), matrix.scales + at);
    if (minima !== undefined) writeAll(target, new Uint8Array(groups.minima.buffer), minima + at);
  }
}

function copyRows(target: number, name: string, source: StoredParameter, offset: number): void {
  const { count, step } = rowsOf(source.shape);
  for (let row = 0, at = offset; row < count; row += step) {
    const rows = readRows(name, source, row, Math.min(count, row + step));
    writeAll(target, new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength), at);
    at += rows.byteLength;
  }
}

/** weights [groups·groupSize] → codes and the scale of each group. The first of two 4-bit codes is in the low half of a byte. */
export function packGroups(
  weights: Float32Array,
  bits: 4 | 8,
  groupSize: number,
): { packed: Uint8Array; scales: Float32Array } {
  const { codes, scales } = codesIn(weights, bits, groupSize);
  return { packed: packed(codes, bits), scales };
}

function codesIn(weights: Float32Array, bits: 4 | 8, groupSize: number): Coded {
  const zero = 2 ** (bits - 1);
  const codes = new Uint8Array(weights.length);
  const scales = new Float32Array(weights.length / groupSize);
  for (let group = 0; group < scales.length; group++) {
    const [from, to] = [group * groupSize, (group + 1) * groupSize];
    let extreme = 0;
    for (let i = from; i < to; i++) {
      const w = weights[i]!;
      if (Math.abs(w) > Math.abs(extreme) || Number.isNaN(w)) extreme = w; // a NaN is kept, too
    }
    const scale = Math.fround(extreme / -zero) + 0; // never −0
    scales[group] = scale;
    for (let i = from; i < to; i++)
      codes[i] = scale === 0 ? zero : Math.min(2 * zero - 1, Math.max(0, Math.round(weights[i]! / scale) + zero));
  }
  return { codes, scales, minima: new Float32Array(0) };
}

function packed(codes: Uint8Array, bits: 4 | 8): Uint8Array {
  if (bits === 8) return codes;
  const out = new Uint8Array(codes.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = codes[2 * i]! | (codes[2 * i + 1]! << 4);
  return out;
}
