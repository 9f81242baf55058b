// Untrusted JSON may be nested so deeply that a recursive function overflows the stack, or hold so many lists and objects
// that they exhaust memory: `{}` takes 2 bytes in a file and more than 50 in memory.
const DEEPEST = 200; // far more than any value, problem or configuration needs

/** Whether a parsed JSON value is nested too deeply for recursive functions. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    const below = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
    if (depth >= DEEPEST && below.length > 0) return true;
    level = below;
  }
  return false;
}

/** The most lists and objects in one JSON text. The largest known tokenizer has 600 000. */
const MOST = 4_000_000;

/** The reason if a JSON text holds too many lists and objects to be parsed safely; otherwise undefined. */
export function overflowOf(text: string): string | undefined {
  if (text.length <= 2 * MOST) return undefined;
  let count = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = stringEnd(text, i);
    else if ((code === LIST || code === OBJECT) && ++count > MOST) return `has more than ${MOST} lists and objects`;
  }
  return undefined;
}

const [QUOTE, BACKSLASH, LIST, OBJECT] = [...'"\\[{'].map((character) => character.charCodeAt(0));

/** The position of the quote that ends a JSON string; the end of the text if there is none. */
export function stringEnd(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i++;
    else if (code === QUOTE) return i;
  }
  return text.length;
}
