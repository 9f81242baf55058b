// Writes the header of a GGUF file of version 3: metadata and the table of tensors.
import { elements } from '../nn/layout.js';
import { BLOCKS, type BlockType } from './blocks.js';
import { ARRAY, MAGIC, TEXT } from './file.js';

/** A plain number is stored as u32. */
export type MetadataValue = number | { f32: number } | boolean | string | readonly string[] | Int32Array;

export interface TensorToWrite {
  name: string;
  shape: readonly number[]; // has PyTorch's order
  type: BlockType;
}

const ALIGNMENT = 32; // every tensor begins at a multiple of it; the default of the format
const [U32, I32, F32, BOOL] = [4, 5, 6, 7] as const;

/** Makes the start of a file with tensors in this order, up to the data of the first tensor. */
export function ggufHeader(
  metadata: ReadonlyMap<string, MetadataValue>,
  tensors: readonly TensorToWrite[],
): Uint8Array {
  const parts: Uint8Array[] = [u32(MAGIC), u32(3), u64(tensors.length), u64(metadata.size)];
  for (const [key, value] of metadata) parts.push(text(key), Buffer.concat(valueParts(value)));
  let begin = 0;
  for (const { name, shape, type } of tensors) {
    const [weights, bytes, code] = BLOCKS[type];
    parts.push(text(name), u32(shape.length), ...[...shape].reverse().map(u64), u32(code), u64(begin));
    begin += padded((elements(shape) / weights) * bytes);
  }
  const header = Buffer.concat(parts);
  return Buffer.concat([header, padding(header.length)]);
}

/** The zeros that follow `bytes` bytes of a tensor. */
export const padding = (bytes: number): Uint8Array => new Uint8Array(padded(bytes) - bytes);

const padded = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

function valueParts(value: MetadataValue): Uint8Array[] {
  if (typeof value === 'number') return [u32(U32), u32(value)];
  if (typeof value === 'boolean') return [u32(BOOL), Uint8Array.of(value ? 1 : 0)];
  if (typeof value === 'string') return [u32(TEXT), text(value)];
  if (value instanceof Int32Array)
    return [u32(ARRAY), u32(I32), u64(value.length), new Uint8Array(value.buffer, value.byteOffset, value.byteLength)];
  if ('f32' in value) return [u32(F32), new Uint8Array(Float32Array.of(value.f32).buffer)];
  return [u32(ARRAY), u32(TEXT), u64(value.length), ...value.map(text)];
}

const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const u64 = (value: number): Uint8Array => new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);

function text(value: string): Uint8Array {
  const bytes = Buffer.from(value, 'utf8');
  return Buffer.concat([u64(bytes.length), bytes]);
}
