// The lines of a text in any encoding of core/encoding.ts, which end with \n or \r\n. The readline of Node 24 also splits at
// U+2028 and U+2029, which JSON allows inside of strings.
import type { Readable } from 'node:stream';
import { FileDecoder } from '../core/encoding.js';

/** @throws NotText */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
  const decoder = new FileDecoder();
  let pieces: string[] = []; // of a line that has not ended yet
  function* ended(text: string): Generator<string> {
    const [first, ...others] = text.split('\n');
    pieces.push(first!);
    for (const piece of others) {
      yield lineOf(pieces);
      pieces = [piece];
    }
  }
  for await (const chunk of input) yield* ended(decoder.decode(chunk));
  yield* ended(decoder.decode());
  const last = lineOf(pieces);
  if (last !== '') yield last;
}

const lineOf = (pieces: readonly string[]): string => pieces.join('').replace(/\r$/, '');
