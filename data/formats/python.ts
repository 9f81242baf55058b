// Finds signatures, entries and tests in Python text, for the readers of problem sets.
import { callsIn } from '../../core/parse/calls.js';
import { definitionsOf, importsOf } from '../../core/parse/definitions.js';
import { calledNames, fixedArity, parseSignature, type Signature } from '../../core/parse/signature.js';
import { checkedBy, testsOfModule } from '../../core/parse/testModule.js';
import type { Calling } from '../../core/schema/calling.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import { callingOfClass, entryOf, USUAL_CLASS } from '../calling.js';
import { UnusableRecord } from './format.js';

/** Converts the name that a record calls to an entry: `Solution().f` becomes `Solution.f`. */
export const calledEntry = (called: string): string => called.trim().replace(/\(\s*\)(?=\.)/g, '');

interface Called {
  functionSignature: string;
  signature: Signature;
  calling?: Calling; // only for a class of operations
}

/**
 * The `def` of a function that a program defines, or of a method with its class, or a class with its methods, preceded by the
 * program's imports.
 * @param entry 'f', 'Class.f' or 'Class'
 * @throws UnusableRecord
 */
export function signatureIn(code: string, entry: string): Called {
  const [first, method] = entry.split('.');
  if (method === undefined && !definitionsOf(code).some(({ kind, name }) => kind === 'function' && name === first)) {
    const found = classIn(code, entry);
    if (found) return found;
  }
  const kind = method === undefined ? 'function' : 'class';
  const found = definitionsOf(code).find((one) => one.kind === kind && one.name === first);
  const own = found?.methods.find(({ name }) => name === method);
  const lines = own && [found!.header, ...[...own.decorators, own.header].map((line) => `    ${line}`)];
  const header = method === undefined ? found?.header : lines?.join('\n');
  const signature = header === undefined ? undefined : parseSignature(header, method);
  if (header === undefined || !signature) throw new UnusableRecord(`the reference defines no function ${entry}`);
  return { functionSignature: withImports(code, header), signature };
}

function withImports(code: string, header: string): string {
  const imports = importsOf(code);
  return [...imports, ...(imports.length > 0 ? [''] : []), header].join('\n');
}

/** Describes a class of operations: its constructor and its public methods. A test gives the method names and their arguments. */
function classIn(code: string, name: string): Called | undefined {
  const found = definitionsOf(code).find((one) => one.kind === 'class' && one.name === name);
  if (!found) return undefined;
  const shown = found.methods.filter((method) => method.name === '__init__' || !method.name.startsWith('_'));
  const lines = shown.flatMap(({ decorators, header }) => [...decorators, header].map((line) => `    ${line}`));
  const init = shown.find((method) => method.name === '__init__')?.header ?? 'def __init__(self):';
  return {
    functionSignature: withImports(code, [found.header, ...lines].join('\n')),
    signature: parseSignature(`def ${name}(names, arguments):`)!,
    calling: callingOfClass(parseSignature(init, '__init__')!),
  };
}

/** The solution and the entry of a record in the form of HumanEval. */
export function completion({
  prompt,
  canonical_solution,
  entry_point,
  suffix = '',
}: Record<'prompt' | 'canonical_solution' | 'entry_point', string> & { suffix?: string }) {
  const called = calledEntry(entry_point);
  const referenceSolution = completed(prompt, canonical_solution, called, suffix);
  const entry = called.includes('.') ? called : entryOf({ entry: called }, referenceSolution);
  return { description: prompt.trim(), referenceSolution, entry, ...signatureIn(referenceSolution, entry) };
}

/** Completes a solution. HumanEval's solutions continue the prompt, up to a suffix in its infilling sets; others are complete. */
export const completed = (prompt: string, solution: string, entry: string, suffix = ''): string =>
  definitionsOf(solution).some(({ name, methods }) =>
    [name, ...methods.map((one) => one.name)].includes(entry.split('.')[0]!),
  )
    ? solution
    : prompt + solution + suffix;

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

/**
 * The entry: the definition of the reference `code` that the tests call. It is the argument of `check`, or else a function, or else
 * a class or its only method. Without a reference, it is the only function that the tests call but do not define.
 * @throws UnusableRecord
 */
export function calledIn(tests: string, code?: string): string {
  const defined = definitionsOf(code ?? '');
  const checked = tests.split('\n').flatMap((line) => checkedBy(line.trim()) ?? []);
  const entry = calledEntry(checked.at(-1) ?? '');
  if (entry && (code === undefined || defined.some(({ name }) => name === entry.split('.')[0]))) return entry;
  const isUsed = (name: string): boolean =>
    new RegExp(`(?<![\\p{L}\\p{N}_])${name}(?![\\p{L}\\p{M}\\p{N}_])`, 'u').test(tests);
  const names = new Set(calledNames(tests));
  const isCalled = ({ name }: { name: string }): boolean => names.has(name);
  const functions = defined.filter(({ kind }) => kind === 'function');
  const called = functions.findLast(isCalled) ?? (tests.trim() === '' ? functions.at(-1) : undefined);
  if (called) return called.name;
  const owner = defined.findLast((one) => one.kind === 'class' && isCalled(one));
  const passed = functions.findLast(({ name }) => isUsed(name)); // the test passes the function on, for example to map
  if (!owner) return passed?.name ?? onlyCalled(tests, code && defined.map(({ name }) => name).join(', '));
  const methods = owner.methods.filter(isCalled);
  return owner.name === USUAL_CLASS && methods.length === 1 ? `${owner.name}.${methods[0]!.name}` : owner.name;
}

/** @param defined the names that the reference defines, if there is one. @throws UnusableRecord */
function onlyCalled(tests: string, defined?: string): string {
  const names = callsIn(tests);
  if (!names) throw new UnusableRecord('the tests are not Python');
  const [name, ...others] = names;
  if (name === undefined) throw new UnusableRecord('the tests call no function: they are no tests of a program');
  const all = `the tests call ${names.join(', ')}`;
  if (defined !== undefined) throw new UnusableRecord(`${all}; the reference defines ${defined || 'nothing'}`);
  if (others.length === 0 && !/^[A-Z]\w*$/.test(name)) return name;
  throw new UnusableRecord(`${all}; without a reference, name a column with --map entry= or signature=`);
}

/** The signature of a function that is known only from its tests: it takes as many arguments as all tests give. */
export function signatureOfTests(entry: string, [first, ...others]: readonly TestCase[]): string {
  const isFixed = first !== undefined && others.every(({ args }) => args.length === first.args.length);
  const parameters = isFixed ? first.args.map((_, i) => `arg${i + 1}`) : ['*args'];
  const [owner, method] = entry.split('.');
  if (method === undefined) return `def ${entry}(${parameters.join(', ')}):`;
  return `class ${owner}:\n    def ${method}(${['self', ...parameters].join(', ')}):`;
}
