// GGUF, the format of llama.cpp: metadata, then a table of tensors, then their data. The file is untrusted: every length is
// checked against the file and a limit before anything is allocated.
import { closeSync, readSync } from 'node:fs';
import { GauntletError } from '../../core/base/errors.js';
import { openForReading, readAll } from '../hf/files.js';
import { BLOCKS, type BlockType, dequantize } from './blocks.js';

export type GgufValue = number | bigint | boolean | string | GgufValue[];

export interface GgufTensor {
  shape: number[]; // has PyTorch's order: the last dimension is contiguous
  type: BlockType;
  begin: number; // its first byte in the file
}

export const MAGIC = 0x46554747; // spells GGUF
const VERSIONS = [2, 3];
const WINDOW = 1 << 20;
/** These limits are far above every published model. `elements` and `texts` (bytes) are counted over the whole file. */
const LIMITS = { entries: 1 << 16, elements: 1 << 22, text: 1 << 22, texts: 1 << 26, dimensions: 4 };

/** The bytes of each scalar type of metadata, and how to read it. */
const SCALARS: Readonly<Record<number, [bytes: number, read: (view: DataView) => number | bigint | boolean]>> = {
  0: [1, (view) => view.getUint8(0)],
  1: [1, (view) => view.getInt8(0)],
  2: [2, (view) => view.getUint16(0, true)],
  3: [2, (view) => view.getInt16(0, true)],
  4: [4, (view) => view.getUint32(0, true)],
  5: [4, (view) => view.getInt32(0, true)],
  6: [4, (view) => view.getFloat32(0, true)],
  7: [1, (view) => view.getUint8(0) !== 0],
  10: [8, (view) => view.getBigUint64(0, true)],
  11: [8, (view) => view.getBigInt64(0, true)],
  12: [8, (view) => view.getFloat64(0, true)],
};
export const [TEXT, ARRAY] = [8, 9] as const;

/** An open file, which must be closed. @throws {GauntletError} BAD_MODEL naming the file and what is wrong */
export class GgufFile {
  readonly metadata = new Map<string, GgufValue>();
  readonly tensors = new Map<string, GgufTensor>();
  private readonly fd: number;

  constructor(readonly path: string) {
    const { fd, size } = openForReading(path);
    this.fd = fd;
    try {
      this.readHeader(size);
    } catch (error) {
      closeSync(this.fd);
      throw error;
    }
  }

  /** Rows of a tensor in f32; a row is the last dimension. @throws {GauntletError} BAD_MODEL if the file has become shorter */
  rows(name: string, from: number, to: number): Float32Array {
    const { shape, type, begin } = this.tensors.get(name)!;
    const width = shape.at(-1)!;
    const [weights, bytes] = BLOCKS[type];
    const rowBytes = (width / weights) * bytes;
    const data = readAll(this.fd, begin + from * rowBytes, (to - from) * rowBytes, this.path);
    return dequantize(type, data, (to - from) * width);
  }

  close(): void {
    closeSync(this.fd);
  }

  private readHeader(size: number): void {
    const input = new Input(this.fd, size, this.path);
    if (size < 24 || input.number(4) !== MAGIC) throw bad(this.path, 'not a GGUF file');
    const version = input.number(4);
    if (version % (1 << 16) === 0) throw bad(this.path, 'it is big-endian: convert it with gguf-convert-endian');
    if (!VERSIONS.includes(version)) throw bad(this.path, `GGUF version ${version} is not supported, only 2 and 3`);
    const tensors = input.count(8, LIMITS.entries, 'tensors');
    const entries = input.count(8, LIMITS.entries, 'metadata entries');
    for (let i = 0; i < entries; i++) {
      const key = input.text();
      this.metadata.set(key, input.value(input.number(4), key));
    }
    const table: [name: string, tensor: GgufTensor][] = [];
    for (let i = 0; i < tensors; i++) table.push(this.readTensor(input));
    const alignment = Number(this.metadata.get('general.alignment') ?? 32);
    if (!Number.isSafeInteger(alignment) || alignment < 1) throw bad(this.path, `general.alignment is ${alignment}`);
    const dataStart = Math.ceil(input.position / alignment) * alignment;
    for (const [name, { shape, type, begin }] of table) {
      const [weights, bytes] = BLOCKS[type];
      const end = dataStart + begin + (shape.reduce((n, d) => n * d, 1) / weights) * bytes;
      if (!(end <= size)) throw bad(this.path, `tensor ${name} ends beyond the file: is the download complete?`);
      if (this.tensors.has(name)) throw bad(this.path, `tensor ${name} is there twice`);
      this.tensors.set(name, { shape, type, begin: dataStart + begin });
    }
  }

