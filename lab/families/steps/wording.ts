// Renders a chain of operations as texts: description, signature, reference program, and the reasoning of stages 1 to 4.
import { RandomStream } from '../../../core/base/random.js';
import type { Domain, Operation } from './operation.js';
import { evaluate } from './tests.js';

const VARIABLES: Record<Domain, string> = { list: 'nums', text: 'text', number: 'n' };
const TYPES: Record<Domain, string> = { list: 'list[int]', text: 'str', number: 'int' };
const INPUTS: Record<Domain, string> = {
  list: 'a list of integers `nums`',
  text: 'a string `text`',
  number: 'an integer `n`',
};
const RESULTS: Record<Domain, string> = { list: 'list', text: 'string', number: 'number' };
const OPENINGS = ['You are given', 'You get', 'The function receives'];
const INDENT = '    ';

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
const inputOf = (operations: readonly Operation[]): Domain => operations[0]!.from;
const resultOf = (operations: readonly Operation[]): Domain => operations.at(-1)!.to;

export const signature = (operations: readonly Operation[]): string =>
  `def solve(${VARIABLES[inputOf(operations)]}: ${TYPES[inputOf(operations)]}) -> ${TYPES[resultOf(operations)]}:`;

/** Writes one sentence for each operation. The third wording of an operation never occurs in training. */
export function describe(id: string, operations: readonly Operation[], training: boolean): string {
  const random = new RandomStream('steps', 'wording', id);
  const sentences = operations.map(({ words, care }, i) => {
    const text = words[random.int(0, training ? 1 : 2)]!;
    const lead = operations.length === 1 ? '' : i === 0 ? 'first ' : i < operations.length - 1 ? 'next ' : 'then ';
    return `${capital(lead + text)} (${care}).`;
  });
  const end = `Return the resulting ${RESULTS[resultOf(operations)]}.`;
  return [`${random.choice(OPENINGS)} ${INPUTS[inputOf(operations)]}.`, ...sentences, end].join(' ');
}

/** The reference program. Each operation assigns a variable of its domain; the last one returns. */
export function program(operations: readonly Operation[]): string {
  const lines = operations.flatMap(({ from, to, python }, i) => {
    const filled = python.map((line) => line.replaceAll('$', VARIABLES[from]));
    const value = filled.pop()!;
    return [...filled, i === operations.length - 1 ? `return ${value}` : `${VARIABLES[to]} = ${value}`];
  });
  return [signature(operations), ...lines.map((line) => INDENT + line)].join('\n');
}

const EXAMPLES: Record<Domain, (number[] | string | number)[]> = {
  list: [[], [3], [0, -2]],
  text: ['', 'a', 'A 1'],
  number: [0, 1, -12],
};
const DANGERS: Record<Domain, string> = {
  list: 'an empty list, zeros, negative numbers, duplicates',
  text: 'an empty string, spaces, digits, upper case',
  number: 'zero, one, negative numbers',
};

/** Short answers to the first four stages. */
export function reasoning(operations: readonly Operation[]): string[] {
  const [from, to] = [inputOf(operations), resultOf(operations)];
  const steps = operations.map(({ words }) => words[0]!.split(/[:;]/)[0]!);
  const cases = EXAMPLES[from].flatMap((input) => {
    const value = evaluate(operations, input);
    return value === undefined ? [] : [`${JSON.stringify(input)} gives ${JSON.stringify(value)}`];
  });
  return [
    `The input is ${INPUTS[from]}, the result a ${RESULTS[to]}. My idea: ${steps.join(', then ')}.`,
    [...operations.map(({ name, care }, i) => `${i + 1}. ${name}: ${care}`), `Edge cases: ${cases.join('; ')}.`].join(
      '\n',
    ),
    [...operations.map((one) => `${VARIABLES[one.to]} <- ${pseudocode(one)}`), `return ${VARIABLES[to]}`].join('\n'),
    `${VARIABLES[from]} may be any ${TYPES[from]}. Dangerous: ${DANGERS[from]}. The result is always of type ${TYPES[to]}. Every step takes a value of the type that the step before returns.`,
  ];
}

/** The Python expression of an operation, or its English words if it has several lines of code. */
const pseudocode = ({ from, python, words }: Operation): string =>
  python.length === 1 ? python[0]!.replaceAll('$', VARIABLES[from]) : words[0]!;
