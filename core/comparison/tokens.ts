// Compares printed text with expected text token by token, as judges of contests do. White space separates tokens, and
// different numerals may be equal numbers.

// adjacent repetitions match different characters, so a long text that is no numeral takes linear time
const NUMERAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const WHOLE = /^[+-]?\d+$/;
const ZERO = /^[+-]?0$/;

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
  if (!NUMERAL.test(wanted) || !NUMERAL.test(got)) return false;
  // 007 does not equal 7: a whole number may be an identifier. 7.0 does, exactly: programming languages print floats differently
  if (WHOLE.test(wanted)) return WHOLE.test(got) ? ZERO.test(got) && ZERO.test(wanted) : sameNumber(got, wanted);
  const [a, b] = [Number(got), Number(wanted)];
  if (!Number.isFinite(a) || !Number.isFinite(b)) return sameNumber(got, wanted);
  return Math.abs(a - b) <= Math.max(absolute, relative * Math.abs(b));
}

/** Whether two numerals are the same number, however large. */
const sameNumber = (a: string, b: string): boolean => decimal(a) === decimal(b);

/** The digits of a numeral without zeros at either end, and the power of ten of the last digit. */
function decimal(numeral: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE](.*))?$/.exec(numeral)!;
  const digits = `${whole}${fraction}`;
  let [from, to] = [0, digits.length];
  while (digits[from] === '0') from++;
  while (to > from && digits[to - 1] === '0') to--;
  if (from === to) return '0';
  const power = Number(exponent) - fraction.length + digits.length - to;
  return `${sign === '-' ? '-' : ''}${digits.slice(from, to)}e${power}`;
}
