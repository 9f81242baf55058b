// Reads one entry of `baseline_tests` or `hidden_tests` that is a list or an object. assertions.ts reads assert strings.
import type { Signature } from '../core/parse/signature.js';
import { type TestCase, testCaseSchema } from '../core/schema/problem.js';
import { taggedOfJson, valueOfJson } from './exactJson.js';
import { type ListStyle, UnusableRecord } from './formats/format.js';

const fits = ({ required, most }: Signature, count: number): boolean => count >= required && count <= most;

/** @throws UnusableRecord */
export function requireArity(signature: Signature, count: number): void {
  if (fits(signature, count)) return;
  const { entry, required, most } = signature;
  const range =
    most === required ? `${required}` : most === Infinity ? `${required} or more` : `${required} to ${most}`;
  const takes = `${entry} takes ${range} ${range === '1' ? 'argument' : 'arguments'}`;
  throw new UnusableRecord(`gives ${count} ${count === 1 ? 'argument' : 'arguments'}, but ${takes}`);
}

function toCase(args: unknown[], expected: unknown, signature: Signature): TestCase {
  requireArity(signature, args.length);
  return { args: args.map(valueOfJson), expected: valueOfJson(expected) };
}

/** The styles in which the number of arguments fits the signature. */
export function listStylesOf(entry: unknown, signature: Signature): ListStyle[] {
  if (!Array.isArray(entry) || entry.length === 0) return [];
  const isNested = entry.length === 2 && Array.isArray(entry[0]) && fits(signature, entry[0].length);
  return [
    ...(fits(signature, entry.length - 1) ? (['flat'] as const) : []),
    ...(isNested ? (['nested'] as const) : []),
  ];
}

function fromList(list: unknown[], signature: Signature, preferred: ListStyle | undefined): TestCase {
  if (list.length === 0) throw new UnusableRecord('is an empty list');
  const styles = listStylesOf(list, signature);
  if (styles.length > 1 && preferred === undefined)
    throw new UnusableRecord('can be read in two ways: write {"inputs": [...], "expected": ...}', true);
  const style = styles.length > 1 ? preferred : styles[0];
  return toCase(style === 'nested' ? (list[0] as unknown[]) : list.slice(0, -1), list.at(-1), signature);
}

/**
 * Reads `{args, expected}` in the tagged codec, which `gauntlet problems import` writes because it loses nothing. Plain numbers
 * are read as the file spells them.
 */
function fromTagged(entry: object, signature: Signature): TestCase {
  const parsed = testCaseSchema.safeParse(taggedOfJson(entry));
  if (!parsed.success) throw new UnusableRecord('has `args`, but is not {args, expected} of tagged values');
  requireArity(signature, parsed.data.args.length);
  return parsed.data;
}

const isNamed = (inputs: unknown): inputs is Record<string, unknown> =>
  typeof inputs === 'object' && inputs !== null && !Array.isArray(inputs);

/** Puts named arguments in the order of the signature. */
export function positioned(inputs: Record<string, unknown>, { entry, names }: Signature): unknown[] {
  const given = names.slice(0, Object.keys(inputs).length);
  const unknown = Object.keys(inputs).find((name) => !given.includes(name));
  if (unknown !== undefined)
    throw new UnusableRecord(`has an input \`${unknown}\`, but ${entry} takes (${names.join(', ')})`);
  return given.map((name) => inputs[name]);
}

/** @throws UnusableRecord or RangeError whose message continues a sentence that begins with the place of the test */
export function testOfJson(entry: unknown, signature: Signature, style: ListStyle | undefined): TestCase {
  if (Array.isArray(entry)) return fromList(entry, signature, style);
  if (typeof entry !== 'object' || entry === null) {
    throw new UnusableRecord('is none of [arg, …, expected], {inputs, expected} or an assert string');
  }
  if ('args' in entry) return fromTagged(entry, signature);
  const { inputs: given, expected } = entry as { inputs?: unknown; expected?: unknown };
  const inputs = isNamed(given) ? positioned(given, signature) : given;
  if (!Array.isArray(inputs)) throw new UnusableRecord('has no list `inputs`');
  if (!('expected' in entry)) throw new UnusableRecord('has no `expected`');
  return toCase(inputs, expected, signature);
}
