// What the readers need to know about the Python text of a reference solution or a test.
import { definitionsOf, importsOf } from '../../core/parse/definitions.js';
import { testsOfModule } from '../../core/parse/testModule.js';
import type { Problem } from '../../core/schema/problem.js';
import { fixedArity, parseSignature, type Signature } from '../signature.js';
import { UnusableRecord } from './format.js';

/** The `def` of a function that a program defines, preceded by the program's imports. @throws UnusableRecord */
export function signatureIn(code: string, entry: string): { text: string; signature: Signature } {
  const header = definitionsOf(code).find((one) => one.kind === 'function' && one.name === entry)?.header;
  const signature = header === undefined ? undefined : parseSignature(header);
  if (header === undefined || !signature) throw new UnusableRecord(`the reference defines no function ${entry}`);
  const imports = importsOf(code);
  return { text: [...imports, ...(imports.length > 0 ? [''] : []), header].join('\n'), signature };
}

/** HumanEval's solutions continue the prompt, MBPP's and references are complete. */
export const completed = (prompt: string, solution: string, entry: string): string =>
  definitionsOf(solution).some(({ name }) => name === entry) ? solution : prompt + solution;

const TYPING = ['Any', 'Deque', 'Dict', 'FrozenSet', 'Iterable', 'List', 'Optional', 'Set', 'Tuple', 'Union'];

/** Adds the import of the names from `typing` that annotations of interview code use without importing them. */
export function withTyping(code: string): string {
  const imported = importsOf(code).join('\n');
  if (/\bfrom\s+typing\s+import\s+\*/.test(imported)) return code;
  const missing = TYPING.filter(
    (name) => new RegExp(`\\b${name}\\[`).test(code) && !new RegExp(`\\b${name}\\b`).test(imported),
  );
  return missing.length === 0 ? code : `from typing import ${missing.join(', ')}\n\n${code}`;
}

/** Literal asserts become values; source that checks anything else stays source. */
export function testsFrom(
  source: string,
  entry: string,
  signature: Signature,
): Pick<Problem, 'baselineTests' | 'testSource'> {
  const { tests, rest } = testsOfModule(source, entry, fixedArity(signature));
  return rest === undefined ? { baselineTests: tests } : { baselineTests: tests, testSource: rest };
}
