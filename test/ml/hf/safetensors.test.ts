import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../../core/base/errors.js';
import { parseSafetensors, readHeader, writeSafetensors } from '../../../ml/hf/safetensors.js';
import { temporaryFolder } from '../../infra/support.js';

/** Builds a file from a header object and a data section without the code under test. */
function file(header: unknown, data: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const out = new Uint8Array(8 + json.length + data.length);
  new DataView(out.buffer).setBigUint64(0, BigInt(json.length), true);
  out.set(json, 8);
  out.set(data, 8 + json.length);
  return out;
}
const entry = (dtype: string, shape: number[], begin: number, end: number) => ({
  dtype,
  shape,
  data_offsets: [begin, end],
});
const refused = (bytes: Uint8Array, pattern: RegExp) =>
  assert.throws(
    () => parseSafetensors(bytes, 'm.safetensors'),
    (error: unknown) => error instanceof GauntletError && error.code === 'BAD_MODEL' && pattern.test(error.message),
  );

describe('safetensors', () => {
  it('are read back unchanged, and their bytes do not depend on the order of insertion', () => {
    const a = { shape: [2, 3], data: Float32Array.of(1, -2, 3.5, 0, 1e-30, -7) };
    const b = { shape: [1], data: Float32Array.of(9) };
    const bytes = writeSafetensors(
      new Map([
        ['b', b],
        ['a', a],
      ]),
    );
    assert.deepEqual(
      bytes,
      writeSafetensors(
        new Map([
          ['a', a],
          ['b', b],
        ]),
      ),
    );
    const read = parseSafetensors(bytes, 'x');
    assert.deepEqual([...read.get('a')!.data], [...a.data]);
    assert.deepEqual(read.get('a')!.shape, [2, 3]);
    assert.deepEqual([...read.get('b')!.data], [9]);
    assert.equal((8 + Number(new DataView(bytes.buffer).getBigUint64(0, true))) % 8, 0);
  });

  it('convert bfloat16 and float16 to f32 exactly', () => {
    const halves = Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7c00, 0x3555); // 1, −2, 2^−24, ∞, 0.33325195
    const brain = Uint16Array.of(0x3f80, 0xc040); // 1, −3
    const data = new Uint8Array(14);
    data.set(new Uint8Array(halves.buffer), 0);
    data.set(new Uint8Array(brain.buffer), 10);
    const read = parseSafetensors(file({ h: entry('F16', [5], 0, 10), b: entry('BF16', [2], 10, 14) }, data), 'x');
    assert.deepEqual([...read.get('h')!.data], [1, -2, 2 ** -24, Number.POSITIVE_INFINITY, 0.333251953125]);
    assert.deepEqual([...read.get('b')!.data], [1, -3]);
  });

  it('are refused if the file is truncated, or has overlaps, gaps, wrong sizes or no header', () => {
    const ok = { a: entry('F32', [2], 0, 8), b: entry('F32', [1], 8, 12) };
    assert.equal(parseSafetensors(file(ok, new Uint8Array(12)), 'x').size, 2);
    refused(new Uint8Array(5), /truncated/);
    refused(file(ok, new Uint8Array(12)).subarray(0, 40), /truncated/);
    refused(file(ok, new Uint8Array(11)), /truncated: tensor b/);
    refused(file({ ...ok, b: entry('F32', [1], 4, 8) }, new Uint8Array(12)), /tensors (a and b|b and a) overlap/);
    refused(file({ ...ok, b: entry('F32', [1], 12, 16) }, new Uint8Array(16)), /unused bytes before tensor b/);
    refused(file(ok, new Uint8Array(13)), /1 bytes after the last tensor/);
    refused(
      file({ a: entry('F32', [3], 0, 8) }, new Uint8Array(8)),
      /tensor a spans 8 bytes, its shape and dtype need 12/,
    );
    refused(file({ a: entry('F9', [2], 0, 8) }, new Uint8Array(8)), /tensor a has dtype F9/);
    refused(file({ a: entry('I64', [1], 0, 8) }, new Uint8Array(8)), /dtype I64; F32, F16 or BF16/);
    refused(file({ a: { dtype: 'F32', shape: [-2], data_offsets: [0, 8] } }, new Uint8Array(8)), /no valid shape/);
    refused(file({ a: { dtype: 'F32', shape: [2], data_offsets: [0] } }, new Uint8Array(8)), /data_offsets/);
    refused(file('{"a":', new Uint8Array(0)), /header is not JSON/);
    refused(file([], new Uint8Array(0)), /not an object/);
  });

  it('reads the header of a file on disk', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'model.safetensors');
    writeFileSync(path, writeSafetensors(new Map([['w', { shape: [2, 1], data: Float32Array.of(4, 5) }]])));
    assert.deepEqual([...readHeader(path).entries], [['w', { dtype: 'F32', shape: [2, 1], begin: 0, end: 8 }]]);
    writeFileSync(path, Uint8Array.of(1, 2, 3));
    assert.throws(() => readHeader(path), /truncated/);
    assert.throws(() => readHeader(join(folder, 'none')), /not found/);
  });

  it('refuses to write data that does not fill its shape', () => {
    assert.throws(() => writeSafetensors(new Map([['a', { shape: [3], data: Float32Array.of(1) }]])), RangeError);
  });
});
