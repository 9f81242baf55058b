// The file format of quantized weights. The layout follows from the sizes of the model, so a file is checked by its
// header and its length, and mapped without being read.
//
// The seven projections have `bits` bits a weight. The output projection always has eight, also in a tied model: it decides
// between tokens, and a token needs it once, not once a layer. The embedding itself, norms and biases stay in the checkpoint.
import { existsSync, fstatSync } from 'node:fs';
import { GauntletError } from '../../core/base/errors.js';
import { bytesOf } from '../ir/op.js';
import { type DecoderConfig, PROJECTIONS } from '../nn/config.js';
import { elements, projectionShape } from '../nn/layout.js';
import { EMBEDDING, HEAD, weightOf } from '../nn/tensorNames.js';
import { readAll, withFile } from './files.js';
import { safetensorsHeader } from './safetensors.js';

/** Quantized projections: groups of `groupSize` weights along the input share a scale. */
export interface Quantization {
  bits: 4 | 8;
  groupSize: number;
}
/** How a matrix is packed. Its groups may have minima, which are added to their weights. */
export interface PackedFormat extends Quantization {
  hasMinima?: boolean;
}
/** How the matrices of a model are packed: by a quantization, or as its file holds them, by the name of the tensor. */
export type Packing = Quantization | { formats: ReadonlyMap<string, PackedFormat> };

export interface PackedMatrix extends PackedFormat {
  name: string;
  source: string; // the name of the tensor in the checkpoint
  shape: [number, number];
  values: number; // the first byte of the codes in the file
  scales: number; // the first byte of the scales in the file
  minima: number | undefined; // the first byte of the minima in the file; undefined: there are none
}
export interface PackedLayout {
  matrices: PackedMatrix[];
  /** Parameters in f32 whose type ONNX Runtime cannot read from the checkpoint: the embedding in blocks. */
  plain: { name: string; offset: number }[];
  zeros: Record<4 | 8, { offset: number; length: number }>; // 2^(bits−1), as often as the largest matrix needs it
  header: Uint8Array; // its first eight bytes are its length
  bytes: number; // size of the whole file
}

/** The group size that runs use. */
export const GROUP_SIZE = 32;

const VERSION = 1;
/** A part of the file's name. It names everything besides the model that the bytes depend on. */
export const packedName = (q: Packing): string =>
  'formats' in q ? `blocks-v${VERSION}` : `int${q.bits}-g${q.groupSize}-v${VERSION}`;

/**
 * @param unmapped other parameters that the file holds in f32
 * @throws {GauntletError} BAD_CONFIG if groups of that size do not fit
 */
export function packedLayout(
  c: DecoderConfig,
  packing: Packing,
  unmapped: readonly { name: string; shape: readonly number[] }[] = [],
): PackedLayout {
  const matrices = matricesOf(c, packing);
  const uneven = matrices.find(({ shape, groupSize }) => shape[1] % groupSize !== 0);
  if (uneven) {
    const inputs = `${uneven.shape[1]} inputs of ${uneven.name}`;
    throw new GauntletError('BAD_CONFIG', `quantization.groupSize ${uneven.groupSize} does not divide the ${inputs}`);
  }
  const zeroBytes = (own: 4 | 8): number => {
    const groups = matrices.filter((m) => m.bits === own).map((m) => elements(m.shape) / m.groupSize);
    return bytesOf(own === 4 ? 'uint4' : 'uint8', Math.max(0, ...groups));
  };
  const zeros = { 4: zeroBytes(4), 8: zeroBytes(8) };
  const { header, offsets, bytes } = safetensorsHeader(
    [
      ...unmapped.map(({ name, shape }) => ({ name, dtype: 'F32', shape: [...shape] })),
      ...matrices.flatMap(({ name, shape: [out, into], bits: own, groupSize, hasMinima }) => [
        { name: `${name}.scales`, dtype: 'F32', shape: [out, into / groupSize] },
        ...(hasMinima ? [{ name: `${name}.minima`, dtype: 'F32', shape: [out, into / groupSize] }] : []),
        { name: `${name}.packed`, dtype: 'U8', shape: [out, (into * own) / 8] },
      ]),
      { name: 'zeros.4', dtype: 'U8', shape: [zeros[4]] },
      { name: 'zeros.8', dtype: 'U8', shape: [zeros[8]] },
    ],
    packedName(packing),
  );
  const offset = (name: string): number => offsets.get(name)!;
  return {
    matrices: matrices.map((m) => ({
      ...m,
      scales: offset(`${m.name}.scales`),
      minima: offsets.get(`${m.name}.minima`),
      values: offset(`${m.name}.packed`),
    })),
    plain: unmapped.map(({ name }) => ({ name, offset: offset(name) })),
    zeros: {
      4: { offset: offset('zeros.4'), length: zeros[4] },
      8: { offset: offset('zeros.8'), length: zeros[8] },
    },
    header,
    bytes,
  };
}

/** The matrices that are packed. @throws {GauntletError} BAD_CONFIG naming the field of the quantization */
export function matricesOf(c: DecoderConfig, packing: Packing): Omit<PackedMatrix, 'values' | 'scales' | 'minima'>[] {
  const all: Pick<PackedMatrix, 'name' | 'source' | 'shape'>[] = [];
  for (let layer = 0; layer < c.layers; layer++)
    for (const projection of PROJECTIONS) {
      const name = weightOf(layer, projection);
      all.push({ name, source: name, shape: projectionShape(c, projection) });
    }
  all.push({ name: HEAD, source: c.tied ? EMBEDDING : HEAD, shape: [c.vocab, c.hidden] });
  if ('formats' in packing)
    return all.flatMap((matrix) => {
      const format = packing.formats.get(matrix.source);
      return format ? [{ ...matrix, ...format }] : [];
    });
  const { bits, groupSize } = packing;
  if (bits !== 4 && bits !== 8) throw new GauntletError('BAD_CONFIG', `quantization.bits must be 4 or 8, is ${bits}`);
  if (![16, 32, 64, 128, 256].includes(groupSize))
    throw new GauntletError('BAD_CONFIG', `quantization.groupSize must be 16, 32, 64, 128 or 256, is ${groupSize}`);
  return all.map((matrix) => ({ ...matrix, bits: matrix.name === HEAD ? 8 : bits, groupSize }));
}

/** Whether a file has this layout. Its content belongs to the model in its name, because files are written atomically. */
export function isPacked(path: string, { header, bytes }: PackedLayout): boolean {
  if (!existsSync(path)) return false;
  return withFile(path, 'r', (fd) => {
    return fstatSync(fd).size === bytes && Buffer.compare(readAll(fd, 0, header.length, path), header) === 0;
  });
}
