// Derives from a signature how a program is called: as a method, with arguments of the usual interview classes (linked lists and
// trees), or to change an argument in place.
import { definitionsOf } from '../core/parse/definitions.js';
import { parseSignature, type Signature } from '../core/parse/signature.js';
import { type Calling, callingSchema, type Shape } from '../core/schema/calling.js';
import type { TestCase } from '../core/schema/problem.js';
import type { Value } from '../core/schema/value.js';

/** The usual class name in interview problems, for a pasted method without its class. */
export const USUAL_CLASS = 'Solution';

/** The signature that a model sees if a problem names none. */
export const UNSIGNED = 'def solve(*args):';
export const ANY_ARGUMENTS = parseSignature(UNSIGNED)!;

/** The entry: `f`, or `Class.f` if only a class of the reference (or else of the signature) defines f. */
export function entryOf(
  { entry, owner, isMethod = false }: Pick<Signature, 'entry' | 'owner'> & Partial<Signature>,
  reference: string,
): string {
  const defined = definitionsOf(reference);
  if (defined.some(({ kind, name }) => kind === 'function' && name === entry)) return entry;
  const found = defined.find(({ methods }) => methods.some(({ name }) => name === entry))?.name ?? owner;
  return found !== undefined || isMethod ? `${found ?? USUAL_CLASS}.${entry}` : entry;
}

/** The signature that a model sees. For an entry `Class.f` it includes the class, because that is what is called. */
export function shownSignature(signature: string, entry: string): string {
  const [owner, method] = entry.split('.');
  if (method === undefined || new RegExp(`\\bclass\\s+${owner}\\b`).test(signature)) return signature.trim();
  const lines = signature.trim().split('\n');
  const at = lines.findIndex((line) => /^\s*(?:@|(?:async\s+)?def\b)/.test(line));
  const inner = lines.slice(at).map((line) => `    ${line}`);
  return [...lines.slice(0, at), `class ${owner}:`, ...inner].join('\n');
}

/** Normalises an expected linked list or tree: None becomes the empty list, trailing gaps of a tree are dropped. */
export function inShape(test: TestCase, calling: Calling | undefined): TestCase {
  const { observe = 'result', parameters = [], result = 'value' } = calling ?? {};
  const shape = observe === 'result' ? result : (parameters[observe] ?? 'value');
  const one = (value: Value, of: Shape): Value => {
    if (value === null) return [];
    if (of !== 'TreeNode' || !Array.isArray(value)) return value;
    let end = value.length;
    while (end > 0 && value[end - 1] === null) end--;
    return value.slice(0, end);
  };
  if (shape === 'value') return test;
  const { expected } = test;
  if (shape === 'ListNode' || shape === 'TreeNode') return { ...test, expected: one(expected, shape) };
  const of = shape === 'ListNode[]' ? 'ListNode' : 'TreeNode';
  return { ...test, expected: Array.isArray(expected) ? expected.map((x) => one(x, of)) : expected };
}

/** An argument that a function can change. */
const MUTABLE = /\b(?:[Ll]ist|[Dd]ict|[Ss]et|bytearray|ListNode|TreeNode)\b/;

/** How a class of operations with the constructor `init` is called. */
export const callingOfClass = (init: Signature): Calling =>
  callingSchema.parse({ style: 'operations', parameters: init.annotations.map(shapeOf) });

/** The calling convention; undefined if all parameters are plain values and the result is the answer. */
export function callingOf(signature: Signature, tests: readonly TestCase[]): Calling | undefined {
  const parameters = signature.annotations.map(shapeOf);
  const result = shapeOf(signature.result);
  // a function that returns nothing is judged by its first argument after the call
  const isChanged =
    tests.length > 0 ? tests.every(({ expected }) => expected !== null) : MUTABLE.test(signature.annotations[0] ?? '');
  const inPlace = signature.result === 'None' && isChanged;
  if (parameters.every((shape) => shape === 'value') && result === 'value' && !inPlace) return undefined;
  return callingSchema.parse({
    parameters,
    result: inPlace ? 'value' : result,
    observe: inPlace ? 0 : 'result',
  });
}

function shapeOf(annotation: string): Shape {
  const plain = annotation
    .replace(/['"\s]/g, '')
    .replace(/\|None\b|\bNone\|/g, '')
    .replace(/\b(?:typing\.)?Optional\[(\w+)\]/g, '$1');
  const list = /^(?:typing\.)?[Ll]ist\[(\w+)\]$/.exec(plain)?.[1];
  if (plain === 'ListNode' || plain === 'TreeNode') return plain;
  if (list === 'ListNode' || list === 'TreeNode') return `${list}[]`;
  return 'value';
}
