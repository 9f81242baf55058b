// The safetensors container: 8 bytes of header length, a JSON header, then the tensors back to back. Everything is
// checked before use, so that a damaged download gives an error that names it and never a wrong model.
// Format: https://huggingface.co/docs/safetensors/index#format
import { closeSync } from 'node:fs';
import { type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { elements, type TensorData } from '../nn/layout.js';
import { openForReading, readAll } from './files.js';

/** The range of a tensor: `begin` and `end` count bytes from the start of the data section. */
export interface TensorEntry {
  dtype: string;
  shape: number[];
  begin: number;
  end: number;
}

const BYTES: Record<string, number> = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
};
/** The names of dtypes in config.json. */
export const DTYPE_NAMES = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' } as const;
const MAX_HEADER = 1 << 25; // in bytes; the largest known header has a tenth of it

/**
 * The tensors that a header declares, checked against the size of the data section: every range matches its dtype and
 * shape, and the ranges cover the section without overlap, gap or trailing bytes.
 * @throws {GauntletError} with `code`, naming `where` and the tensor
 */
export function parseHeader(
  header: Uint8Array,
  dataBytes: number,
  where: string,
  code: ErrorCode = 'BAD_MODEL',
): Map<string, TensorEntry> {
  const fail = (what: string): never => {
    throw new GauntletError(code, `${where}: ${what}`);
  };
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(header));
  } catch (cause) {
    throw new GauntletError(code, `${where}: the safetensors header is not JSON`, { cause });
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) fail('the safetensors header is not an object');
  const entries = new Map<string, TensorEntry>();
  for (const [name, raw] of Object.entries(json as Record<string, unknown>)) {
    if (name === '__metadata__') continue;
    const { dtype, shape, data_offsets: offsets } = (raw ?? {}) as Record<string, unknown>;
    if (typeof dtype !== 'string' || !Object.hasOwn(BYTES, dtype))
      fail(`tensor ${name} has dtype ${String(dtype)}, not supported`);
    if (!isSizes(shape)) fail(`tensor ${name} has no valid shape`);
    if (!isSizes(offsets) || offsets.length !== 2) fail(`tensor ${name} has no valid data_offsets`);
    const [begin, end] = offsets as [number, number];
    const bytes = elements(shape as number[]) * BYTES[dtype as string]!;
    if (end - begin !== bytes) fail(`tensor ${name} spans ${end - begin} bytes, its shape and dtype need ${bytes}`);
    if (end > dataBytes) fail(`truncated: tensor ${name} ends at byte ${end} of ${dataBytes}`);
    entries.set(name, { dtype: dtype as string, shape: shape as number[], begin, end });
  }
  let at = 0;
  let previous = '';
  for (const [name, { begin, end }] of [...entries].sort((a, b) => a[1].begin - b[1].begin || a[1].end - b[1].end)) {
    if (begin < at) fail(`tensors ${previous} and ${name} overlap`);
    if (begin > at) fail(`unused bytes before tensor ${name}`);
    at = end;
    previous = name;
  }
  if (at !== dataBytes) fail(`${dataBytes - at} bytes after the last tensor`);
  return entries;
}

/** @throws {GauntletError} if the first eight bytes do not fit a file of `fileBytes` bytes */
function headerLength(prefix: Uint8Array, fileBytes: number, where: string, code: ErrorCode): number {
  if (fileBytes < 8) throw new GauntletError(code, `${where}: truncated, not a safetensors file`);
  const length = Number(new DataView(prefix.buffer, prefix.byteOffset, 8).getBigUint64(0, true));
  if (length > MAX_HEADER || length > fileBytes - 8)
    throw new GauntletError(code, `${where}: truncated or not a safetensors file (header of ${length} bytes)`);
  return length;
}

/** Reads a whole file from memory. @throws {GauntletError} with `code`, naming `where` */
export function parseSafetensors(
  bytes: Uint8Array,
  where: string,
  code: ErrorCode = 'BAD_MODEL',
): Map<string, TensorData> {
  const start = 8 + headerLength(bytes, bytes.length, where, code);
  const entries = parseHeader(bytes.subarray(8, start), bytes.length - start, where, code);
  const tensors = new Map<string, TensorData>();
  for (const [name, { dtype, shape, begin, end }] of entries) {
    const data = toFloat32(bytes.subarray(start + begin, start + end), dtype, `${where}: ${name}`, code);
    tensors.set(name, { shape, data });
  }
  return tensors;
}

