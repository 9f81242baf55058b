// Reads Python's string and bytes literals (prefixes, quotes, escapes), and base64, since the core has no Buffer.

export type TextLiteral = { kind: 'str'; text: string } | { kind: 'bytes'; bytes: number[] };

const SIMPLE: Record<string, string> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v', '\n': '' };
const OPEN = /^([A-Za-z]*)('''|"""|'|")/;

/**
 * Reads one literal with its prefix and quotes. Undefined if it is not one, or needs more than the text (\N{…},
 * f-fields).
 */
export function parseText(literal: string): TextLiteral | undefined {
  const open = OPEN.exec(literal);
  if (!open) return undefined;
  const prefix = open[1]!.toLowerCase();
  const quote = open[2]!;
  if (!['', 'r', 'u', 'b', 'br', 'rb', 'f', 'fr', 'rf'].includes(prefix)) return undefined;
  if (literal.length < open[0].length + quote.length || !literal.endsWith(quote)) return undefined;
  let body = literal.slice(open[0].length, -quote.length).replace(/\r\n?/g, '\n');
  const bytes = prefix.includes('b');
  if (prefix.includes('f')) {
    if (/[{}]/.test(body.replace(/\{\{|\}\}/g, ''))) return undefined;
    body = body.replaceAll('{{', '{').replaceAll('}}', '}');
  }
  const text = prefix.includes('r') ? body : decodeEscapes(body, bytes);
  if (text === undefined) return undefined;
  if (!bytes) return { kind: 'str', text };
  const codes = [...text].map((char) => char.codePointAt(0)!);
  return codes.every((code) => code < 256) ? { kind: 'bytes', bytes: codes } : undefined;
}

function decodeEscapes(body: string, bytes: boolean): string | undefined {
  let out = '';
  for (let i = 0; i < body.length; i++) {
    const char = body[i]!;
    if (char !== '\\') {
      out += char;
      continue;
    }
    const next = body[++i];
    if (next === undefined) return undefined;
    if (next in SIMPLE) {
      out += SIMPLE[next];
    } else if (next >= '0' && next <= '7') {
      const digits = /^[0-7]{1,3}/.exec(body.slice(i, i + 3))![0];
      out += String.fromCharCode(Number.parseInt(digits, 8));
      i += digits.length - 1;
    } else if (next === 'x' || (!bytes && (next === 'u' || next === 'U'))) {
      const width = next === 'x' ? 2 : next === 'u' ? 4 : 8;
      const digits = body.slice(i + 1, i + 1 + width);
      const code = Number.parseInt(digits, 16);
      if (digits.length < width || !/^[0-9a-fA-F]+$/.test(digits) || code > 0x10ffff) return undefined;
      out += String.fromCodePoint(code);
      i += width;
    } else if (!bytes && next === 'N' && body[i + 1] === '{') {
      return undefined; // needs a table of character names
    } else {
      out += /[\\'"]/.test(next) ? next : `\\${next}`; // Python keeps an unknown escape
    }
  }
  return out;
}

/** A regular expression of the text itself. */
export const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

export const toBase64 = (bytes: readonly number[]): string =>
  btoa(bytes.map((byte) => String.fromCharCode(byte)).join(''));

/** Decodes base64 to bytes, as characters. Leaves out malformed parts, because answers are not trusted. */
export function fromBase64(text: string): string {
  const digits = text.replace(/[^A-Za-z0-9+/]/g, '');
  return atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits);
}
