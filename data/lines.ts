// The lines of a text in any encoding of core/base/encoding.ts, which end with \n or \r\n. The readline of Node 24 also splits at
// U+2028 and U+2029, which JSON allows inside of strings.
import type { Readable } from 'node:stream';
import { FileDecoder } from '../core/base/encoding.js';
import { GauntletError } from '../core/base/errors.js';

/** The most characters of a line, and of a JSON text over many lines. A string of JavaScript can have twice as many. */
export const MAX_LINE = 1 << 28;

export type Line = [number: number, text: string];

/** Yields all lines except blank ones, of which a small file may have millions. @throws NotText; BAD_INPUT for a long line */
export async function* linesOf(input: Readable, name: string, most = MAX_LINE): AsyncGenerator<Line> {
  const decoder = new FileDecoder();
  let pieces: string[] = []; // the pieces of a line that has not ended yet
  let length = 0; // how many characters the pieces have
  let number = 1;
  const line = (): Line[] => {
    const text = length === 0 ? '' : pieces.join('').replace(/\r$/, '');
    return text.trim() === '' ? [] : [[number, text]];
  };
  function* ended(text: string): Generator<Line> {
    const [first, ...others] = text.split('\n');
    pieces.push(first!);
    length += first!.length;
    for (const piece of others) {
      yield* line();
      pieces = [piece];
      length = piece.length;
      number++;
    }
    if (length > most) {
      const hint = 'is it a file of JSON lines, with one object per line?';
      throw new GauntletError('BAD_INPUT', `${name}: line ${number} has more than ${most} characters; ${hint}`);
    }
  }
  for await (const chunk of input) yield* ended(decoder.decode(chunk));
  yield* ended(decoder.decode());
  yield* line();
}
