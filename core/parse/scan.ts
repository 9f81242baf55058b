// Finds brackets, strings and comments of Python in a model's answer. It uses no grammar, since the text around them is
// prose and the Python may be malformed.

const OPENERS = '([{';
const CLOSERS = ')]}';
const STRING_START = /^(?:[rRbBuUfF]{0,2})('''|"""|'|")/;

/** The end of the string literal that starts at `from`; undefined if it is not closed (single quotes: on its line). */
function stringEnd(text: string, from: number): number | undefined {
  const start = STRING_START.exec(text.slice(from, from + 5));
  if (!start) return undefined;
  const quote = start[1]!;
  for (let i = from + start[0].length; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text.startsWith(quote, i)) return i + quote.length;
    else if (text[i] === '\n' && quote.length === 1) return undefined;
  }
  return undefined;
}

export function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

export interface Piece {
  end: number; // one past the last character
  closed: boolean; // every bracket and string is closed
  cut: boolean; // it is open because the text ends
}

/**
 * The shortest text from `from` on that closes every bracket it opens. Without `logicalLine`, the text ends with the bracket that
 * closes the one at `from`. With it, the text is a logical line, which ends at a newline, ';' or comment outside of brackets.
 */
export function takePiece(text: string, from: number, logicalLine: boolean): Piece {
  const open: string[] = [];
  for (let i = from; i < text.length; i++) {
    const char = text[i]!;
    if (open.length === 0 && logicalLine && (char === '\n' || char === ';' || char === '#')) {
      return { end: i, closed: true, cut: false };
    }
    if (char === '#') {
      i = lineEnd(text, i) - 1;
    } else if (char === '"' || char === "'") {
      const end = stringEnd(text, i);
      if (end === undefined) return { end: i, closed: false, cut: lineEnd(text, i) === text.length };
      i = end - 1;
    } else if (OPENERS.includes(char)) {
      open.push(CLOSERS[OPENERS.indexOf(char)]!);
    } else if (CLOSERS.includes(char)) {
      if (open.pop() !== char) return { end: i, closed: false, cut: false };
      if (open.length === 0 && !logicalLine) return { end: i + 1, closed: true, cut: false };
    }
  }
  return { end: text.length, closed: open.length === 0 && logicalLine, cut: open.length > 0 };
}

/** The next character from `from` on that is neither blank nor in a comment; '' at the end. */
export function nextSignificant(text: string, from: number): string {
  for (let i = from; i < text.length; i++) {
    const char = text[i]!;
    if (char === '#') i = lineEnd(text, i);
    else if (!/\s/.test(char)) return char;
  }
  return '';
}