  private readTensor(input: Input): [string, GgufTensor] {
    const name = input.text();
    const dimensions = input.count(4, LIMITS.dimensions, `dimensions of ${name}`);
    const shape = Array.from({ length: dimensions }, () => input.number(8)).reverse();
    const code = input.number(4);
    const begin = input.number(8);
    const types = Object.keys(BLOCKS) as BlockType[];
    const type = types.find((known) => BLOCKS[known][2] === code);
    if (!type)
      throw bad(this.path, `tensor ${name} has type ${code}, which is not supported, only ${types.join(', ')}`);
    if (dimensions === 0 || shape.at(-1)! % BLOCKS[type][0] !== 0)
      throw bad(this.path, `tensor ${name} of type ${type} has shape [${shape}]`);
    return [name, { shape, type, begin }];
  }
}

/** Reads forward, a window at a time. */
class Input {
  position = 0;
  private window = new Uint8Array(0);
  private windowStart = 0;
  private elements = 0; // counted over all arrays
  private texts = 0; // bytes of all texts

  constructor(
    private readonly fd: number,
    private readonly size: number,
    private readonly path: string,
  ) {}

  number(bytes: 4 | 8): number {
    const view = this.take(bytes);
    const value = bytes === 4 ? view.getUint32(0, true) : Number(view.getBigUint64(0, true));
    if (!Number.isSafeInteger(value))
      throw bad(this.path, `the number ${value} at byte ${this.position - bytes} is too large`);
    return value;
  }

  count(bytes: 4 | 8, limit: number, what: string): number {
    const value = this.number(bytes);
    if (value > limit) throw bad(this.path, `it has ${value} ${what}, at most ${limit} are supported`);
    return value;
  }

  text(): string {
    const bytes = this.count(8, LIMITS.text, 'bytes in a text');
    this.texts += bytes;
    if (this.texts > LIMITS.texts) throw bad(this.path, `its texts have more than ${LIMITS.texts} bytes together`);
    const view = this.take(bytes);
    return new TextDecoder().decode(view);
  }

  value(type: number, key: string): GgufValue {
    if (type === TEXT) return this.text();
    const scalar = SCALARS[type];
    if (scalar) return scalar[1](this.take(scalar[0]));
    if (type !== ARRAY) throw bad(this.path, `${key}: metadata of type ${type} is not supported`);
    const inner = this.number(4);
    if (inner === ARRAY) throw bad(this.path, `${key}: an array of arrays is not supported`);
    const length = this.count(8, LIMITS.elements, `elements in ${key}`);
    this.elements += length;
    if (this.elements > LIMITS.elements)
      throw bad(this.path, `its arrays have more than ${LIMITS.elements} elements together`);
    const out: GgufValue[] = [];
    for (let i = 0; i < length; i++) out.push(this.value(inner, key));
    return out;
  }

  private take(bytes: number): DataView {
    if (this.position + bytes > this.size) throw bad(this.path, 'it ends within its header: is the download complete?');
    let at = this.position - this.windowStart;
    if (at + bytes > this.window.length) {
      this.window = new Uint8Array(Math.min(this.size - this.position, Math.max(WINDOW, bytes)));
      readSync(this.fd, this.window, 0, this.window.length, this.position);
      this.windowStart = this.position;
      at = 0;
    }
    this.position += bytes;
    return new DataView(this.window.buffer, at, bytes);
  }
}

const bad = (path: string, what: string): GauntletError => new GauntletError('BAD_MODEL', `${path}: ${what}`);
