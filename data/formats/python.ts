// What the readers need to know about the Python text of a reference solution or a test.
import { definitionsOf, importsOf } from '../../core/parse/definitions.js';
import { fixedArity, parseSignature, type Signature } from '../../core/parse/signature.js';
import { testsOfModule } from '../../core/parse/testModule.js';
import type { Problem } from '../../core/schema/problem.js';
import { UnusableRecord } from './format.js';

/** The entry that a record names as it is called: `Solution().f` is `Solution.f`. */
export const calledEntry = (called: string): string => called.trim().replace(/\(\s*\)(?=\.)/g, '');

/**
 * The `def` of a function that a program defines, or of a method with its class, preceded by the program's imports.
 * @param entry 'f', or 'Class.f'
 * @throws UnusableRecord
 */
export function signatureIn(code: string, entry: string): { text: string; signature: Signature } {
  const [first, method] = entry.split('.');
  const kind = method === undefined ? 'function' : 'class';
  const found = definitionsOf(code).find((one) => one.kind === kind && one.name === first);
  const own = found?.methods.find(({ name }) => name === method);
  const lines = own && [found!.header, ...[...own.decorators, own.header].map((line) => `    ${line}`)];
  const header = method === undefined ? found?.header : lines?.join('\n');
  const signature = header === undefined ? undefined : parseSignature(header, method);
  if (header === undefined || !signature) throw new UnusableRecord(`the reference defines no function ${entry}`);
  const imports = importsOf(code);
  return { text: [...imports, ...(imports.length > 0 ? [''] : []), header].join('\n'), signature };
}

/** HumanEval's solutions continue the prompt, MBPP's and references are complete. */
export const completed = (prompt: string, solution: string, entry: string): string =>
  definitionsOf(solution).some(({ name, methods }) =>
    [name, ...methods.map((one) => one.name)].includes(entry.split('.')[0]!),
  )
    ? solution
    : prompt + solution;

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
  const { tests, rest } = testsOfModule(source, entry, fixedArity(signature), signature);
  return rest === undefined ? { baselineTests: tests } : { baselineTests: tests, testSource: rest };
}

/** The function of `code` that the tests call; the last one defined if they call several. */
export function calledIn(tests: string, code: string): string {
  const functions = definitionsOf(code).filter(({ kind }) => kind === 'function');
  const called = functions.filter(({ name }) => new RegExp(`\\b${name}\\s*\\(`).test(tests)).at(-1);
  const found = called ?? (tests.trim() === '' ? functions.at(-1) : undefined);
  if (!found) throw new UnusableRecord('the tests call no function that `code` defines');
  return found.name;
}