/** The tensors of a file on disk, and the byte at which its data section starts. @throws {GauntletError} BAD_MODEL */
export function readHeader(path: string): { entries: Map<string, TensorEntry>; dataStart: number } {
  const { fd, size } = openForReading(path);
  try {
    const prefix = size < 8 ? new Uint8Array(8) : readAll(fd, 0, 8, path);
    const dataStart = 8 + headerLength(prefix, size, path, 'BAD_MODEL');
    return { entries: parseHeader(readAll(fd, 8, dataStart - 8, path), size - dataStart, path), dataStart };
  } finally {
    closeSync(fd);
  }
}

/** Makes the start of a file with these tensors, with the first byte of each tensor in the file, and the size of the file. */
export function safetensorsHeader(
  tensors: readonly { name: string; dtype: string; shape: readonly number[] }[],
  format = 'pt', // transformers refuses files without a format
): { header: Uint8Array; offsets: Map<string, number>; bytes: number } {
  const entries: Record<string, unknown> = { __metadata__: { format } };
  const begins: [string, number][] = [];
  let end = 0;
  for (const { name, dtype, shape } of tensors) {
    const begin = end;
    end += elements(shape) * BYTES[dtype]!;
    entries[name] = { dtype, shape, data_offsets: [begin, end] };
    begins.push([name, begin]);
  }
  const json = new TextEncoder().encode(JSON.stringify(entries));
  const padded = Math.ceil(json.length / 8) * 8;
  const header = new Uint8Array(8 + padded).fill(0x20, 8);
  new DataView(header.buffer).setBigUint64(0, BigInt(padded), true);
  header.set(json, 8);
  const offsets = new Map(begins.map(([name, begin]) => [name, header.length + begin]));
  return { header, offsets, bytes: header.length + end };
}

/** Writes F32 tensors in the order of their names. Equal tensors give equal bytes. */
export function writeSafetensors(tensors: ReadonlyMap<string, TensorData>): Uint8Array {
  const sorted = [...tensors].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, t]) => ({ name, dtype: 'F32', ...t }));
  for (const { name, shape, data } of sorted)
    if (elements(shape) !== data.length) throw new RangeError(`${name}: ${data.length} values do not fill [${shape}]`);
  const { header, offsets, bytes } = safetensorsHeader(sorted);
  const out = new Uint8Array(bytes);
  out.set(header);
  for (const { name, data } of sorted)
    out.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), offsets.get(name)!); // little-endian hosts only
  return out;
}

/** Converts F32, F16 and BF16 to f32, exactly. @throws {GauntletError} for any other dtype */
export function toFloat32(
  bytes: Uint8Array,
  dtype: string,
  where: string,
  code: ErrorCode = 'BAD_MODEL',
): Float32Array {
  const copy = new Uint8Array(bytes); // an aligned buffer of its own; a slice of a Buffer would share one
  if (dtype === 'F32') return new Float32Array(copy.buffer);
  if (dtype !== 'F16' && dtype !== 'BF16')
    throw new GauntletError(code, `${where} has dtype ${dtype}; F32, F16 or BF16 is needed`);
  const half = new Uint16Array(copy.buffer);
  if (dtype === 'F16') return Float32Array.from(half, (h) => HALVES[h]!);
  const out = new Float32Array(half.length);
  const bits = new Uint32Array(out.buffer);
  for (let i = 0; i < half.length; i++) bits[i] = half[i]! << 16;
  return out;
}

/** The number of each half-precision bit pattern. */
export const HALVES = Float32Array.from({ length: 1 << 16 }, (_, h) => halfToNumber(h));

function halfToNumber(h: number): number {
  const sign = h & 0x8000 ? -1 : 1;
  const exponent = (h >> 10) & 31;
  const fraction = h & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function isSizes(x: unknown): x is number[] {
  return Array.isArray(x) && x.every((n) => Number.isSafeInteger(n) && n >= 0);
}
