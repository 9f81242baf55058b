// Problem files that fill memory or never end if only single elements are bounded.
import assert from 'node:assert/strict';
import { createWriteStream, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, deflateSync, gzipSync } from 'node:zlib';
import { parseSignature } from '../../core/parse/signature.js';
import { parseExactJson, parseJson } from '../../data/exactJson.js';
import { openDrafts } from '../../data/problemDrafts.js';
import { loadProblems } from '../../data/problems.js';
import { readRecords } from '../../data/records.js';
import { temporaryFolder } from '../infra/support.js';

const PIECE = Buffer.alloc(1 << 20, 'x');

describe('odd problem files', function () {
  this.timeout(120_000);
  let folder: string;
  before(() => {
    folder = temporaryFolder();
  });
  const file = (name: string, content: string | Buffer): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const readAll = async (path: string): Promise<number> => {
    let count = 0;
    for await (const _ of readRecords(path)) count++;
    return count;
  };
  const zipped = async (name: string, chunk: Buffer, count: number): Promise<string> => {
    const path = join(folder, name);
    const chunks = function* (): Generator<Buffer> {
      for (let i = 0; i < count; i++) yield chunk;
    };
    await pipeline(Readable.from(chunks()), createGzip(), createWriteStream(path));
    return path;
  };

  it('a gzipped line of 600 MB', async () => {
    const path = await zipped('line.jsonl.gz', PIECE, 600);
    assert.ok(statSync(path).size < 1 << 20);
    const message = /^line\.jsonl\.gz: unpacks to more than 1\d{8} bytes, .*; unpack it if that is right$/;
    await assert.rejects(readAll(path), { code: 'BAD_INPUT', message });
    await assert.rejects(loadProblems(path), { code: 'BAD_INPUT', message });
  });

  it('a gzipped file of endless short lines', async () => {
    const path = await zipped('bomb.jsonl.gz', Buffer.from(`${' '.repeat(1023)}\n`.repeat(1024)), 600);
    const message = /^bomb\.jsonl\.gz: unpacks to more than \d+ bytes/;
    await assert.rejects(readAll(path), { code: 'BAD_INPUT', message });
  });

  it('one JSON text over many lines, of 300 MB', async () => {
    const path = await zipped('text.json.gz', Buffer.from(`[${' '.repeat(1 << 20)}\n`), 1);
    await assert.rejects(readAll(path), { code: 'BAD_INPUT', message: /is not JSON/ });
    const large = join(folder, 'large.json');
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

  it('a gzipped file as usual', async () => {
    assert.equal(await readAll(file('ok.jsonl.gz', gzipSync('{"a": 1}\n{"a": 2}\n'))), 2);
    await assert.rejects(readAll(file('cut.jsonl.gz', gzipSync('{"a": 1}\n').subarray(0, 20))), { code: 'BAD_INPUT' });
  });

  it('millions of lists in one record', async () => {
    const path = file('lists.jsonl', `{"a":[[]${',[]'.repeat(5_000_000)}]}\n`);
    await assert.rejects(readAll(path), { code: 'BAD_INPUT', message: /has more than 4000000 lists and objects/ });
  });

  it('a message repeats nothing of a file that is not JSON', async () => {
    const path = file('shadow', 'root:*:secret:1\n');
    await assert.rejects(loadProblems(path), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'BAD_INPUT');
      assert.match(error.message, /^shadow: line 1 is not JSON/);
      assert.doesNotMatch(error.message, /root|secret/);
      return true;
    });
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
    const reason = async (fields: object): Promise<string> => {
      const path = file('lcb.jsonl', `${JSON.stringify({ ...record, ...fields })}\n`);
      try {
        await openDrafts(path, { format: 'livecodebench' });
      } catch (error) {
        return (error as Error).message;
      }
      return 'usable';
    };
    const test = { input: '1', output: '1', testtype: 'stdin' };
    const many = (count: number): string => `[${Array.from({ length: count }, () => JSON.stringify(test)).join()}]`;

    it('millions of tests in a megabyte', async () => {
      const compressed = pickled(`[{}${',{}'.repeat(3_900_000)}]`);
      assert.ok(compressed.length < 1 << 20);
      assert.match(
        await reason({ private_test_cases: compressed }),
        /`private_test_cases`: must have at most 10000 tests/,
      );
      const more = pickled(`[{}${',{}'.repeat(5_000_000)}]`);
      assert.match(await reason({ private_test_cases: more }), /`private_test_cases`: is not JSON/);
    });

    it('more tests than any problem has, as text and as a list', async () => {
      assert.match(
        await reason({ public_test_cases: many(10_001) }),
        /`public_test_cases`: must have at most 10000 tests/,
      );
      const list: unknown = JSON.parse(many(10_001));
      assert.match(await reason({ private_test_cases: list }), /`private_test_cases`: must have at most 10000 tests/);
      assert.equal(await reason({ private_test_cases: many(10_000) }), 'usable');
    });

    it('a reference of a megabyte', async () => {
      assert.match(
        await reason({ public_test_cases: many(1), reference_solution: '(-> '.repeat(250_000) }),
        /`reference`: must have at most 100,000 characters/,
      );
    });
  });

  it('JSON that Node cannot parse takes time in proportion to its length', () => {
    const before = process.cpuUsage().user;
    for (const text of [`"a${'\\"'.repeat(2e6)} NaN`, `${'"'.repeat(2e6)} NaN`, `{${'"1":'.repeat(1e6)} NaN`])
      assert.throws(() => parseJson(text), SyntaxError);
    const long = JSON.stringify([`${'\n"1":'.repeat(2e6)}`]);
    assert.deepEqual(parseExactJson(long), JSON.parse(long));
    assert.ok(process.cpuUsage().user - before < 60e6);
  });

  it('a text that is almost a signature takes time in proportion to its length', () => {
    const before = process.cpuUsage().user;
    for (const text of ['\n'.repeat(2e6), `\n${' '.repeat(2e6)}`, '\n def f '.repeat(2e5)])
      assert.equal(parseSignature(text), undefined);
    assert.equal(parseSignature('\n\n  async def f(a):')?.entry, 'f');
    assert.ok(process.cpuUsage().user - before < 30e6);
  });
});
