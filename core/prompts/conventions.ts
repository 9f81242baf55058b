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
  test: string; // a whole test
}

export interface Convention {
  heading: string; // the line above the signature
  noun: 'function' | 'program' | 'class';
  rule?: string; // how the program is called; default: as a plain function
  form: string; // the required form of the code
  test: string; // the description of the two parts of a test
  call: string; // the description of a call's arguments
  example?: Example; // default: the example of a plain function
}

const PLAIN: Convention = {
  heading: 'Function signature',
  noun: 'function',
  form: 'Use exactly the given signature',
  test: 'Answer with a Python list of `((arg, ...), expected)` literals, one test a line, and nothing else. The first part is the tuple of all arguments in order (a single argument keeps its comma), the second is the value the function must return.',
  call: '',
};

const STDIO: Convention = {
  heading: 'Program',
  noun: 'program',
  rule: 'The solution is a whole program, not a function. It reads its input from standard input and prints its answer to standard output. Every test runs it once.',
  form: 'Write a whole program that reads standard input and prints the answer',
  test: 'Answer with a Python list of `((input,), output)` literals, one test a line, and nothing else. `input` is the whole text of standard input (its tuple keeps the comma), `output` is the whole text that the program must print. Both are Python strings with `\\n` at the end of every line.',
  call: ' The only argument is the whole text of standard input, a Python string with `\\n` at the end of every line.',
  example: {
    task: 'a program that reads two numbers from one line and prints their sum',
    call: 'main("1 2\\n")',
    test: '(("1 2\\n",), "3\\n")',
  },
};

const OPERATIONS: Convention = {
  heading: 'Class',
  noun: 'class',
  rule: 'A test creates one object of the class and calls its methods in order. It is written as two lists of the same length: the names, first that of the class and then those of the methods, and the argument list of each. Its result is the list of what each call returns: None for the constructor and for a method that returns nothing.',
  form: 'Use exactly the given class and its methods',
  test: 'Answer with a Python list of `((names, arguments), results)` literals, one test a line, and nothing else. `names` is the list of the class and the methods to call, `arguments` has one list of arguments for each name, and `results` has one value for each name.',
  call: ' The first argument is the list of the class and the methods to call, the second has one list of arguments for each name.',
  example: {
    task: 'a class `Counter` whose `add` adds a number and whose `total` returns the sum',
    call: 'Counter(["Counter", "add", "total"], [[], [3], []])',
    test: '((["Counter", "add", "total"], [[], [3], []]), [None, None, 3])',
  },
};

const LISTS =
  '`ListNode` (attributes `val` and `next`) is already defined. Tests write a linked list as the list of its values: `[1, 2, 3]`. The empty one is `[]`.';
const TREES =
  '`TreeNode` (attributes `val`, `left` and `right`) is already defined. Tests write a tree as the list of its values level by level, with None for a missing child: `[1, None, 2]` is the root 1 with the right child 2. A missing node has no children in the list. The empty tree is `[]`.';

/** Examples by the shape of a parameter or the result. */
const EXAMPLES: Readonly<Record<Shape, Example>> = {
  value: { task: 'sorts a list', call: 'f([3, 1, 2])', test: '(([3, 1, 2],), [1, 2, 3])' },
  ListNode: { task: 'reverses a linked list', call: 'f([1, 2, 3])', test: '(([1, 2, 3],), [3, 2, 1])' },
  TreeNode: { task: 'mirrors a tree', call: 'f([1, None, 2])', test: '(([1, None, 2],), [1, 2])' },
  'ListNode[]': {
    task: 'reverses each linked list',
    call: 'f([[1, 2], [3]])',
    test: '(([[1, 2], [3]],), [[2, 1], [3]])',
  },
  'TreeNode[]': {
    task: 'mirrors each tree',
    call: 'f([[1, None, 2], []])',
    test: '(([[1, None, 2], []],), [[1, 2], []])',
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
    test: PLAIN.test.replace(
      'the value the function must return',
      `the value that ${changed} must have after the call`,
    ),
    example: exampleOf(calling?.parameters[observe] ?? 'value', true),
  };
}

function exampleOf(shape: Shape, inPlace: boolean): Example {
  const { task, call, test } = EXAMPLES[shape];
  return { task: `a function \`f\` that ${task}${inPlace ? ' in place' : ''}`, call, test };
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
