// Compares printed text with expected text token by token, as judges of contests do. White space separates tokens, and
// different numerals may be equal numbers.

// no two repetitions of one class stand side by side, so a long text that is no numeral takes linear time
const NUMERAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const WHOLE = /^[+-]?\d+$/;

/** @param tolerance for expected numerals that are not whole numbers */
export function equalTokens(got: string, wanted: string, tolerance: { absolute: number; relative: number }): boolean {
  const [left, right] = [tokens(got), tokens(wanted)];
  return left.length === right.length && left.every((token, i) => equalToken(token, right[i]!, tolerance));
}

const tokens = (text: string): string[] => text.split(/\s+/).filter((token) => token !== '');

function equalToken(
  got: string,
  wanted: string,
  { absolute, relative }: { absolute: number; relative: number },
): boolean {
  if (got === wanted) return true;
  // 007 does not equal 7: a whole number may be an identifier
  if (WHOLE.test(wanted) || !NUMERAL.test(wanted) || !NUMERAL.test(got)) return false;
  const [a, b] = [Number(got), Number(wanted)];
  return Math.abs(a - b) <= Math.max(absolute, relative * Math.abs(b));
}
