import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { linesOf } from '../../data/lines.js';

describe('the lines of a text', () => {
  const linesFrom = async (chunks: Iterable<Uint8Array>): Promise<string[]> => {
    const lines: string[] = [];
    for await (const [, text] of linesOf(Readable.from(chunks, { objectMode: false }), 'x')) lines.push(text);
    return lines;
  };
  const lines = (text: string): Promise<string[]> => linesFrom([Buffer.from(text)]);

  it('end with \\n or \\r\\n; the last line may lack it', async () => {
    assert.deepEqual(await lines('a\nb\r\n\nc\n'), ['a', 'b', 'c']);
    assert.deepEqual(await lines('a\r\nb'), ['a', 'b']);
    assert.deepEqual(await lines('\n \n'), []);
    assert.deepEqual(await lines(''), []);
  });

  it('may contain U+2028, U+2029 and \\r', async () => {
    const row = '{"a": "b\u2028c\u2029d"}';
    assert.deepEqual(await lines(`${row}\r\na\rb\n`), [row, 'a\rb']);
  });

  it('do not include a byte order mark', async () => {
    assert.deepEqual(await lines('\uFEFFa\nb\n'), ['a', 'b']);
    assert.deepEqual(await lines('\uFEFF'), []);
  });

  it('are the same however the bytes are split into chunks', async () => {
    const bytes = Buffer.from('\uFEFFé\r\n😀ü\n\u2028x');
    for (let at = 0; at <= bytes.length; at++)
      assert.deepEqual(await linesFrom([bytes.subarray(0, at), bytes.subarray(at)]), ['é', '😀ü', '\u2028x']);
    assert.deepEqual(await linesFrom([...bytes].map((byte) => Buffer.of(byte))), ['é', '😀ü', '\u2028x']);
  });

  it('take linear time', async () => {
    const chunks = new Array<Buffer>(20_000).fill(Buffer.alloc(4096, 'x'));
    assert.deepEqual(
      (await linesFrom(chunks)).map((line) => line.length),
      [20_000 * 4096],
    );
  });

  it('have a length limit, and a longer line is named with its file and a hint', async () => {
    const read = async (text: string): Promise<void> => {
      for await (const _ of linesOf(Readable.from([Buffer.from(text)], { objectMode: false }), 'p.jsonl', 10));
    };
    await read('0123456789\n0123456789\n');
    await assert.rejects(read('a\nb\n01234567890'), {
      code: 'BAD_INPUT',
      message: /^p\.jsonl: line 3 has more than 10 characters; is it a file of JSON lines, with one object per line\?$/,
    });
  });

  it('end at the limit of a line that has no end, and take a fraction of its memory', async () => {
    const endless = function* (): Generator<Buffer> {
      for (let i = 0; i < 40_000; i++) yield Buffer.alloc(1 << 16, 'x'); // 2.6 GB
    };
    await assert.rejects(
      async () => {
        for await (const _ of linesOf(Readable.from(endless()), 'p.jsonl'));
      },
      { code: 'BAD_INPUT', message: /p\.jsonl: line 1 has more than 268435456 characters/ },
    );
  });
});
