// What the readers need to know of a reference solution's text.
import { definitionsOf, importsOf } from '../../core/parse/definitions.js';
import { testsOfModule } from '../../core/parse/testModule.js';
import type { Problem } from '../../core/schema/problem.js';
import { parseSignature, type Signature } from '../signature.js';
import { Unusable } from './format.js';

/** The `def` of a function that a program defines, with the program's imports before it. @throws Unusable */
export function signatureIn(code: string, entry: string): { text: string; signature: Signature } {
  const header = definitionsOf(code).find((one) => one.kind === 'function' && one.name === entry)?.header;
  const signature = header === undefined ? undefined : parseSignature(header);
  if (header === undefined || !signature) throw new Unusable(`the reference defines no function ${entry}`);
  const imports = importsOf(code);
  return { text: [...imports, ...(imports.length > 0 ? [''] : []), header].join('\n'), signature };
}

/** Number of arguments, where it is fixed. */
export const arityOf = ({ required, most }: Signature): number | undefined => (required === most ? most : undefined);

const TYPING = ['Any', 'Deque', 'Dict', 'FrozenSet', 'Iterable', 'List', 'Optional', 'Set', 'Tuple', 'Union'];

/** Annotations of interview code use names of `typing` that the code does not import. */
export function withTyping(code: string): string {
  const imported = importsOf(code).join('\n');
  if (/\bfrom\s+typing\s+import\s+\*/.test(imported)) return code;
  const missing = TYPING.filter(
    (name) => new RegExp(`\\b${name}\\[`).test(code) && !new RegExp(`\\b${name}\\b`).test(imported),
  );
  return missing.length === 0 ? code : `from typing import ${missing.join(', ')}\n\n${code}`;
}

/** Tests of source: values where the asserts are literal, and the source itself where that is not all of it. */
export function testsFrom(
  source: string,
  entry: string,
  signature: Signature,
): Pick<Problem, 'baselineTests' | 'testSource'> {
  const { tests, rest } = testsOfModule(source, entry, arityOf(signature));
  return rest === undefined ? { baselineTests: tests } : { baselineTests: tests, testSource: rest };
}
