// The tests of a public set, in any of the shapes that trainers exchange: `{inputs, outputs, fn_name}`, a list of `{input, output,
// type}`, assert strings, or Python source (also as `{functional: source}`); each as it is or as JSON text. A test without a function
// is one of a whole program.
import { GauntletError } from '../../core/base/errors.js';
import { parsePythonLiteral } from '../../core/parse/literal.js';
import { intValue } from '../../core/parse/numbers.js';
import type { Signature } from '../../core/parse/signature.js';
import type { TestCase } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { MARK, ofJsonText, parseExactJson, parseJson, valueOfJson } from '../exactJson.js';
import { positioned, requireArity, testOfJson } from '../testForms.js';
import { placed, UnusableRecord } from './format.js';
import { unpackText } from './pickledText.js';
import { stdioTest } from './stdio.js';

const MAX_TESTS = 10_000; // the largest known problem has some hundred
const CALLS = /^(functional|function_call|function|call)/i; // the `type` of a test that calls a function
const LISTS_FIRST = /^function_call/i; // the arguments are the text of one list; other types have one argument per line

export type GivenTests =
  | { kind: 'program'; tests: TestCase[] }
  | { kind: 'calls'; entry: string | undefined; isWrapped?: boolean; read(signature: Signature): TestCase[] }
  | { kind: 'source'; source: string };

/**
 * @param exact the tests with numbers as written (exactJson.ts)
 * @param isOfCalls whether tests count as calls if neither a type nor a function name tells
 * @throws UnusableRecord
 */
