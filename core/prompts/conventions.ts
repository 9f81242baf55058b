// What the prompts say about problems that are not a plain function: whole programs, classes of operations, linked lists and
// trees, arguments that are changed in place. core/parse and the sandbox read the tests of every form that is shown here.
import { nameOf } from '../parse/asserts.js';
import { parseSignature } from '../parse/signature.js';
import { type Calling, type Shape, WHOLE_PROGRAM } from '../schema/calling.js';
import type { Problem } from '../schema/problem.js';

type Called = Pick<Problem, 'functionSignature' | 'entry'> & { calling?: Calling | undefined };

interface Example {
  task: string; // what the example's solution does
  call: string; // an input
  expected: string; // the right answer
}

export interface Convention {
  heading: string; // the line above the signature
  noun: 'function' | 'program' | 'class';
  rule?: string; // how the program is called; default: as a plain function
  form: string; // the required form of the code
  parameters?: readonly string[]; // the names of a call's arguments; default: as in the signature
  terms?: string; // what these names mean
  expected?: string; // what a test compares; default: the value that the function returns
  example?: Example; // default: none
}

const PLAIN: Convention = {
  heading: 'Function signature',
  noun: 'function',
  form: 'Use exactly the given signature',
};

const STDIO: Convention = {
  heading: 'Program',
  noun: 'program',
  rule: 'The solution is a whole program, not a function. It reads its input from standard input and prints its answer to standard output. Every test runs it once.',
  form: 'Write a whole program that reads standard input and prints the answer',
  parameters: ['text'],
  terms: '`text` is the whole text of standard input, a Python string with `\\n` at the end of every line.',
  expected: 'the whole text that the program must print, a Python string with `\\n` at the end of every line',
  example: {
    task: 'a program that reads two numbers from one line and prints their sum',
    call: 'main("1 2\\n")',
    expected: '"3\\n"',
  },
};

const OPERATIONS: Convention = {
  heading: 'Class',
  noun: 'class',
  rule: 'A test creates one object of the class and calls its methods in order. It is written as two lists of the same length: the names, first that of the class and then those of the methods, and the argument list of each. Its result is the list of what each call returns: None for the constructor and for a method that returns nothing.',
  form: 'Use exactly the given class and its methods',
  parameters: ['names', 'arguments'],
  terms:
    '`names` is the list of the class and the methods to call, `arguments` has one list of arguments for each name.',
  expected: 'the list of results, one for each name',
  example: {
    task: 'a class `Counter` whose `add` adds a number and whose `total` returns the sum',
    call: 'Counter(["Counter", "add", "total"], [[], [3], []])',
    expected: '[None, None, 3]',
  },
};

const LISTS =
  '`ListNode` (attributes `val` and `next`) is already defined. Tests write a linked list as the list of its values: `[1, 2, 3]`. The empty one is `[]`.';
const TREES =
  '`TreeNode` (attributes `val`, `left` and `right`) is already defined. Tests write a tree as the list of its values level by level, with None for a missing child: `[1, None, 2]` is the root 1 with the right child 2. A missing node has no children in the list. The empty tree is `[]`.';

/** Examples by the shape of a parameter or the result. */
const EXAMPLES: Readonly<Record<Shape, Example>> = {
  value: { task: 'sorts a list', call: 'f([3, 1, 2])', expected: '[1, 2, 3]' },
  ListNode: { task: 'reverses a linked list', call: 'f([1, 2, 3])', expected: '[3, 2, 1]' },
  TreeNode: { task: 'mirrors a tree', call: 'f([1, None, 2])', expected: '[1, 2]' },
  'ListNode[]': {
    task: 'reverses each linked list',
    call: 'f([[1, 2], [3]])',
    expected: '[[2, 1], [3]]',
  },
  'TreeNode[]': {
    task: 'mirrors each tree',
    call: 'f([[1, None, 2], []])',
    expected: '[[1, 2], []]',
  },
};

/** The convention of a problem. Without a `calling`, the signature still shows whether the problem asks for a whole program. */
export function conventionOf(problem: Called): Convention {
  const { calling, entry, functionSignature } = problem;
  const style = calling?.style ?? (functionSignature.trim() === WHOLE_PROGRAM ? 'stdio' : 'call');
  if (style === 'stdio') return withName(STDIO, entry);
  const shapes = [...(calling?.parameters ?? []), calling?.result ?? 'value'].filter((shape) => shape !== 'value');
  const nodes = [
    ...(shapes.some((shape) => shape.startsWith('List')) ? [LISTS] : []),
    ...(shapes.some((shape) => shape.startsWith('Tree')) ? [TREES] : []),
    ...(shapes.some((shape) => shape.endsWith('[]')) ? ['Several of them are a list of such lists.'] : []),
  ];
  if (style === 'operations') return { ...OPERATIONS, rule: [OPERATIONS.rule, ...nodes].join(' ') };
  const observe = calling?.observe ?? 'result';
  if (nodes.length === 0 && observe === 'result') return PLAIN;
  if (observe === 'result') return { ...PLAIN, rule: nodes.join(' '), example: exampleOf(shapes[0]!, false) };
  const changed = observedName(problem, observe);
  const rule = `The function changes ${changed} in place. A test compares that argument after the call, whatever the function returns.`;
  return {
    ...PLAIN,
    rule: [rule, ...nodes].join(' '),
    expected: `the value that ${changed} must have after the call`,
    example: exampleOf(calling?.parameters[observe] ?? 'value', true),
  };
}

function exampleOf(shape: Shape, inPlace: boolean): Example {
  const { task, ...values } = EXAMPLES[shape];
  return { task: `a function \`f\` that ${task}${inPlace ? ' in place' : ''}`, ...values };
}

/** The name of an argument in the signature, or its number if it has no name there. */
function observedName({ functionSignature, entry }: Called, index: number): string {
  const name = parseSignature(functionSignature, nameOf(entry))?.names[index];
  return name ? `\`${name}\`` : `argument ${index + 1}`;
}

/** The convention with the problem's entry in its examples of calls, because calls in an answer are found by this name. */
function withName(convention: Convention, entry: string): Convention {
  const example = convention.example!;
  return { ...convention, example: { ...example, call: example.call.replace('main', nameOf(entry)) } };
}
