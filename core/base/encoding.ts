// The text of a file as people write it: UTF-8, or UTF-16 as PowerShell writes it, each with or without a byte order mark.
// Other bytes are refused: as replacement characters they would silently become part of prompts, tests and programs.

/** The bytes are not text. The message says what they are; whoever reads the file adds the file's name. */
export class NotText extends Error {}

const MARKS: [encoding: string, bytes: number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

const BINARY: [name: string, bytes: number[]][] = [
  ['a Parquet file: convert it to JSON lines', [0x50, 0x41, 0x52, 0x31]],
  ['a zip archive: unpack it', [0x50, 0x4b, 3, 4]],
  ['compressed with gzip: unpack it', [0x1f, 0x8b]],
  ['compressed with zstd: unpack it', [0x28, 0xb5, 0x2f, 0xfd]],
  ['compressed with xz: unpack it', [0xfd, 0x37, 0x7a, 0x58]],
  ['compressed with bzip2: unpack it', [0x42, 0x5a, 0x68]],
  ['an Arrow file: convert it to JSON lines', [0x41, 0x52, 0x52, 0x4f, 0x57, 0x31]],
  ['a SQLite database', [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65]],
];

const HEAD = 6; // bytes that tell the encoding
const startsWith = (bytes: Uint8Array, start: number[]): boolean => start.every((byte, i) => bytes[i] === byte);

/** Without a byte order mark, a zero byte beside the first character shows UTF-16, if that character is ASCII. @throws NotText */
function encodingOf(head: Uint8Array): string {
  const binary = BINARY.find(([, start]) => startsWith(head, start));
  if (binary) throw new NotText(`is ${binary[0]}`);
  if (startsWith(head, [0xff, 0xfe, 0, 0]) || startsWith(head, [0, 0, 0xfe, 0xff]))
    throw new NotText('is UTF-32: save it as UTF-8');
  const marked = MARKS.find(([, mark]) => startsWith(head, mark));
  if (marked) return marked[0];
  if (head.length < 2 || (head[0] === 0) === (head[1] === 0)) return 'utf-8';
  return head[0] === 0 ? 'utf-16be' : 'utf-16le';
}

/** Decodes a file in pieces. It counts lines, so that an error can name the line. */
export class FileDecoder {
  private head = new Uint8Array(0); // bytes before the encoding is known
  private decoder?: InstanceType<typeof TextDecoder>;
  private lines = 0; // how many lines have ended

  /** @param chunk absent: the file ends. @throws NotText */
  decode(chunk?: Uint8Array): string {
    let bytes = chunk ?? new Uint8Array(0);
    if (this.decoder === undefined) {
      if (this.head.length > 0) {
        const joined = new Uint8Array(this.head.length + bytes.length);
        joined.set(this.head);
        joined.set(bytes, this.head.length);
        bytes = joined;
      }
      if (bytes.length < HEAD && chunk !== undefined) {
        this.head = bytes.slice();
        return '';
      }
      this.decoder = new TextDecoder(encodingOf(bytes), { fatal: true }); // it leaves out the byte order mark
    }
    let text: string;
    try {
      text = this.decoder.decode(bytes, { stream: chunk !== undefined });
    } catch {
      throw this.fault(bytes, this.decoder.encoding);
    }
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.lines++;
    return text;
  }

  private fault(bytes: Uint8Array, encoding: string): NotText {
    // A chunk may begin within a character of UTF-8.
    const from = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
    const lenient = new TextDecoder(encoding).decode(from < 0 ? bytes : bytes.subarray(from));
    const valid = lenient.slice(0, Math.max(0, lenient.indexOf('\ufffd')));
    const line = this.lines + valid.split('\n').length;
    return new NotText(`line ${line} is not ${encoding.toUpperCase()}: save the file as UTF-8`);
  }
}

/** The text of a whole file. @throws NotText */
export function decodeText(bytes: Uint8Array): string {
  const decoder = new FileDecoder();
  return decoder.decode(bytes) + decoder.decode();
}
