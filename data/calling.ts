// How a program is called, read from its signature: a method, a whole program, arguments built from the usual interview
// classes, an argument that is changed in place.
import { definitionsOf } from '../core/parse/definitions.js';
import { type Calling, callingSchema, type Shape } from '../core/schema/calling.js';
import type { TestCase } from '../core/schema/problem.js';
import type { Value } from '../core/schema/value.js';
import type { Signature } from './signature.js';

/** `f`, or `Class.f` where only a class has it: the signature's own, else the reference's. */
export function entryOf(signature: string, name: string, reference: string): string {
  const owner = (code: string): string | undefined =>
    definitionsOf(code).find(({ methods }) => methods.some((method) => method.name === name))?.name;
  const isFunction = definitionsOf(reference).some((one) => one.kind === 'function' && one.name === name);
  if (isFunction) return name;
  const found = owner(reference) ?? owner(`${signature.trimEnd().replace(/:?$/, ':')} pass`);
  return found === undefined ? name : `${found}.${name}`;
}

/** What a model is shown for an entry `Class.f`: the class too, since a method alone is not what will be called. */
export function shownSignature(signature: string, entry: string): string {
  const [owner, method] = entry.split('.');
  if (method === undefined || new RegExp(`\\bclass\\s+${owner}\\b`).test(signature)) return signature.trim();
  const lines = signature.trim().split('\n');
  const at = lines.findIndex((line) => /^\s*(?:async\s+)?def\b/.test(line));
  const inner = lines.slice(at).map((line) => `    ${line}`);
  return [...lines.slice(0, at), `class ${owner}:`, ...inner].join('\n');
}

/** A test whose answer is a linked list or a tree: None is the empty one, and gaps at the end of a tree are not written. */
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

/** Undefined where plain values go in and the answer is the result. */
export function callingOf(signature: Signature, tests: readonly TestCase[]): Calling | undefined {
  const parameters = signature.annotations.map(shapeOf);
  const result = shapeOf(signature.result);
  // 'Do not return anything': the answer is the first argument after the call
  const inPlace = signature.result === 'None' && tests.length > 0 && tests.every(({ expected }) => expected !== null);
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
