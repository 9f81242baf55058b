// The name, the positional parameters and the annotations of a Python signature.

export interface Signature {
  entry: string;
  required: number; // positional arguments without a default; `self` is not counted
  most: number; // Infinity with *args
  annotations: string[]; // of the positional parameters, '' for none
  result: string; // its annotation, or ''
}

const OPEN = '([{';
const CLOSE = ')]}';

/** The parameters of a signature, split at commas of depth 0; undefined if the parenthesis does not close. */
function splitParameters(text: string): { parameters: string[]; end: number } | undefined {
  const out: string[] = [];
  let depth = 0;
  let start = 0;
  let quote = '';
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (quote) {
      if (char === '\\') i++;
      else if (char === quote) quote = '';
    } else if (char === '"' || char === "'") quote = char;
    else if (OPEN.includes(char)) depth++;
    else if (CLOSE.includes(char) && depth > 0) depth--;
    else if (char === ')' || (char === ',' && depth === 0)) {
      out.push(text.slice(start, i).trim());
      start = i + 1;
      if (char === ')') return { parameters: out.filter((parameter) => parameter !== ''), end: i + 1 };
    }
  }
  return undefined;
}

/** The number of arguments if it is fixed. */
export const fixedArity = ({ required, most }: Signature): number | undefined => (required === most ? most : undefined);

/** 'def solve(nums: list[int], k=1) -> int:' → solve, 1 to 2 arguments. Undefined if the text is not a signature. */
export function parseSignature(text: string): Signature | undefined {
  const head = /(?:^|\n)[^\S\n]*(?:async\s+)?def\s+([A-Za-z_]\w*)\s*\(/.exec(text);
  if (!head) return undefined;
  const rest = text.slice(head.index + head[0].length);
  const list = splitParameters(rest);
  if (!list) return undefined;
  const { parameters, end } = list;
  const annotations: string[] = [];
  let required = 0;
  let most = 0;
  for (const [index, parameter] of parameters.entries()) {
    const name = /^[*\w]*/.exec(parameter)![0];
    if (parameter === '/' || (index === 0 && name === 'self')) continue;
    if (name.startsWith('**')) break;
    if (name.startsWith('*')) {
      if (name.length > 1) most = Infinity;
      break; // what follows is keyword-only
    }
    most++;
    annotations.push((/^\w+\s*:\s*([^=]*)/.exec(parameter)?.[1] ?? '').trim());
    if (!/=/.test(parameter)) required++;
  }
  const result = (/^\s*->\s*([^:\n]*)/.exec(rest.slice(end))?.[1] ?? '').trim();
  return { entry: head[1]!, required, most, annotations, result };
}
