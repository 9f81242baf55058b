// Problem files that are Parquet, or packed with zstd. The files of ./parquet were written by pyarrow (make.py); hostile ones
// are made here.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ColumnMetaData, type FileMetaData, parquetMetadata } from 'hyparquet';
import { ByteWriter, parquetWriteBuffer } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import type { GauntletError } from '../../core/base/errors.js';
import { valueOfJson } from '../../data/exactJson.js';
import { type ParquetRow, readParquet } from '../../data/parquet.js';
import { PARQUET_LIMITS } from '../../data/parquetGroups.js';
import { readRecords, type SourceRecord } from '../../data/records.js';
import { ROOT } from '../../infra/root.mjs';
import { problemFiles, readSet, refusesInOneLine } from '../support/entries.js';

const written = (name: string): string => join(ROOT, 'test/data/parquet', `${name}.parquet`);

describe('a problem file', () => {
  const { write } = problemFiles();
  const file = (name: string, content: string | Uint8Array): string => write(content, name);
  const recordsOf = async (path: string): Promise<SourceRecord[]> => {
    const out: SourceRecord[] = [];
    for await (const record of readRecords(path)) out.push(record);
    return out;
  };
  const refused = (path: string, message: RegExp): Promise<void> => refusesInOneLine(recordsOf(path), message);

  describe('in the format Parquet', () => {
    for (const name of ['snappy', 'zstd', 'gzip', 'brotli', 'none', 'v2'])
      it(`gives the same rows with pages of kind ${name}`, async () => {
        const records = await recordsOf(written(name));
        assert.deepEqual(
          records.map(({ place }) => place),
          Array.from({ length: 10 }, (_, i) => `row ${i + 1}`),
        );
        const rows = records.map(({ json }) => json as Record<string, unknown>);
        assert.deepEqual(rows[2], {
          id: 'row-2',
          text: 'Größe 2 数',
          count: 2,
          share: 2,
          ok: true,
          tests: ['assert f(2) == 2', null],
          cases: [{ input: '2\n', output: '2', scores: [1, 0.5] }],
          info: { language: 'python', deep: { name: 'n2' } },
          both: { input: ['2'], output: ['2'] },
          at: '2025-01-02T03:04:02.000Z',
          raw: '/wI=',
        });
        assert.deepEqual([rows[3]!.text, rows[5]!.tests, rows[6]!.cases], [null, [], null]);
        const exact = records[4]!.exact() as Record<string, unknown>;
        assert.deepEqual(
          [exact.count, exact.share, (exact.cases as { scores: unknown }[])[0]!.scores].map(valueOfJson),
          [{ i: '0x1000000000000004' }, { f: '4.0' }, [{ f: '1.0' }, { f: '1.0' }]],
        );
      });

    it('is refused if it has pages of LZ4', () =>
      refused(written('lz4'), /^lz4\.parquet: is compressed with LZ4_RAW: use zstd or snappy$/));

    const whole = (): Buffer => readFileSync(written('zstd'));
    /** Replaces the footer of the file. */
    const withMetadata = (bytes: Uint8Array, change: (metadata: FileMetaData) => void): Uint8Array => {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const body = bytes.subarray(0, bytes.byteLength - 8 - view.getUint32(bytes.byteLength - 8, true));
      const metadata = parquetMetadata(bytes);
      change(metadata);
      const writer = new ByteWriter();
      writer.appendBytes(body);
      writeMetadata(writer, metadata as Parameters<typeof writeMetadata>[1]);
      writer.appendUint32(0x31524150);
      return new Uint8Array(writer.getBuffer());
    };
    const texts = (data: string[]): Uint8Array =>
      new Uint8Array(parquetWriteBuffer({ columnData: [{ name: 'id', data, type: 'STRING' }] }));

    it('is refused if it is damaged, with one line that repeats nothing of the file', async () => {
      const bytes = whole();
      for (const end of [4, 8, 11, 20, 600, bytes.length - 1])
        await refused(
          file('cut.parquet', bytes.subarray(0, end)),
          /^cut\.parquet: (ends too early: it does not end with PAR1|is a Parquet file that ends too early)$/,
        );
      for (let at = 4; at < bytes.length; at += 397) {
        const changed = Buffer.from(bytes);
        for (let i = at; i < Math.min(at + 12, bytes.length); i++) changed[i] = 0xa5 ^ i;
        const path = file('changed.parquet', changed);
        await recordsOf(path).catch((error: GauntletError) => {
          assert.equal(error.code, 'BAD_INPUT', error.stack);
          assert.match(error.message, /^changed\.parquet: [^\n]{1,400}$/);
        });
      }
    });

    it('may be a table without rows', () => refused(file('none.parquet', texts([])), /: is empty$/));

    it('is refused if it claims gigabytes, before they are allocated', async () => {
      type Change = (group: FileMetaData['row_groups'][0], column: ColumnMetaData) => unknown;
      const large = 10n ** 10n;
      const claims: [RegExp, Change][] = [
        [/of more than 16777216 bytes/, (_, column) => Object.assign(column, { total_uncompressed_size: large })],
        [/of more than \d+ bytes or 2097152 values/, (group) => Object.assign(group, { num_rows: large })],
        [/a row group of a negative size/, (group) => Object.assign(group, { num_rows: -1n })],
        [/bytes that it does not have/, (_, column) => Object.assign(column, { total_compressed_size: large })],
        [/: has fewer rows than it says$/, (group) => Object.assign(group, { num_rows: 5n })],
      ];
      for (const [message, change] of claims) {
        const claiming = withMetadata(texts(['a', 'b']), ({ row_groups: [group] }) =>
          change(group!, group!.columns[0]!.meta_data!),
        );
        await refused(file('claims.parquet', claiming), message);
      }
      const header: Parameters<typeof writePageHeader>[1] = {
        type: 'DATA_PAGE_V2',
        uncompressed_page_size: 2 ** 31 - 1,
        compressed_page_size: 0,
        data_page_header_v2: {
          num_values: 2 ** 31 - 1,
          num_nulls: 0,
          num_rows: 2,
          encoding: 'PLAIN',
          definition_levels_byte_length: 0,
          repetition_levels_byte_length: 0,
          is_compressed: true,
        },
      };
      const writer = new ByteWriter();
      writePageHeader(writer, header);
      const page = new Uint8Array(writer.getBuffer());
      const claiming = withMetadata(texts(['a', 'b']), ({ row_groups: [group] }) => {
        group!.columns[0]!.meta_data!.total_compressed_size = BigInt(page.length);
      });
      claiming.set(page, 4);
      await refused(file('page.parquet', claiming), /row group of more than 16777216 bytes or 2097152 values/);
    });

    it('is refused if few bytes expand to many values', async () => {
      const path = file('values.parquet', texts(new Array<string>(200_000).fill('the same')));
      const rows = async (values: number): Promise<number> => {
        let count = 0;
        for await (const _ of readParquet(path, undefined, { ...PARQUET_LIMITS, values })) count++;
        return count;
      };
      assert.equal(await rows(1_000_000), 200_000);
      await assert.rejects(rows(100_000), /row group of more than \d+ bytes or 100000 values: write it with smaller/);
    });

    it('is refused if one text of a dictionary fills far more rows than problems need', async () => {
      const path = file('rows.parquet', texts(new Array<string>(2000).fill('x'.repeat(20_000))));
      assert.ok(readFileSync(path).length < 100_000);
      await refused(path, /: has rows of more than 16777216 bytes: write it as JSON lines$/);
    });

    it('gives the requested columns, and the names of the others in its first row', async () => {
      const columnData = ['id', 'junk'].map((name) => ({ name, data: ['a', 'b'], type: 'STRING' as const }));
      const path = file('two.parquet', new Uint8Array(parquetWriteBuffer({ columnData })));
      const rows: unknown[] = [];
      for await (const { json } of readRecords(path, new Set(['id', 'none']))) rows.push(json);
      assert.deepEqual(rows, [{ id: 'a', junk: null }, { id: 'b' }]);
      const other = file('other.parquet', new Uint8Array(parquetWriteBuffer({ columnData: columnData.slice(1) })));
      await assert.rejects(readSet(other), { message: /row 1: unknown format \(its fields: junk\)/ });
    });

    it('is refused if a row group takes too long, as a damaged one may', async () => {
      const path = file('slow.parquet', texts(new Array<string>(500_000).fill('the same')));
      const reading = readParquet(path, undefined, { ...PARQUET_LIMITS, seconds: 0.01 });
      await assert.rejects(reading.next(), /takes more than 0\.01 s to read: is it damaged\?/);
    });

    it('is read one row group after the other', async () => {
      const path = file(
        'groups.parquet',
        new Uint8Array(
          parquetWriteBuffer({
            columnData: [{ name: 'id', data: Array.from({ length: 50 }, (_, i) => `${i}`), type: 'STRING' }],
            rowGroupSize: [10],
          }),
        ),
      );
      const reading = readParquet(path)[Symbol.asyncIterator]();
      const first = (await reading.next()).value as ParquetRow;
      assert.deepEqual(first.json, { id: '0' });
      const bytes = readFileSync(path);
      const { row_groups } = parquetMetadata(new Uint8Array(bytes));
      const from = Number(row_groups[1]!.columns[0]!.meta_data!.data_page_offset);
      writeFileSync(path, bytes.fill(0xff, from, from + 20)); // the second group is not read yet
      for (let i = 1; i < 10; i++) assert.deepEqual(((await reading.next()).value as ParquetRow).json, { id: `${i}` });
      await assert.rejects(reading.next(), /is no readable Parquet file/);
    });
  });

  describe('packed with zstd', () => {
    // `zstd -19` wrote two frames one after the other
    const PACKED = Buffer.from('KLUv/QRokQAAeyJhIjogMX0KeyJhIjogMn0KP4Yujw==', 'base64');
    const block = (bytes: number, last: boolean): Buffer => {
      const head = (bytes << 3) | (1 << 1) | Number(last); // repeats one byte
      return Buffer.from([head & 255, (head >> 8) & 255, head >> 16, 0x20]);
    };

    it('is read like other files, even in many frames and with frames to skip', async () => {
      const skip = Buffer.from([0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
      const frames = new Array<Buffer>(10_000).fill(PACKED);
      const skipped = new Array<Buffer>(100_000).fill(skip);
      for (const all of [
        [PACKED, PACKED],
        [skip, PACKED, skip, skip, PACKED, skip],
        [...skipped, ...frames],
      ]) {
        const records = await recordsOf(file('rows.jsonl.zst', Buffer.concat(all)));
        assert.equal(records.length, 2 * all.filter((frame) => frame === PACKED).length);
        assert.deepEqual([records[0]!.json, records.at(-1)!.json], [{ a: 1 }, { a: 2 }]);
      }
    });

    it('is refused if it is cut or changed', async () => {
      for (const rest of [
        PACKED.subarray(0, 20),
        PACKED.subarray(0, -1),
        Buffer.of(0x5e, 0x2a, 0x4d, 0x18, 9, 0, 0, 0),
      ])
        await refused(file('cut.jsonl.zst', Buffer.concat([PACKED, rest])), /: is damaged: Incomplete stream/);
      const changed = Buffer.from(PACKED);
      changed[15] = 0x33; // "a": 3 instead of 1
      await refused(file('changed.jsonl.zst', changed), /: is damaged: its data, its checksum, or/);
      await refused(file('more.jsonl.zst', Buffer.concat([PACKED, Buffer.from('{}\n')])), /: is damaged: /);
      await refused(
        file('bad.jsonl.zst', Buffer.concat([PACKED.subarray(0, 6), Buffer.alloc(30, 255)])),
        /: is damaged/,
      );
    });

    it('is refused if it expands to far more bytes', async () => {
      const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]); // has a window of 2 MB
      const blocks = Array.from({ length: 4000 }, (_, i) => block(1 << 17, i === 3999)); // expands 16 kB to 512 MB
      const path = file('bomb.jsonl.zst', Buffer.concat([head, ...blocks]));
      await refused(path, /^bomb\.jsonl\.zst: unpacks to more than 16777216 bytes, .*; unpack it if that is right$/);
    });
  });
});
