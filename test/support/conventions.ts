// A problem of every calling convention, whose solution is the one that the example in its prompts describes.
import { type Calling, callingSchema, WHOLE_PROGRAM } from '../../core/schema/calling.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';

export interface Convened {
  name: string;
  problem: Pick<Problem, 'description' | 'functionSignature' | 'entry'> & { calling: Calling };
  solution: string;
  args: Value[];
  expected: Value;
}

const convened = (
  name: string,
  entry: string,
  functionSignature: string,
  calling: Partial<Calling>,
  solution: string,
  args: Value[],
  expected: Value,
): Convened => ({
  name,
  problem: { description: 'See the example.', functionSignature, entry, calling: callingSchema.parse(calling) },
  solution,
  args,
  expected,
});

const REVERSE =
  'def f(head):\n    last = None\n    while head:\n        head.next, last, head = last, head, head.next\n    return last\n';
const MIRROR =
  'def mirror(root):\n    if root:\n        root.left, root.right = mirror(root.right), mirror(root.left)\n    return root\n';

export const CONVENED: Convened[] = [
  convened(
    'a whole program',
    'main',
    WHOLE_PROGRAM,
    { style: 'stdio' },
    'print(sum(map(int, input().split())))',
    ['1 2\n'],
    '3\n',
  ),
  convened(
    'a class of operations',
    'Counter',
    'class Counter:\n    def __init__(self): ...\n    def add(self, n: int) -> None: ...\n    def total(self) -> int: ...',
    { style: 'operations' },
    'class Counter:\n    def __init__(self):\n        self.n = 0\n    def add(self, n):\n        self.n += n\n    def total(self):\n        return self.n\n',
    [
      ['Counter', 'add', 'total'],
      [[], [3], []],
    ],
    [null, null, 3],
  ),
  convened(
    'linked lists',
    'f',
    'def f(head: ListNode) -> ListNode:',
    { parameters: ['ListNode'], result: 'ListNode' },
    REVERSE,
    [[1, 2, 3]],
    [3, 2, 1],
  ),
  convened(
    'trees',
    'f',
    'def f(root: Optional[TreeNode]) -> Optional[TreeNode]:',
    { parameters: ['TreeNode'], result: 'TreeNode' },
    `${MIRROR}f = mirror`,
    [[1, null, 2]],
    [1, 2],
  ),
  convened(
    'several linked lists',
    'f',
    'def f(lists: list[ListNode]) -> list[ListNode]:',
    { parameters: ['ListNode[]'], result: 'ListNode[]' },
    `${REVERSE.replace('f(', 'one(')}def f(lists): return [one(head) for head in lists]`,
    [[[1, 2], [3]]],
    [[2, 1], [3]],
  ),
  convened(
    'several trees',
    'f',
    'def f(roots: list[TreeNode]) -> list[TreeNode]:',
    { parameters: ['TreeNode[]'], result: 'TreeNode[]' },
    `${MIRROR}def f(roots): return [mirror(root) for root in roots]`,
    [[[1, null, 2], []]],
    [[1, 2], []],
  ),
  convened(
    'an argument that is changed in place',
    'f',
    'def f(numbers: list[int]) -> None:',
    { observe: 0 },
    'def f(numbers): numbers.sort()',
    [[3, 1, 2]],
    [1, 2, 3],
  ),
  convened(
    'a tree that is changed in place',
    'f',
    'def f(root: TreeNode) -> None:',
    { parameters: ['TreeNode'], observe: 0 },
    `${MIRROR}def f(root): mirror(root)`,
    [[1, null, 2]],
    [1, 2],
  ),
];
