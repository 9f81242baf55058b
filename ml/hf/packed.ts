// Quantised weights on disk: which bytes of a safetensors file hold which matrix. The layout follows from the model's
// sizes alone, so that a file is checked by its header and its length, and mapped without being read.
//
// The seven projections take `bits`; the output projection, also of a model whose projection is its embedding, takes
// eight: it is what tells tokens apart, and it is multiplied once a token, not once a layer. The embedding itself, norms
// and biases stay in the checkpoint.
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { GauntletError } from '../../core/errors.js';
import { bytesOf } from '../ir/op.js';
import { type DecoderConfig, PROJECTIONS } from '../nn/config.js';
import { projectionShape } from '../nn/lora.js';
import { HEAD } from '../nn/parameters.js';

export interface PackedMatrix {
  name: string;
  source: string; // the checkpoint's tensor
  shape: [number, number];
  bits: 4 | 8;
  values: number; // offsets in the file, in bytes
  scales: number;
}
export interface PackedLayout {
  matrices: PackedMatrix[];
  zeros: Record<4 | 8, { offset: number; length: number }>; // 2^(bits−1), as often as the largest matrix needs it
  header: Uint8Array; // with its eight bytes of length
  bytes: number; // of the whole file
}

const VERSION = 1;
/** What a file is called by: everything that its bytes depend on besides the model. */
export const packedFormat = (q: { bits: number; groupSize: number }): string =>
  `int${q.bits}-g${q.groupSize}-v${VERSION}`;

/** @throws {GauntletError} BAD_CONFIG where groups of that size do not fit */
export function packedLayout(c: DecoderConfig, q: { bits: 4 | 8; groupSize: number }): PackedLayout {
  const { bits, groupSize } = q;
  if (bits !== 4 && bits !== 8) throw new GauntletError('BAD_CONFIG', `quantization.bits must be 4 or 8, is ${bits}`);
  if (![16, 32, 64, 128, 256].includes(groupSize))
    throw new GauntletError('BAD_CONFIG', `quantization.groupSize must be 16, 32, 64, 128 or 256, is ${groupSize}`);
  const matrices: Omit<PackedMatrix, 'values' | 'scales'>[] = [];
  for (let layer = 0; layer < c.layers; layer++)
    for (const projection of PROJECTIONS) {
      const name = `model.layers.${layer}.${projection}.weight`;
      matrices.push({ name, source: name, shape: projectionShape(c, projection), bits });
    }
  matrices.push({
    name: HEAD,
    source: c.tied ? 'model.embed_tokens.weight' : HEAD,
    shape: [c.vocab, c.hidden],
    bits: 8,
  });
  const uneven = matrices.find(({ shape }) => shape[1] % groupSize !== 0);
  if (uneven)
    throw new GauntletError(
      'BAD_CONFIG',
      `quantization.groupSize ${groupSize} does not divide the ${uneven.shape[1]} inputs of ${uneven.name}`,
    );

  const tensors: Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }> = {};
  let at = 0;
  const place = (name: string, dtype: 'U8' | 'F32', shape: number[]): number => {
    const begin = at;
    at += shape.reduce((a, b) => a * b, dtype === 'F32' ? 4 : 1);
    tensors[name] = { dtype, shape, data_offsets: [begin, at] };
    return begin;
  };
  const groups = ([out, into]: [number, number]): number => (out * into) / groupSize;
  const placed = matrices.map((m) => ({
    ...m,
    scales: place(`${m.name}.scales`, 'F32', [m.shape[0], m.shape[1] / groupSize]),
    values: place(`${m.name}.packed`, 'U8', [m.shape[0], (m.shape[1] * m.bits) / 8]),
  }));
  const zeros = ([4, 8] as const).map((b) => {
    const most = Math.max(
      0,
      ...matrices.filter((m) => m.bits === b).map((m) => bytesOf(b === 4 ? 'uint4' : 'uint8', groups(m.shape))),
    );
    return { offset: place(`zeros.${b}`, 'U8', [most]), length: most };
  });
  const json = new TextEncoder().encode(JSON.stringify({ __metadata__: { format: packedFormat(q) }, ...tensors }));
  const padded = Math.ceil(json.length / 8) * 8;
  const header = new Uint8Array(8 + padded).fill(0x20, 8);
  new DataView(header.buffer).setBigUint64(0, BigInt(padded), true);
  header.set(json, 8);
  const start = header.length;
  return {
    matrices: placed.map((m) => ({ ...m, values: start + m.values, scales: start + m.scales })),
    zeros: {
      4: { ...zeros[0]!, offset: start + zeros[0]!.offset },
      8: { ...zeros[1]!, offset: start + zeros[1]!.offset },
    },
    header,
    bytes: start + at,
  };
}

/** Whether a file is what this layout describes. Its content is that of the model in its name: it was renamed whole. */
export function isPacked(path: string, { header, bytes }: PackedLayout): boolean {
  if (!existsSync(path)) return false;
  const fd = openSync(path, 'r');
  try {
    const found = Buffer.alloc(header.length);
    return (
      fstatSync(fd).size === bytes && readSync(fd, found, 0, found.length, 0) === found.length && found.equals(header)
    );
  } finally {
    closeSync(fd);
  }
}
