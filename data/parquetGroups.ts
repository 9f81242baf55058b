// Unpacks the row groups of a Parquet file (docs/adr/0036-parquet.md). A file says itself how large its pages are and how many
// values they hold, and a few bytes can claim gigabytes. So the headers of all pages of a row group are compared with limits
// before any of them is unpacked. A dictionary holds a text once for all rows, so rows are counted again before they are sent.
import { open } from 'node:fs/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type RowGroup,
  type SchemaTree,
} from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { ZSTDDecoder } from 'zstddec/stream';
import { mostBytes } from './unpacked.js';

/** Limits of a row group, of the footer, and of the time for a file. Values count four times more for each list or struct around them. */
export const PARQUET_LIMITS = { bytes: 1 << 30, values: 20_000_000, footerBytes: 16 << 20, seconds: 120 };
export type ParquetLimits = typeof PARQUET_LIMITS;

const MAX_NESTING = 64; // the depth of columns

/** A fault of a file. The message continues a sentence that begins with the file's name. */
export class ParquetFault extends Error {}

/** The names of the columns of a Parquet file that are read; absent: all. The first row has null for others. */
export type Wanted = ReadonlySet<string>;
/** Columns whose names suggest tests. They are always read, so that a message can say that they are not used. */
export const MAY_HOLD_TESTS = /test|input_output/i;

/** Some rows of a group as the reader gives them: ints of 64 bits are bigints, times are dates. */
export interface SomeRows {
  rows: Record<string, unknown>[];
  schema: SchemaTree; // has the columns that are read
}
const BATCH = { rows: 1000, bytes: 1 << 24 }; // the most rows and bytes of a batch; a single row may be larger

export type GroupsTask = { file: string; limits: ParquetLimits; wanted: Wanted | undefined };

/** @throws ParquetFault, or an error of the file system */
export async function* readGroups({ file, limits, wanted }: GroupsTask): AsyncGenerator<SomeRows> {
  await zstd.init();
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const slice = async (from: number, to = size): Promise<ArrayBuffer> => {
      if (!(from >= 0 && to >= from && to <= size)) throw new ParquetFault('names bytes that it does not have');
      const bytes = new Uint8Array(to - from);
      for (let at = 0; at < bytes.length; ) {
        const { bytesRead } = await handle.read(bytes, at, bytes.length - at, from + at);
        if (bytesRead === 0) throw new ParquetFault('ends too early');
        at += bytesRead;
      }
      return bytes.buffer;
    };
    const source: AsyncBuffer = { byteLength: size, slice };
    const metadata = await readable(() => readMetadata(source, limits));
    const whole = await readable(async () => schemaOf(metadata));
    const isRead = (name: string): boolean => wanted === undefined || wanted.has(name) || MAY_HOLD_TESTS.test(name);
    const names = whole.children.map(({ element }) => element.name);
    const schema = { ...whole, children: whole.children.filter(({ element }) => isRead(element.name)) };
    let unread = Object.fromEntries(names.filter((name) => !isRead(name)).map((name) => [name, null])); // messages name these columns
    const most = mostBytes(size);
    const own = { ...limits, bytes: Math.min(limits.bytes, most), values: Math.min(limits.values, most / 8) };
    let bytes = 0;
    for (const group of metadata.row_groups) {
      const columns = group.columns.filter(({ meta_data: column }) => isRead(column!.path_in_schema[0]!));
      const rows = await readable(async () => {
        await checkGroup({ ...group, columns }, source, own);
        const only = { metadata: { ...metadata, row_groups: [group] }, columns: names.filter(isRead) };
        return parquetReadObjects({ file: source, utf8: false, compressors: COMPRESSORS, parsers: PARSERS, ...only });
      });
      const sizes = rows.map(sizeOf);
      bytes = sizes.reduce((sum, one) => sum + one, bytes);
      if (bytes > most) throw new ParquetFault(`has rows of more than ${most} bytes: write it as JSON lines`);
      for (let from = 0, to = 0; from < rows.length; from = to) {
        for (let held = 0; to < rows.length && to - from < BATCH.rows && held < BATCH.bytes; to++) held += sizes[to]!;
        const some = rows.slice(from, to);
        yield { rows: [{ ...unread, ...some[0] }, ...some.slice(1)], schema };
        unread = {};
      }
    }
  } finally {
    await handle.close();
  }
}

/** The bytes of a decoded value, roughly. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (ArrayBuffer.isView(value)) return 16 + value.byteLength;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.values(value).reduce<number>((sum, inner) => sum + sizeOf(inner), 16);
}

/** Converts errors of the reader to faults of the file. */
async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ParquetFault || (error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    throw new ParquetFault(`is no readable Parquet file: ${(error as Error).message}`);
  }
}

