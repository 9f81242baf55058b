// Finds every parameter of a model in the safetensors files of its folder. It reads only headers, so a tensor that is missing,
// unknown or of another shape is reported before any weight is read. Weights can then be read or mapped one by one.
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { type BlockType, dequantize } from '../gguf/blocks.js';
import type { DecoderConfig } from '../nn/config.js';
import { elements, parameterLayout, rowsOf } from '../nn/layout.js';
import { EMBEDDING, HEAD } from '../nn/tensorNames.js';
import { readAll, withFile } from './files.js';
import { readHeader, toFloat32 } from './safetensors.js';
import { readJson } from './tokenizer.js';

export const WEIGHT_DTYPES = ['F32', 'F16', 'BF16'] as const;
export type WeightDtype = (typeof WEIGHT_DTYPES)[number];

/** A parameter in its file: little endian, row major. */
export interface StoredParameter {
  path: string;
  dtype: WeightDtype | BlockType;
  offset: number; // the first byte in the file
  length: number; // in bytes
  shape: number[];
}

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
/** A folder without safetensors may have its weights in this file. */
export const GGUF = 'model.gguf';
const IGNORED = /\.rotary_emb\.inv_freq$/; // a buffer of older checkpoints; it follows from config.json
const CHUNK = 1 << 20;

/**
 * Every parameter of parameterLayout, by name.
 * @throws {GauntletError} BAD_MODEL naming the file, and the tensor that is missing, unknown, or of another shape or dtype
 */
export function describeCheckpoint(folder: string, c: DecoderConfig): Map<string, StoredParameter> {
  const stored = storedTensors(folder);
  const layout = parameterLayout(c);
  const known = new Set(layout.map(({ name }) => name));
  for (const [name, { path }] of stored) {
    if (known.has(name) || IGNORED.test(name)) continue;
    if (name === HEAD && c.tied) checkTied(stored);
    else fail(path, `tensor ${name} belongs to no parameter of this model`);
  }
  return new Map(
    layout.map(({ name, shape }) => {
      const tensor = stored.get(name) ?? fail(join(folder, weightsName(folder)), `no tensor ${name}`);
      if (tensor.shape.join() !== shape.join())
        fail(tensor.path, `tensor ${name} has shape [${tensor.shape}], config.json needs [${shape}]`);
      const dtype = WEIGHT_DTYPES.find((d) => d === tensor.dtype);
      if (!dtype) return fail(tensor.path, `tensor ${name} has dtype ${tensor.dtype}; F32, F16 or BF16 is needed`);
      return [name, { ...tensor, dtype }];
    }),
  );
}

/** Rows `from` to `to` of a parameter in f32; default: all. A vector has rows of one number. */
export function readRows(
  name: string,
  { path, dtype, offset, length, shape }: StoredParameter,
  from = 0,
  to = rowsOf(shape).count,
): Float32Array {
  const bytes = readBytes({ path, dtype, offset, length, shape }, from, to);
  if (isWeightDtype(dtype)) return toFloat32(bytes, dtype, `${path}: ${name}`);
  return dequantize(dtype, bytes, ((to - from) * elements(shape)) / rowsOf(shape).count);
}

/** The bytes of rows `from` to `to`. */
export function readBytes({ path, offset, length, shape }: StoredParameter, from: number, to: number): Uint8Array {
  const rowBytes = length / rowsOf(shape).count;
  return withFile(path, 'r', (fd) => readAll(fd, offset + from * rowBytes, (to - from) * rowBytes, path));
}

export const isWeightDtype = (dtype: string): dtype is WeightDtype =>
  (WEIGHT_DTYPES as readonly string[]).includes(dtype);

/** The names of a folder's weight files: one file, or the shards that the index names. */
export function weightFiles(folder: string): string[] {
  const name = weightsName(folder);
  return name === INDEX ? [...new Set(readIndex(folder).values())].sort() : [name];
}

type StoredTensor = Omit<StoredParameter, 'dtype'> & { dtype: string };

function storedTensors(folder: string): Map<string, StoredTensor> {
  const index = weightsName(folder) === SINGLE ? undefined : readIndex(folder);
  const tensors = new Map<string, StoredTensor>();
  for (const name of weightFiles(folder)) {
    const path = join(folder, name);
    if (!existsSync(path)) fail(join(folder, INDEX), `shard ${name} is not in the folder`);
    const { entries, dataStart } = readHeader(path);
    for (const [tensor, { dtype, shape, begin, end }] of entries) {
      if (index && index.get(tensor) !== name) fail(path, `${INDEX} does not list tensor ${tensor} in this file`);
      tensors.set(tensor, { path, dtype, shape, offset: dataStart + begin, length: end - begin });
    }
  }
  for (const [tensor, name] of index ?? [])
    if (!tensors.has(tensor)) fail(join(folder, name), `no tensor ${tensor}, which ${INDEX} lists in this file`);
  return tensors;
}

/** The file that lists the tensors. Like transformers, this prefers the single file. */
export function weightsName(folder: string): string {
  const found = [SINGLE, INDEX, GGUF].find((name) => existsSync(join(folder, name)));
  if (found) return found;
  throw new GauntletError('BAD_MODEL', `${folder}: neither ${SINGLE} nor ${INDEX}`);
}

/** Reads from the index which shard has each tensor. */
function readIndex(folder: string): Map<string, string> {
  const path = join(folder, INDEX);
  const map = readJson(path).weight_map;
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return fail(path, 'field weight_map is missing');
  const index = new Map(Object.entries(map).map(([tensor, name]) => [tensor, String(name)]));
  const outside = [...index.values()].find((name) => basename(name) !== name || !name.endsWith('.safetensors'));
  if (outside !== undefined) fail(path, `${outside} is not a safetensors file of this folder`);
  return index;
}

/** Refuses a tied model whose output projection differs from its embedding: ignoring the projection would change the model. */
function checkTied(stored: ReadonlyMap<string, StoredTensor>): void {
  const [head, embedding] = [stored.get(HEAD)!, stored.get(EMBEDDING)];
  if (embedding && (head.dtype !== embedding.dtype || !sameBytes(head, embedding)))
    fail(head.path, `tensor ${HEAD} differs from ${EMBEDDING}, but config.json sets tie_word_embeddings`);
}

function sameBytes(a: StoredTensor, b: StoredTensor): boolean {
  if (a.length !== b.length) return false;
  return withFile(a.path, 'r', (fileA) =>
    withFile(b.path, 'r', (fileB) => {
      for (let at = 0; at < a.length; at += CHUNK) {
        const size = Math.min(CHUNK, a.length - at);
        const left = readAll(fileA, a.offset + at, size, a.path);
        if (Buffer.compare(left, readAll(fileB, b.offset + at, size, b.path)) !== 0) return false;
      }
      return true;
    }),
  );
}

function fail(where: string, what: string): never {
  throw new GauntletError('BAD_MODEL', `${where}: ${what}`);
}
