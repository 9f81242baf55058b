// Writes the quantized weights of a checkpoint, a block of rows at a time: the model is never in memory as a whole.
// Groups are symmetric around zero. The lowest code stands for the weight with the largest absolute value, sign included,
// so that all 2^bits codes are used (the rule of llama.cpp's Q4_0). Equal weights give equal bytes.
import { GauntletError } from '../../core/base/errors.js';
import type { StoredParameter } from './checkpoint.js';
import { readAll, withFile, writeAll, writeAtomically } from './files.js';
import type { PackedLayout, PackedMatrix } from './packed.js';
import { toFloat32 } from './safetensors.js';

const BLOCK = 1 << 20; // weights that are read at a time

/** Creates the file. @throws {GauntletError} BAD_MODEL if a weight is not finite */
export function quantizeModel(
  stored: ReadonlyMap<string, StoredParameter>,
  layout: PackedLayout,
  groupSize: number,
  target: string,
): void {
  writeAtomically(target, (fd) => {
    writeAll(fd, layout.header, 0);
    for (const matrix of layout.matrices) packMatrix(fd, stored.get(matrix.source)!, matrix, groupSize);
    for (const [bits, { offset, length }] of Object.entries(layout.zeros))
      writeAll(fd, new Uint8Array(length).fill(bits === '4' ? 0x88 : 0x80), offset);
  });
}

function packMatrix(target: number, source: StoredParameter, matrix: PackedMatrix, groupSize: number): void {
  const { bits, shape } = matrix;
  const [out, into] = shape;
  const rows = Math.max(1, Math.floor(BLOCK / into));
  const width = source.length / (out * into);
  withFile(source.path, 'r', (fd) => {
    for (let row = 0; row < out; row += rows) {
      const count = Math.min(rows, out - row) * into;
      const bytes = readAll(fd, source.offset + row * into * width, count * width, source.path);
      const { packed, scales } = packGroups(toFloat32(bytes, source.dtype, source.path), bits, groupSize);
      if (!scales.every(Number.isFinite))
        throw new GauntletError('BAD_MODEL', `${source.path}: ${matrix.source} has a weight that is not finite`);
      writeAll(target, packed, matrix.values + (row * into * bits) / 8);
      writeAll(target, new Uint8Array(scales.buffer), matrix.scales + ((row * into) / groupSize) * 4);
    }
  });
}

/** weights [groups·groupSize] → codes and the scale of each group. The first of two 4-bit codes is in the low half of a byte. */
export function packGroups(
  weights: Float32Array,
  bits: 4 | 8,
  groupSize: number,
): { packed: Uint8Array; scales: Float32Array } {
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
  if (bits === 8) return { packed: codes, scales };
  const packed = new Uint8Array(codes.length / 2);
  for (let i = 0; i < packed.length; i++) packed[i] = codes[2 * i]! | (codes[2 * i + 1]! << 4);
  return { packed, scales };
}
