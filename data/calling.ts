// How a program is called, read from its signature: a method, a whole program, arguments built from the usual interview
// classes, an argument that is changed in place.
import { definitionsOf } from '../core/parse/definitions.js';
import { type Calling, callingSchema, type Shape } from '../core/schema/calling.js';
import type { TestCase } from '../core/schema/problem.js';
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
