// Named float32 tensors as one blob, for optimizer states and adapters. Equal tensors give equal bytes: magic number,
// header length, header (canonical JSON, padded), then the values, sorted by name, in the byte order of the machine, which
// is little-endian wherever ONNX Runtime runs.
import { z } from 'zod';
import { GauntletError } from '../core/base/errors.js';
import { canonicalJson, parseJson } from './canonicalJson.js';

const MAGIC = 'GTNSR1\n\0'; // 8 bytes
const PREFIX = MAGIC.length + 4;
const ALIGN = 8;

export interface TensorFile {
  tensors: Record<string, Float32Array>;
  meta: Record<string, unknown>; // plain JSON, e.g. {rank: 8, alpha: 16, step: 40}
}

const headerSchema = z.object({
  tensors: z.array(z.tuple([z.string(), z.int().nonnegative()])), // names in code-unit order, lengths in elements
  meta: z.record(z.string(), z.unknown()),
});

export function encodeTensors(tensors: Record<string, Float32Array>, meta: Record<string, unknown> = {}): Uint8Array {
  const names = Object.keys(tensors).sort();
  const header: z.infer<typeof headerSchema> = { tensors: names.map((name) => [name, tensors[name]!.length]), meta };
  const json = Buffer.from(canonicalJson(header), 'utf8');
  const start = Math.ceil((PREFIX + json.length) / ALIGN) * ALIGN;
  const total = names.reduce((sum, name) => sum + tensors[name]!.byteLength, start);
  const out = Buffer.alloc(total, 0x20);
  out.write(MAGIC, 0, 'latin1');
  out.writeUInt32LE(start - PREFIX, MAGIC.length);
  json.copy(out, PREFIX);
  let at = start;
  for (const name of names) {
    const { buffer, byteOffset, byteLength } = tensors[name]!;
    out.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += byteLength;
  }
  return out;
}

/** Reads a tensor file. The tensors do not share memory with `bytes`. @throws GauntletError CORRUPT_ARTIFACT */
export function decodeTensors(bytes: Uint8Array): TensorFile {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.length < PREFIX || view.toString('latin1', 0, MAGIC.length) !== MAGIC) throw corrupt('wrong magic number');
  const start = PREFIX + view.readUInt32LE(MAGIC.length);
  if (start > view.length) throw corrupt('cut off in its header');
  const { data: header } = headerSchema.safeParse(parseJson(view.subarray(PREFIX, start)));
  if (!header) throw corrupt('its header is malformed');
  const expected = header.tensors.reduce((sum, [, length]) => sum + 4 * length, start);
  if (expected !== view.length) throw corrupt(`${view.length} bytes, but its header needs ${expected}`);
  const tensors: Record<string, Float32Array> = {};
  let at = start;
  for (const [name, length] of header.tensors) {
    const values = new Float32Array(length);
    new Uint8Array(values.buffer).set(view.subarray(at, at + 4 * length));
    tensors[name] = values;
    at += 4 * length;
  }
  return { tensors, meta: header.meta };
}

const corrupt = (why: string): GauntletError => new GauntletError('CORRUPT_ARTIFACT', `tensor file: ${why}`);