export function givenTests(exact: unknown, isOfCalls = false): GivenTests {
  const isPacked = typeof exact === 'string' && /^[\w+/]{20,}=*$/.test(exact); // LiveCodeBench packs its tests
  const parsed = ofJsonText(isPacked ? unpackText(exact) : exact);
  if (typeof parsed === 'string' && /^\s*[[{]/.test(parsed)) throw new UnusableRecord('is not JSON');
  const given = isFields(parsed) && typeof parsed.functional === 'string' ? parsed.functional : parsed;
  if (typeof given === 'string') return { kind: 'source', source: given };
  const list = (Array.isArray(given) ? given.filter((one) => one !== null) : pairs(given)).map((one) =>
    ofJsonText(one),
  );
  if (list.length > MAX_TESTS) throw new UnusableRecord(`must have at most ${MAX_TESTS} tests`);
  if (list.length > 0 && list.every((one) => typeof one === 'string')) {
    return { kind: 'source', source: list.join('\n') };
  }
  if (list.some(isOwnForm)) return { kind: 'calls', entry: undefined, read: (signature) => ownTests(list, signature) };
  const cases = list.map(caseOf);
  const calls = cases.filter((one) => isCall(one, isOfCalls));
  if (calls.length === 0) {
    return { kind: 'program', tests: cases.map(({ input, output }) => stdioTest(printed(input), printed(output))) };
  }
  if (calls.length < cases.length) throw new UnusableRecord('tests of functions and of whole programs in one problem');
  const names = [...new Set(cases.map(({ name }) => name).filter((name) => name !== undefined))];
  if (names.length > 1) throw new UnusableRecord(`tests of several functions: ${names.slice(0, 3).join(', ')}`);
  // trainers wrap the answer of a call in a list of one, and JSON makes text of the keys of a dict
  const isOfJudge = !Array.isArray(given) || cases.every(({ type }) => LISTS_FIRST.test(type));
  const isWrapped = isOfJudge && cases.every(({ output }) => Array.isArray(output) && output.length === 1);
  const keyed = isOfJudge ? withNumberKeys : (value: Value): Value => value;
  const read = (signature: Signature): TestCase[] =>
    cases.map(({ type, input, output }) => {
      const args = argumentsOf(input, signature, type);
      requireArity(signature, args.length);
      const answer = isWrapped ? (output as unknown[])[0] : output;
      const expected = typeof input === 'string' ? literalOr(answer) : valueOfJson(answer);
      return { args: args.map(keyed), expected: keyed(expected) };
    });
  return { kind: 'calls', entry: names[0], isWrapped, read };
}

/** A dict whose keys are all whole numbers as text, as the judge of APPS reads it. */
function withNumberKeys(value: Value): Value {
  if (typeof value !== 'object' || value === null || !('d' in value)) return value;
  const isNumber = value.d.every(([key]) => typeof key === 'string' && /^-?\d+$/.test(key));
  return isNumber ? { d: value.d.map(([key, one]) => [intValue(BigInt(key as string)), one]) } : value;
}

interface Case {
  input: unknown;
  output: unknown;
  type: string;
  name: string | undefined; // the name of the function, if the test gives it
}

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(MARK in value);

function pairs(given: unknown): Fields[] {
  if (!isFields(given)) throw new UnusableRecord('has no tests in it');
  const { fn_name, type, testtype } = given;
  const [inputs, outputs] = [given.inputs ?? given.input, given.outputs ?? given.output];
  if (!Array.isArray(inputs) || !Array.isArray(outputs))
    throw new UnusableRecord('has no lists `inputs` and `outputs`');
  if (inputs.length !== outputs.length)
    throw new UnusableRecord(`has ${inputs.length} inputs, but ${outputs.length} outputs`);
  return inputs.map((input, i) => ({ input, output: outputs[i], fn_name, type: type ?? testtype }));
}

/** Whether a test has a form of `baseline_tests`: a list, or an object with `expected`. */
const isOwnForm = (test: unknown): boolean => Array.isArray(test) || (isFields(test) && 'expected' in test);

const ownTests = (tests: unknown[], signature: Signature): TestCase[] =>
  tests.map((test, i) => placed(`test ${i + 1}`, () => testOfJson(test, signature, undefined)));

function caseOf(test: unknown, i: number): Case {
  if (!isFields(test) || !('input' in test) || !('output' in test))
    throw new UnusableRecord(`test ${i + 1} has no \`input\` and \`output\``);
  const metadata = ofJsonText(test.metadata);
  const name = test.fn_name ?? test.func_name ?? (isFields(metadata) ? metadata.func_name : undefined);
  const type = String(test.type ?? test.testtype ?? '');
  return { input: test.input, output: test.output, type, name: typeof name === 'string' && name ? name : undefined };
}

/** Whether a test is a call of a function. A whole program reads text, or a list of lines. */
const isCall = ({ type, name, input }: Case, isOfCalls: boolean): boolean =>
  CALLS.test(type) || (type === '' && (name !== undefined || isOfCalls || !isLines(input)));
const isLines = (input: unknown): boolean =>
  input === null ||
  typeof input === 'string' ||
  (Array.isArray(input) && input.every((line) => typeof line === 'string'));

function printed(given: unknown): string {
  if (typeof given === 'string') return given;
  if (Array.isArray(given)) return given.map(printed).join('\n');
  if (given === null || typeof given !== 'object') return given === null ? '' : String(given);
  return MARK in given ? String(given[MARK]) : JSON.stringify(given);
}

function argumentsOf(input: unknown, signature: Signature, type: string): Value[] {
  if (Array.isArray(input)) return input.map(valueOfJson);
  if (isFields(input)) return positioned(input, signature).map(valueOfJson);
  if (typeof input !== 'string') return [valueOfJson(input)];
  const lines = (): Value[] =>
    input
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map(literal);
  const list = (): Value[] => {
    const value = literal(input);
    return Array.isArray(value) ? value : [value];
  };
  const written = (): Value[] => literal(`[${input}]`) as Value[]; // arguments may be written as in a call: `1, 'a'`
  const forms = LISTS_FIRST.test(type) ? [list, lines, written] : [lines, list, written];
  for (const form of forms) {
    const args = attempt(form);
    if (args && args.length >= signature.required && args.length <= signature.most) return args;
  }
  return forms[0]!();
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnusableRecord) return undefined;
    throw error;
  }
}

/** Reads a JSON value or a Python literal. @throws UnusableRecord */
function literal(text: string): Value {
  try {
    parseJson(text);
    return valueOfJson(parseExactJson(text));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
  }
  try {
    return parsePythonLiteral(text);
  } catch (error) {
    if (error instanceof GauntletError) throw new UnusableRecord(`a test is not a literal: ${error.message}`);
    throw error;
  }
}

/** Reads an expected answer. Text that is no literal stands for itself. */
function literalOr(answer: unknown): Value {
  if (typeof answer !== 'string') return valueOfJson(answer);
  const value = attempt(() => literal(answer));
  return value === undefined ? answer : value;
}
