// Prints values as Python does: parsePythonLiteral(formatValue(v)) equals v.
import type { Value } from '../schema/value.js';
import { toBigInt } from './numbers.js';
import { fromBase64 } from './text.js';

/** Python's repr of a value. For nan and inf, whose repr is no expression: the call that returns the value. */
export function formatValue(value: Value): string {
  if (value === null) return 'None';
  switch (typeof value) {
    case 'boolean':
      return value ? 'True' : 'False';
    case 'number':
      return String(value);
    case 'string':
      return quote(value);
  }
  if (Array.isArray(value)) return `[${value.map(formatValue).join(', ')}]`;
  if ('i' in value) return String(toBigInt(value));
  if ('f' in value) return /^(-?inf|nan)$/.test(value.f) ? `float('${value.f}')` : value.f;
  if ('t' in value)
    return value.t.length === 1 ? `(${formatValue(value.t[0]!)},)` : `(${value.t.map(formatValue).join(', ')})`;
  if ('s' in value) return value.s.length === 0 ? 'set()' : `{${value.s.map(formatValue).join(', ')}}`;
  if ('d' in value) return `{${value.d.map(([k, v]) => `${formatValue(k)}: ${formatValue(v)}`).join(', ')}}`;
  if ('b' in value) return `b${quote(fromBase64(value.b), true)}`;
  const [re, im] = value.c;
  return Number(re) === 0 && !re.startsWith('-') ? `${im}j` : `(${re}${im.startsWith('-') ? '' : '+'}${im}j)`;
}

/** The arguments as in a call: `(args…)`. */
export const formatArguments = (args: readonly Value[]): string => `(${args.map(formatValue).join(', ')})`;

const NAMED: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quote(text: string, bytes = false): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = '';
  for (const char of text) {
    const code = char.codePointAt(0)!;
    if (char === mark) out += `\\${char}`;
    else if (char in NAMED) out += NAMED[char];
    else if (code < 0x20 || code === 0x7f || (code > 0x7f && (bytes || code < 0xa1 || code === 0xad)))
      out += `\\x${code.toString(16).padStart(2, '0')}`;
    else if (code >= 0xd800 && code <= 0xdfff) out += `\\u${code.toString(16)}`;
    else out += char;
  }
  return mark + out + mark;
}
