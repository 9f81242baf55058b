// The encodings of text files that users write.
import assert from 'node:assert/strict';
import { decodeText, FileDecoder, NotText } from '../../core/base/encoding.js';

const TEXT = '{"a": "é 😀 ü"}\r\nzweite\n';
const swapped = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
const ENCODED: Record<string, Buffer> = {
  'UTF-8': Buffer.from(TEXT),
  'UTF-8 with a mark': Buffer.from(`\ufeff${TEXT}`),
  'UTF-16 of PowerShell': Buffer.from(`\ufeff${TEXT}`, 'utf16le'),
  'UTF-16, big endian': swapped(`\ufeff${TEXT}`),
  'UTF-16 without a mark': Buffer.from(TEXT, 'utf16le'),
  'UTF-16 without a mark, big endian': swapped(TEXT),
};
const refused = (bytes: Uint8Array, message: RegExp): void =>
  assert.throws(
    () => decodeText(bytes),
    (error: Error) => error instanceof NotText && message.test(error.message),
  );

describe("the text of a user's file", () => {
  for (const [name, bytes] of Object.entries(ENCODED))
    it(`may be encoded as ${name}, and may arrive in pieces`, () => {
      assert.equal(decodeText(bytes), TEXT);
      for (const size of [1, 2, 3, 7]) {
        const decoder = new FileDecoder();
        let text = '';
        for (let at = 0; at < bytes.length; at += size) text += decoder.decode(bytes.subarray(at, at + size));
        assert.equal(text + decoder.decode(), TEXT, `pieces of ${size}`);
      }
    });

  it('may be empty or shorter than a byte order mark', () => {
    for (const text of ['', 'a', '{}', '{}\n', '\n\n\n']) assert.equal(decodeText(Buffer.from(text)), text);
    for (const mark of ['\ufeff', '']) assert.equal(decodeText(Buffer.from(mark)), '');
  });

  it('is refused with its line if its bytes are not text', () => {
    const lines = 'erste\nzweite é\ndritte ';
    refused(
      Buffer.concat([Buffer.from(lines), Buffer.from('é', 'latin1'), Buffer.from(' x\n')]),
      /^line 3 is not UTF-8/,
    );
    refused(Buffer.from([0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0xc3]), /^line 1 is not UTF-8/); // ends in the middle of a character
    refused(Buffer.from([0xff, 0xfe, 0x61, 0, 0x0a, 0, 0, 0xd8, 0x61, 0]), /^line 2 is not UTF-16LE/); // contains half a surrogate pair
    const decoder = new FileDecoder();
    decoder.decode(Buffer.from('one\ntwo\nthr\u00e9'.repeat(50)));
    decoder.decode(Buffer.from([0xc3]));
    assert.throws(
      () => decoder.decode(Buffer.from([0xa9, 0x0a, 0xff])),
      /^Error: line 102 is not UTF-8|line 102 is not/,
    );
  });

  it('is refused with the name of its kind if it is another kind of file', () => {
    refused(Buffer.from('PAR1\x15\x04'), /^is a Parquet file: convert it to JSON lines$/);
    refused(Buffer.from('PK\x03\x04..'), /^is a zip archive/);
    refused(Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0]), /^is compressed with zstd/);
    refused(Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), /^is UTF-32/);
  });
});
