// Problem files that would fill the memory or never end if only single elements were limited.
import assert from 'node:assert/strict';
import { createWriteStream, rmSync, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, deflateSync, gzipSync } from 'node:zlib';
import { parseSignature } from '../../core/parse/signature.js';
import { parseExactJson, parseJson } from '../../data/exactJson.js';
import { loadProblems } from '../../data/problems.js';
import { readRecords } from '../../data/records.js';
import { problemFiles, readSet, refusesInOneLine } from '../support/entries.js';

const PIECE = Buffer.alloc(1 << 20, 'x');

describe('the reader of odd problem files', () => {
  const { write, path: inFolder } = problemFiles();
  const file = (name: string, content: string | Buffer): string => write(content, name);
  const readAll = async (path: string): Promise<number> => {
    let count = 0;
    for await (const _ of readRecords(path)) count++;
    return count;
  };
  const zipped = async (name: string, chunk: Buffer, count: number): Promise<string> => {
    const path = inFolder(name);
    const chunks = function* (): Generator<Buffer> {
      for (let i = 0; i < count; i++) yield chunk;
    };
    await pipeline(Readable.from(chunks()), createGzip(), createWriteStream(path));
    return path;
  };

  it('refuses a gzipped line of 600 MB', async () => {
    const path = await zipped('line.jsonl.gz', PIECE, 600);
    assert.ok(statSync(path).size < 1 << 20);
    const message = /^line\.jsonl\.gz: unpacks to more than 1\d{8} bytes, .*; unpack it if that is right$/;
    await assert.rejects(readAll(path), { code: 'BAD_INPUT', message });
    await assert.rejects(loadProblems(path), { code: 'BAD_INPUT', message });
  });

  it('refuses a gzipped file of endless short lines', async () => {
    const path = await zipped('bomb.jsonl.gz', Buffer.from(`${' '.repeat(1023)}\n`.repeat(1024)), 600);
    const message = /^bomb\.jsonl\.gz: unpacks to more than \d+ bytes/;
    await assert.rejects(readAll(path), { code: 'BAD_INPUT', message });
  });

  it('refuses one JSON text of 300 MB over many lines', async () => {
    const path = await zipped('text.json.gz', Buffer.from(`[${' '.repeat(1 << 20)}\n`), 1);
    await assert.rejects(readAll(path), { code: 'BAD_INPUT', message: /is not JSON/ });
    const large = inFolder('large.json');
    const chunks = function* (): Generator<Buffer> {
      yield Buffer.from('[\n');
      for (let i = 0; i < 300; i++) yield Buffer.from(`"${'x'.repeat((1 << 20) - 4)}",\n`);
    };
    await pipeline(Readable.from(chunks()), createWriteStream(large));
    await assert.rejects(readAll(large), {
      code: 'BAD_INPUT',
      message: /is one JSON text of more than 268435456 char/,
    });
    rmSync(large);
  });

  it('accepts an ordinary gzipped file', async () => {
    assert.equal(await readAll(file('ok.jsonl.gz', gzipSync('{"a": 1}\n{"a": 2}\n'))), 2);
    await assert.rejects(readAll(file('cut.jsonl.gz', gzipSync('{"a": 1}\n').subarray(0, 20))), { code: 'BAD_INPUT' });
  });

  it('refuses millions of lists in one record', async () => {
    const path = file('lists.jsonl', `{"a":[[]${',[]'.repeat(5_000_000)}]}\n`);
    await assert.rejects(readAll(path), { code: 'BAD_INPUT', message: /has more than 4000000 lists and objects/ });
  });

  it('repeats nothing of a file that is not JSON in its message', async () => {
    const path = file('shadow', 'root:*:secret:1\n');
    await refusesInOneLine(loadProblems(path), /^shadow: line 1 is not JSON(?!.*(root|secret))/);
  });

  describe('of LiveCodeBench', () => {
    const record = {
      question_id: 'q',
      question_content: 'Adds.',
      public_test_cases: '[]',
      private_test_cases: '[]' as unknown,
      reference_solution: 'print(1)',
    };
    const pickled = (text: string): string => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(Buffer.byteLength(text));
      return deflateSync(
        Buffer.concat([Buffer.from([0x80, 4, 0x58]), length, Buffer.from(text), Buffer.from('.')]),
      ).toString('base64');
    };
    const read = (fields: object) => readSet(write({ ...record, ...fields }, 'lcb.jsonl'), { format: 'livecodebench' });
    const test = { input: '1', output: '1', testtype: 'stdin' };
    const many = (count: number): string => `[${Array.from({ length: count }, () => JSON.stringify(test)).join()}]`;

    it('refuses millions of tests in a megabyte, too many tests, and a reference of a megabyte', async () => {
      const compressed = pickled(`[{}${',{}'.repeat(3_900_000)}]`);
      assert.ok(compressed.length < 1 << 20);
      const cases: [fields: object, message: RegExp][] = [
        [{ private_test_cases: compressed }, /`private_test_cases`: must have at most 10000 tests/],
        [{ private_test_cases: pickled(`[{}${',{}'.repeat(5_000_000)}]`) }, /`private_test_cases`: is not JSON/],
        [{ public_test_cases: many(10_001) }, /`public_test_cases`: must have at most 10000 tests/],
        [{ private_test_cases: JSON.parse(many(10_001)) as unknown }, /`private_test_cases`: must have at most 10000/],
        [
          { public_test_cases: many(1), reference_solution: '(-> '.repeat(250_000) },
          /`reference`: must have at most 100,000 characters/,
        ],
      ];
      for (const [fields, message] of cases) await refusesInOneLine(read(fields), message);
      assert.equal((await read({ private_test_cases: many(10_000) })).problems.length, 1);
    });
  });

  it('takes linear time for JSON that Node cannot parse', () => {
    const before = process.cpuUsage().user;
    for (const text of [`"a${'\\"'.repeat(2e6)} NaN`, `${'"'.repeat(2e6)} NaN`, `{${'"1":'.repeat(1e6)} NaN`])
      assert.throws(() => parseJson(text), SyntaxError);
    const long = JSON.stringify([`${'\n"1":'.repeat(2e6)}`]);
    assert.deepEqual(parseExactJson(long), JSON.parse(long));
    assert.ok(process.cpuUsage().user - before < 60e6);
  });

  it('takes linear time for a text that is almost a signature', () => {
    const before = process.cpuUsage().user;
    for (const text of ['\n'.repeat(2e6), `\n${' '.repeat(2e6)}`, '\n def f '.repeat(2e5)])
      assert.equal(parseSignature(text), undefined);
    assert.equal(parseSignature('\n\n  async def f(a):')?.entry, 'f');
    assert.ok(process.cpuUsage().user - before < 30e6);
  });
});
