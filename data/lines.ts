// The lines of a UTF-8 text, which end with \n or \r\n. The readline of Node 24 also splits at U+2028 and U+2029, which
// JSON allows inside of strings.
import type { Readable } from 'node:stream';

export async function* linesOf(input: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder(); // leaves out a byte order mark
  let pieces: string[] = []; // of a line that has not ended yet
  for await (const chunk of input) {
    const [first, ...others] = decoder.decode(chunk, { stream: true }).split('\n');
    pieces.push(first!);
    for (const piece of others) {
      yield lineOf(pieces);
      pieces = [piece];
    }
  }
  pieces.push(decoder.decode());
  const last = lineOf(pieces);
  if (last !== '') yield last;
}

const lineOf = (pieces: readonly string[]): string => pieces.join('').replace(/\r$/, '');
