// One entry of `baseline_tests` in any of the forms that problem files use, turned into a test case.
import { z } from 'zod';
import { floatValue } from '../core/parse/numbers.js';
import type { TestCase } from '../core/schema/problem.js';
import { type Value, valueSchema } from '../core/schema/value.js';
import type { Signature } from './signature.js';

/** What is wrong with a test, as the end of a sentence that begins with its place. */
export class TestFormProblem extends Error {}

/** JSON to a Value: lists stay lists, an object becomes a dict with string keys. */
export function valueOfJson(json: unknown): Value {
  if (json === null || typeof json === 'boolean' || typeof json === 'string') return json;
  if (typeof json === 'number') {
    if (Number.isSafeInteger(json)) return Object.is(json, -0) ? 0 : json;
    if (Number.isInteger(json)) {
      throw new TestFormProblem('holds a number that JSON keeps no longer exact: write the test as an assert string');
    }
    return floatValue(json);
  }
  if (Array.isArray(json)) return json.map(valueOfJson);
  return { d: Object.entries(json as object).map(([key, value]): [Value, Value] => [key, valueOfJson(value)]) };
}

const fits = (signature: Signature, count: number): boolean => count >= signature.required && count <= signature.most;

const arity = (signature: Signature): string => {
  const { required, most } = signature;
  const range =
    most === required ? `${required}` : most === Infinity ? `${required} or more` : `${required} to ${most}`;
  return `${signature.entry} takes ${range} ${range === '1' ? 'argument' : 'arguments'}`;
};

function toCase(args: unknown[], expected: unknown, signature: Signature): TestCase {
  if (!fits(signature, args.length))
    throw new TestFormProblem(`gives ${args.length} arguments, but ${arity(signature)}`);
  return { args: args.map(valueOfJson), expected: valueOfJson(expected) };
}

/** `[arg, …, expected]`, or `[[args…], expected]` where the number of arguments leaves no doubt. */
function fromList(list: unknown[], signature: Signature): TestCase {
  if (list.length === 0) throw new TestFormProblem('is an empty list');
  const flat = list.slice(0, -1);
  const expected = list[list.length - 1];
  const nested = list.length === 2 && Array.isArray(list[0]) ? (list[0] as unknown[]) : undefined;
  const asFlat = fits(signature, flat.length);
  const asNested = nested !== undefined && fits(signature, nested.length);
  if (asFlat && asNested)
    throw new TestFormProblem('can be read in two ways: write {"inputs": [...], "expected": ...}');
  return toCase(asNested ? nested : flat, expected, signature);
}

const taggedSchema = z.strictObject({ args: z.array(valueSchema), expected: valueSchema });

/** `{args, expected}` in the tagged codec, which loses nothing: how `gauntlet problems import` writes tests. */
function fromTagged(entry: object, signature: Signature): TestCase {
  const parsed = taggedSchema.safeParse(entry);
  if (!parsed.success) throw new TestFormProblem('has `args`, but is not {args, expected} of tagged values');
  const { args } = parsed.data;
  if (!fits(signature, args.length))
    throw new TestFormProblem(`gives ${args.length} arguments, but ${arity(signature)}`);
  return parsed.data;
}

/** A test given as JSON structure; strings are read by the caller. @throws TestFormProblem */
export function testOfJson(entry: unknown, signature: Signature): TestCase {
  if (Array.isArray(entry)) return fromList(entry, signature);
  if (typeof entry !== 'object' || entry === null) {
    throw new TestFormProblem('is none of [arg, …, expected], {inputs, expected} or an assert string');
  }
  if ('args' in entry) return fromTagged(entry, signature);
  const { inputs, expected } = entry as { inputs?: unknown; expected?: unknown };
  if (!Array.isArray(inputs)) throw new TestFormProblem('has no list `inputs`');
  if (!('expected' in entry)) throw new TestFormProblem('has no `expected`');
  return toCase(inputs, expected, signature);
}