async function readMetadata(source: AsyncBuffer, { footerBytes }: ParquetLimits): Promise<FileMetaData> {
  const { byteLength } = source;
  if (byteLength < 12) throw new ParquetFault('is a Parquet file that ends too early');
  const tail = new DataView(await source.slice(byteLength - 8, byteLength));
  if (tail.getUint32(4) !== 0x50415231) throw new ParquetFault('ends too early: it does not end with PAR1');
  if (tail.getUint32(0, true) > footerBytes) {
    throw new ParquetFault(`has a footer of more than ${footerBytes} bytes`);
  }
  return parquetMetadataAsync(source, { geoparquet: false });
}

function schemaOf(metadata: FileMetaData): SchemaTree {
  const schema = parquetSchema(metadata);
  const depth = (node: SchemaTree): number => 1 + Math.max(0, ...node.children.map(depth));
  // a variant holds pointers into itself, so a few bytes can be a tree of any size
  if (metadata.schema.some(({ logical_type }) => logical_type?.type === 'VARIANT'))
    throw new ParquetFault('has a column of the type VARIANT: write it as text');
  if (depth(schema) > MAX_NESTING) throw new ParquetFault(`has columns nested more than ${MAX_NESTING} deep`);
  // nobody would wait for a column that the schema does not have: its failure would end the process
  const leaves = (node: SchemaTree): string[] =>
    node.children.length === 0 ? [JSON.stringify(node.path)] : node.children.flatMap(leaves);
  const known = schema.children.flatMap(leaves);
  for (const { columns } of metadata.row_groups) {
    const named = columns.map(({ meta_data: column }) => JSON.stringify(column?.path_in_schema ?? []));
    if (new Set([...known, ...named]).size !== named.length || known.length !== named.length)
      throw new ParquetFault('has other columns than its schema');
  }
  return schema;
}

async function checkGroup({ columns, num_rows }: RowGroup, source: AsyncBuffer, limits: ParquetLimits): Promise<void> {
  let bytes = 0;
  let values = 0;
  const take = (size: number, count: number): void => {
    if (!(size >= 0 && count >= 0)) throw new ParquetFault('has a page or a row group of a negative size');
    bytes += size;
    values += count;
    if (bytes > limits.bytes || values > limits.values)
      throw new ParquetFault(
        `has a row group of more than ${limits.bytes} bytes or ${limits.values} values: write it with smaller row groups, or as JSON lines`,
      );
  };
  const sizes = columns.map(({ meta_data: column }) => Number(column?.total_uncompressed_size ?? 0));
  for (const size of sizes) take(size, 0); // checks the footer's sizes before anything is read
  [bytes, values] = [0, 0];
  take(0, Number(num_rows));
  for (const { meta_data: column, file_path, crypto_metadata, encrypted_column_metadata } of columns) {
    if (!column || file_path || crypto_metadata || encrypted_column_metadata)
      throw new ParquetFault('is encrypted, or has columns in other files');
    if (!CODECS.has(column.codec)) throw new ParquetFault(`is compressed with ${column.codec}: use zstd or snappy`);
    const from = Number(column.dictionary_page_offset || column.data_page_offset);
    const view = new DataView(await source.slice(from, from + Number(column.total_compressed_size)));
    const reader = { view, offset: 0 };
    const weight = 4 * column.path_in_schema.length - 3;
    let rows = 0; // an upper bound, because a row has one value of a column or more
    while (reader.offset < view.byteLength - 1) {
      const header = parquetHeader(reader);
      const { data_page_header: first, data_page_header_v2: second, dictionary_page_header: dictionary } = header;
      const inRows = first?.num_values ?? second?.num_values ?? 0;
      take(header.uncompressed_page_size, weight * inRows + (dictionary?.num_values ?? 0));
      take(header.compressed_page_size, 0);
      rows += inRows;
      reader.offset += header.compressed_page_size;
    }
    if (rows < num_rows) throw new ParquetFault('has fewer rows than it says');
  }
}

const zstd = new ZSTDDecoder();
/** Sizes were checked. The reader itself knows snappy, and compares the length of each page. */
const COMPRESSORS: Compressors = {
  GZIP: (packed, length) => gunzipSync(packed, { maxOutputLength: Math.max(1, length) }),
  BROTLI: (packed, length) => brotliDecompressSync(packed, { maxOutputLength: Math.max(1, length) }),
  ZSTD: (packed, length) => (length === 0 ? new Uint8Array() : zstd.decode(packed, length)), // the page says that it is empty
};
const CODECS = new Set(['UNCOMPRESSED', 'SNAPPY', ...Object.keys(COMPRESSORS)]);

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
export const textOf = (bytes: Uint8Array): string => {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new ParquetFault('has text that is not UTF-8');
  }
};

/** JSON columns stay text, as in files of JSON lines. */
const PARSERS = {
  stringFromBytes: (bytes: Uint8Array) => bytes && textOf(bytes), // null has no bytes
  jsonFromBytes: (bytes: Uint8Array) => bytes && textOf(bytes),
};
