// Calling styles, for every backend: methods, operations, linked lists and trees, in-place answers.
import assert from 'node:assert/strict';
import { type Calling, callingSchema } from '../../core/schema/calling.js';
import type { CallResult } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

export function callingConformance(get: () => Sandbox): void {
  const limits = { cpuSeconds: 30, caseCpuSeconds: 30, wallSeconds: 90, memoryMb: 256, outputBytes: 1_000_000 };
  /** Runs several programs, each with its entry, calling, code and inputs. */
  const runAll = async (
    jobs: [entry: string, calling: Partial<Calling> | undefined, code: string, inputs: Value[][]][],
  ): Promise<CallResult[][]> => {
    const results = await get().run(
      jobs.map(([entry, calling, code, inputs], i) => ({
        id: `calling-${i}`,
        code,
        entry,
        calling: calling && callingSchema.parse(calling),
        inputs,
        limits,
      })),
    );
    return results.map(({ calls }) => calls);
  };
  const run = async (entry: string, calling: Partial<Calling> | undefined, code: string, inputs: Value[][]) =>
    (await runAll([[entry, calling, code, inputs]]))[0]!;
  const value = (v: Value): CallResult => ({ kind: 'value', value: v });
  const refused = (calls: CallResult[], message: RegExp): void => {
    for (const call of calls) {
      assert.equal(call.kind, 'error', JSON.stringify(call));
      assert.match((call as { message: string }).message, message);
    }
  };

  it('calling: calls a method on a fresh object each time and provides the names of interview sites', async () => {
    const code = `
class Solution:
  def __init__(self): self.seen = []
  def twoSum(self, nums: List[int], k: Optional[int]) -> List[int]:
    self.seen.append(k)
    return [len(self.seen), heapq.nsmallest(1, nums)[0], deque(nums).pop(), inf > 1]
  @staticmethod
  def fixed(a): return a
`;
    const [method, fixed, plain] = await runAll([
      [
        'Solution.twoSum',
        undefined,
        code,
        [
          [[3, 1], 1],
          [[3, 1], 2],
        ],
      ],
      ['Solution.fixed', undefined, code, [[7]]],
      ['f', undefined, 'def f(x): return List', [[1]]],
    ]);
    assert.deepEqual(method, [value([1, 1, 1, true]), value([1, 1, 1, true])]);
    assert.deepEqual(fixed, [value(7)]);
    refused(plain!, /NameError/); // a program without calling has only its own imports
  });

  it('calling: requires the program itself to define the entry', async () => {
    const all = await runAll([
      ['gcd', {}, 'x = 1', [[4, 6]]],
      ['Counter', { style: 'operations' }, 'x = 1', [[['Counter'], [[]]]]],
      ['Solution.f', undefined, 'class Other:\n  def f(self): return 1', [[]]],
      ['Solution.f', undefined, 'class Solution:\n  def g(self): return 1', [[]]],
      ['Solution.f', undefined, 'class Solution:\n  f = 3', [[]]],
      ['ListNode', { result: 'ListNode' }, 'x = 1', [[1]]],
    ]);
    for (const calls of all) refused(calls, /NameError: the program defines no/);
  });

  it('calling: operations return the list of results as they were after each call, None for the constructor', async () => {
    const code = `
class MinStack:
  def __init__(self, *start): self.items = list(start)
  def push(self, x): self.items.append(x)
  def all(self): return self.items
  def pop(self): return self.items.pop()
`;
    const names: Value = ['MinStack', 'push', 'all', 'push', 'pop', 'all'];
    const args: Value = [[], [1], [], [2], [], []];
    const operations = { style: 'operations' as const };
    const [results, started, wrong, short, missing] = await runAll([
      [
        'MinStack',
        operations,
        code,
        [
          [names, args],
          [names, args],
        ],
      ],
      [
        'MinStack',
        operations,
        code,
        [
          [
            ['MinStack', 'all'],
            [[4, 5], []],
          ],
        ],
      ],
      ['MinStack', operations, code, [[['Other'], [[]]]]],
      ['MinStack', operations, code, [[['MinStack', 'pop'], [[]]]]],
      [
        'MinStack',
        operations,
        code,
        [
          [
            ['MinStack', 'peek'],
            [[], []],
          ],
          [
            ['MinStack', 'pop'],
            [[], []],
          ],
        ],
      ],
    ]);
    const answer = value([null, null, [1], null, 2, [1]]);
    assert.deepEqual(results, [answer, answer]);
    assert.deepEqual(started, [value([null, [4, 5]])]);
    refused(wrong!, /not the class MinStack/);
    refused(short!, /as many argument lists/);
    refused(missing!, /AttributeError|IndexError/);
  });

  it("calling: builds linked lists and trees from literals and back, with the program's class or the provided one", async () => {
    const lists = { parameters: ['ListNode'], result: 'ListNode' } as Partial<Calling>;
    const trees = { parameters: ['TreeNode'], result: 'TreeNode' } as Partial<Calling>;
    const reverse =
      'class Solution:\n  def f(self, head: Optional[ListNode]) -> Optional[ListNode]:\n    last = None\n    while head: head.next, last, head = last, head, head.next\n    return last';
    const own = `class ListNode:\n  __slots__ = ("val", "next")\n  def __init__(self, val, next): self.val, self.next = val, next\n${reverse}`;
    const mirror =
      'class Solution:\n  def f(self, r):\n    if r: r.left, r.right = self.f(r.right), self.f(r.left)\n    return r';
    const merge =
      'class Solution:\n  def f(self, lists):\n    values = []\n    for l in lists:\n      while l: values.append(l.val); l = l.next\n    head = None\n    for v in sorted(values, reverse=True): head = ListNode(v, head)\n    return [head, head, None]';
    const [reversed, slotted, mirrored, merged, forest, added] = await runAll([
      ['Solution.f', lists, reverse, [[[1, 2, 3]], [[]], [null], [{ t: ['a'] }]]],
      ['Solution.f', lists, own, [[[1, [2], { f: '0.5' }]]]],
      ['Solution.f', trees, mirror, [[[1, 2, 3, null, 4]], [[]], [[5]], [[1, null, 2, 3]], [null]]],
      ['Solution.f', { parameters: ['ListNode[]'], result: 'ListNode[]' }, merge, [[[[1, 4], [], [2]]]]],
      [
        'f',
        { parameters: ['value', 'TreeNode[]'], result: 'value' },
        'def f(k, ts): return [k, [t and t.val for t in ts]]',
        [[1, [[7, 8], []]]],
      ],
      ['f', trees, 'def f(t):\n  return TreeNode(0, t, t)', [[[1, 2]]]], // a subtree may occur twice
    ]);
    assert.deepEqual(reversed, [value([3, 2, 1]), value([]), value([]), value(['a'])]);
    assert.deepEqual(slotted, [value([{ f: '0.5' }, [2], 1])]);
    assert.deepEqual(mirrored, [
      value([1, 3, 2, null, null, 4]),
      value([]),
      value([5]),
      value([1, 2, null, null, 3]),
      value([]),
    ]);
    assert.deepEqual(merged, [value([[1, 2, 4], [1, 2, 4], []])]);
    assert.deepEqual(forest, [value([1, [7, null]])]);
    assert.deepEqual(added, [value([0, 1, 1, 2, null, 2])]);
  });

  it('calling: rejects cycles, other objects and oversized structures, but accepts long lists', async () => {
    const isWasm = get().info.kind === 'wasm'; // here freeing a chain of many thousand objects overflows the stack
    const list = { result: 'ListNode' } as Partial<Calling>;
    const tree = { result: 'TreeNode' } as Partial<Calling>;
    const make = 'def f(k):\n  a = ListNode(0)\n  for i in range(k): a = ListNode(i, a)\n  return a';
    const [cycle, loop, plain, other, long, endless, wide, nested] = await runAll([
      ['f', list, 'def f():\n  a = ListNode(1)\n  a.next = ListNode(2, a)\n  return a', [[]]],
      ['f', tree, 'def f():\n  a = TreeNode(1)\n  a.left = TreeNode(2, None, a)\n  return a', [[]]],
      ['f', list, 'def f(): return [1, 2]', [[]]],
      ['f', list, 'class N: pass\ndef f(): return N()', [[]]],
      ['f', list, make, [[isWasm ? 2_000 : 20_000]]],
      ['f', list, make, [[isWasm ? 2 : 250_000]]],
      ['f', tree, 'def f():\n  a = None\n  for i in range(40): a = TreeNode(i, a, a)\n  return a', [[]]],
      ['f', list, 'def f():\n  a = ListNode(1)\n  a.val = a\n  return a', [[]]],
    ]);
    refused(cycle!, /linked list has a cycle/);
    refused(loop!, /tree has a cycle/);
    refused(plain!, /is not a ListNode/);
    refused(other!, /stores no `val`/);
    assert.equal(long![0]!.kind, 'value', JSON.stringify(long).slice(0, 200));
    if (!isWasm) refused(endless!, /too many parts/);
    refused(wide!, /too many parts/);
    refused(nested!, /not plain data/);
  });

  it('calling: reads nodes without running code of the program', async () => {
    const forged = (body: string): string => `
ran = []
class Key(str):
  def __eq__(self, other): ran.append("eq"); return True
  __hash__ = str.__hash__
class Names(dict):
  def items(self): ran.append("items"); return [("val", 1), ("next", None)]
class Meta(type):
  def __getattribute__(cls, name): ran.append("meta"); return type.__getattribute__(cls, name)
  def mro(cls): return type.mro(cls)
class Node:
  pass
${body}
calls = 0
def f():
  global calls
  calls += 1
  if calls > 1: return None if ran == [] else ListNode(str(ran))
  n = make()
  ran.clear()
  return n
`;
    const bodies = [
      'class Node:\n  @property\n  def val(self): ran.append("property"); return 42\n  next = None\ndef make(): return Node()',
      'class Node:\n  def __getattr__(self, name): ran.append("getattr"); return None\ndef make(): return Node()',
      'class Node:\n  def __getattribute__(self, name): ran.append("getattribute"); return None\ndef make(): return Node()',
      'class Node:\n  __dict__ = property(lambda self: ran.append("dict") or {"val": 1, "next": None})\ndef make(): return Node()',
      'def make():\n  n = Node()\n  n.__dict__ = Names()\n  return n',
      'def make():\n  n = Node()\n  n.__dict__[Key("val")] = 1\n  n.__dict__[Key("next")] = None\n  return n',
      'class Node(metaclass=Meta):\n  val = property(lambda self: ran.append("property"))\n  next = None\ndef make(): return Node()',
      'class D:\n  def __get__(self, *a): ran.append("get"); return 1\nclass Node:\n  val = D()\n  next = None\ndef make(): return Node()',
      'class Node:\n  __class__ = ListNode\ndef make(): return Node()',
    ];
    for (const calls of await runAll(bodies.map((body) => ['f', { result: 'ListNode' }, forged(body), [[], []]]))) {
      refused(calls.slice(0, 1), /is not a ListNode: it stores no/);
      assert.deepEqual(calls[1], value([])); // no code of the program ran
    }
    const [overridden, falsy] = await runAll([
      // the stored value counts, not a computed one
      [
        'f',
        { result: 'ListNode' },
        'class Node(ListNode):\n  def __getattribute__(self, name): return 42\n  def __eq__(self, other): return True\n  def __bool__(self): return False\ndef f(): return Node(5, Node(6))',
        [[]],
      ],
      [
        'f',
        { result: 'ListNode' },
        'class Node:\n  next = None\n  def __init__(self, v): self.val = v\ndef f(): return Node(7)',
        [[]],
      ],
    ]);
    assert.deepEqual([overridden, falsy], [[value([5, 6])], [value([7])]]);
  });

  it('calling: returns an argument after the call if the problem observes it', async () => {
    const sort = 'class Solution:\n  def f(self, nums, k):\n    nums.sort()\n    return "no"';
    const flip = 'def f(head):\n  while head: head.val = -head.val; head = head.next';
    const [sorted, none, nodes] = await runAll([
      [
        'Solution.f',
        { observe: 0 },
        sort,
        [
          [[3, 1, 2], 0],
          [[2, 1], 0],
        ],
      ],
      ['Solution.f', { observe: 2 }, sort, [[[3, 1, 2], 0]]],
      ['f', { observe: 0, parameters: ['ListNode'] }, flip, [[[1, 2]]]],
    ]);
    assert.deepEqual(sorted, [value([1, 2, 3]), value([1, 2])]);
    refused(none!, /there is no argument 2/);
    assert.deepEqual(nodes, [value([-1, -2])]);
  });

  it('calling: rejects generators, iterators, ranges and views with a clear message', async () => {
    const answers = [
      '(x for x in [1])',
      'iter([1])',
      'range(3)',
      'map(str, [1])',
      'zip([1])',
      '{}.keys()',
      '{1: 2}.items()',
      'reversed([1])',
      'enumerate([1])',
      '[range(2)]',
      'Own()',
    ];
    const code = `class Own:\n  def __next__(self): return 1\ndef f(i):\n  return [${answers.map((a) => `lambda: ${a}`).join(', ')}][i]()`;
    refused(
      await run(
        'f',
        undefined,
        code,
        answers.map((_, i) => [i]),
      ),
      /return a list, not an iterator, generator, range or view/,
    );
    refused(await run('f', undefined, 'def f(): return f', [[]]), /function.*is not plain data/);
  });

  it('calling: runs a whole program that reads its input and prints its answer', async () => {
    const code =
      'import sys\nn = int(input())\nprint(n * 2)\nprint(sys.stdin.read().strip() if n else open(0).read(), end="")';
    const calls = await run('main', { style: 'stdio' }, code, [['3\nrest\n'], ['0\nwhole']]);
    assert.deepEqual(calls[0], value('6\nrest'));
    assert.equal(calls[1]!.kind, 'value');
  });

  it('calling: keeps the classes of shapes out of the next program', async () => {
    const [, after] = await runAll([
      [
        'f',
        { result: 'ListNode' },
        'ListNode.__init__ = None\nimport collections\ncollections.deque = None\ndef f(): return None',
        [[]],
      ],
      ['f', { parameters: ['ListNode'] }, 'def f(x): return [x.val, list(deque([1]))]', [[[5]]]],
    ]);
    assert.deepEqual(after, [value([5, [1]])]);
  });
}
