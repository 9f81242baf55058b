// The calling styles on every backend: methods, operations, linked lists and trees, and in-place answers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Calling, callingSchema } from '../../core/schema/calling.js';
import type { CallResult } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import { rulesOf } from '../../data/formats/evalplusRules.js';
import { ROOT } from '../../infra/root.mjs';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { CONVENED } from '../support/conventions.js';
import { pluck } from '../support/pluck.js';

const { checkers: CHECKERS } = JSON.parse(readFileSync(join(ROOT, 'test/data/judges.json'), 'utf8')) as {
  checkers: [id: string, entry: string, inputs: Value[], expected: Value, right: Value, wrong: Value][];
};

export function callingConformance(get: () => Sandbox): void {
  const limits = { cpuSeconds: 30, caseCpuSeconds: 30, wallSeconds: 90, memoryMb: 256, outputBytes: 1_000_000 };
  /** Runs several programs, each with its own entry, calling, code and inputs. */
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

  it('calls a method on a fresh object each time and provides the names of interview sites', async () => {
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
    refused(plain!, /NameError/); // a program without `calling` has only its own imports
  });

  it('lets the checkers of EvalPlus accept other right answers and no wrong ones', async () => {
    for (const [id, entry, inputs, expected, right, wrong] of CHECKERS) {
      const { checker } = rulesOf(id, entry, 1e-4);
      const questions = [expected, right, wrong, 'x'].map((answer) => [inputs, answer, expected]);
      const verdicts = [true, true, false, false].map(value);
      assert.deepEqual(await run('checker', undefined, checker!, questions), verdicts, id);
    }
  });

  it('confirms the examples in the prompts of every convention', async () => {
    const answers = await runAll(
      CONVENED.map(({ problem, solution, args }) => [problem.entry, problem.calling, solution, [args]]),
    );
    assert.deepEqual(
      answers,
      CONVENED.map(({ expected }) => [value(expected)]),
    );
  });

  it('requires the program itself to define the entry', async () => {
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

  it('returns the result of every operation as it was after the call, and None for the constructor', async () => {
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

  it("builds linked lists and trees from literals and back, with the program's class or the provided one", async () => {
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

  it('rejects cycles, other objects and oversized structures, but accepts long lists', async () => {
    const isWasm = get().info.kind === 'wasm'; // on this backend, freeing a chain of many thousand objects overflows the stack
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

  it('reads nodes without running code of the program', async () => {
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
      assert.deepEqual(calls[1], value([])); // the program has run no code
    }
    const [overridden, falsy] = await runAll([
      // reads the stored value, not a computed one
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

  it('returns an argument after the call if the problem observes it', async () => {
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

  it('rejects generators, iterators, ranges and views with a clear message', async () => {
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

  it('runs a whole program that reads its input and prints its answer', async () => {
    const code =
      'import sys\nn = int(input())\nprint(n * 2)\nprint(sys.stdin.read().strip() if n else open(0).read(), end="")';
    const calls = await run('main', { style: 'stdio' }, code, [['3\nrest\n'], ['0\nwhole']]);
    assert.deepEqual(calls[0], value('6\nrest'));
    assert.equal(calls[1]!.kind, 'value');
  });

  it('raises the recursion limit as judges do, and reports an endless recursion as RecursionError', async () => {
    const kinds = {
      plain: 'def f(n): return 0 if n == 0 else 1 + f(n - 1)',
      cached: 'import functools\n@functools.cache\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)',
      key: 'def f(n): return 0 if n == 0 else max([0], key=lambda _: f(n - 1)) + n',
      constructor: 'class A:\n  def __init__(self, n): self.n = n and 1 + A(n - 1).n\ndef f(n): return A(n).n',
      operator:
        'class A:\n  def __init__(self, n): self.n = n\n  def __add__(self, x): return self.n and 1 + (A(self.n - 1) + x)\ndef f(n): return A(n) + 1',
    };
    const safe = (code: string): string =>
      `${code}\ndef g(n):\n  try: return f(n)\n  except RecursionError: return "deep"`;
    const all = await runAll(Object.values(kinds).map((code) => ['g', {}, safe(code), [[9000], [-1], [3]]]));
    for (const [i, calls] of all.entries()) {
      const name = Object.keys(kinds)[i]!;
      assert.deepEqual(calls, [value(9000), value('deep'), value(3)], name);
    }
    const method =
      'class Solution:\n  def f(self, a):\n    def go(i): return 0 if i == len(a) else 1 + go(i + 1)\n    return go(0)';
    assert.deepEqual(await run('Solution.f', undefined, method, [[Array(3000).fill(0)]]), [value(3000)]);
    const operations = 'class A:\n  def f(self, n): return 0 if n == 0 else 1 + self.f(n - 1)';
    const steps: Value[] = [
      ['A', 'f'],
      [[], [30_000]],
    ];
    assert.deepEqual(await run('A', { style: 'operations' }, operations, [steps]), [value([null, 30_000])]);
    refused(await run('f', undefined, kinds.plain, [[3000]]), /RecursionError/); // a plain function has Python's limit
  });

  const printNext = 'print(int(input()) + 1)';
  const ENDS: Record<string, string> = {
    'exit()': `${printNext}\nexit()`,
    'quit()': `${printNext}\nquit()`,
    'sys.exit within try': `import sys\ntry:\n  ${printNext}\n  sys.exit(0)\nexcept:\n  pass`,
    'raise SystemExit in a function': `def main():\n  ${printNext}\n  raise SystemExit\nmain()\nprint(9)`,
    'os._exit after a flush': `import os, sys\n${printNext}\nsys.stdout.flush()\nprint(9)\nos._exit(0)`,
    'os._exit within try': `import os, sys\ntry:\n  ${printNext}\n  sys.stdout.flush()\n  os._exit(0)\nexcept BaseException: print(9)\nprint(9)`,
    'a closed stdout': `import sys\n${printNext}\nsys.stdout.close()\nsys.exit()`,
    'a closed descriptor': `import os, sys\n${printNext}\nsys.stdout.flush()\nos.close(1)`,
    atexit: `import atexit\natexit.register(lambda: ${printNext})`,
    'sys.__stdout__': 'import sys\nsys.__stdout__.write(str(int(sys.__stdin__.readline()) + 1))',
    'a replaced stdout':
      'import atexit, io, sys\nout = sys.stdout = io.StringIO()\natexit.register(lambda: sys.__stdout__.write(out.getvalue()))\nprint(int(input()) + 1)',
    'a detached stdout': `import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach())\n${printNext}`,
    'an open file on descriptor 1': 'import os\nout = os.fdopen(1, "w")\nout.write(str(int(input()) + 1))',
    'its own file': 'import os\nprint(6 if os.path.basename(__file__) and "marker" in open(__file__).read() else 0)',
    builtins: '__builtins__.answer = 6\nprint(answer)',
    'a recursion': 'def f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(20000) - 19994)',
  };
  const THREADS: Record<string, string> = {
    execv: "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'print(int(input()) + 1)'])",
    'a child that runs the file':
      'import subprocess, sys\nif len(sys.argv) > 1: print(int(input()) + 1)\nelse: subprocess.run([sys.executable, __file__, "again"])',
    'os._exit in a thread': `import os, sys, threading\ndef g():\n  ${printNext}\n  sys.stdout.flush()\n  os._exit(0)\nt = threading.Thread(target=g)\nt.start()\nt.join()\nprint(9)`,
    'sys.exit in a thread': `import sys, threading\ndef g():\n  ${printNext}\n  sys.exit(1)\nthreading.Thread(target=g).start()\nsys.exit()`,
    'an executor that stays open':
      'from concurrent.futures import ThreadPoolExecutor\nprint(ThreadPoolExecutor(2).submit(lambda: int(input()) + 1).result())',
    'a daemon thread': `import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n${printNext}`,
    'a thread with a large stack':
      'import sys, threading\nsys.setrecursionlimit(10 ** 6)\nthreading.stack_size(2 ** 28 - 1)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nt = threading.Thread(target=lambda: print(f(100000) - 99994))\nt.start()\nt.join()',
  };
  it('takes the output of a whole program that ends with status 0 in any way', async () => {
    const isWasm = get().info.kind === 'wasm'; // the backend has no threads and no processes
    const programs = { ...ENDS, ...(isWasm ? {} : THREADS) };
    const all = await runAll(
      Object.values(programs).map((code) => ['main', { style: 'stdio' }, `${code}\n# marker`, [['5\n'], ['5\n']]]),
    );
    for (const [i, calls] of all.entries())
      for (const call of calls)
        assert.equal(
          call.kind === 'value' && String(call.value).trim(),
          '6',
          `${Object.keys(programs)[i]} ${JSON.stringify(call)}`,
        );
  });

  it('reports an error if a whole program fails, and runs it again for the next call', async () => {
    const code = `
import os, sys
k = int(input())
print(k)
if k == 1: sys.exit(3)
if k == 2: sys.exit("message")
if k == 3: 1 / 0
if k == 4: sys.stdout.flush(); os._exit(3)
`;
    const calls = await run('main', { style: 'stdio' }, code, [['1'], ['2'], ['3'], ['4'], ['5']]);
    assert.deepEqual(pluck(calls, 'kind'), ['error', 'error', 'error', 'error', 'value']);
    assert.match(JSON.stringify(calls), /exit status 3.*exit status 'message'.*ZeroDivisionError.*exit status 3/);
    const lost = await run('main', { style: 'stdio' }, 'import os\nprint(1)\nos._exit(0)', [['']]);
    assert.deepEqual(lost, [value('')]); // the text in the buffer is lost
  });

  it('limits the CPU time of one call of a whole program', async () => {
    const code = 'n = int(input())\nwhile n == 1: pass\nprint(n)';
    const [result] = await get().run([
      {
        id: 'late',
        code,
        entry: 'main',
        calling: callingSchema.parse({ style: 'stdio' }),
        inputs: [['0'], ['1'], ['2']],
        limits: { ...limits, caseCpuSeconds: 0.2 },
      },
    ]);
    assert.deepEqual(pluck(result!.calls, 'kind'), ['value', 'timeout', 'value']);
  });

  it('returns only the truth value of the answer if a test asks for it', async () => {
    const code =
      'import re\nclass N:\n  def __bool__(self): return False\ndef f(x): return [re.match("a", "ab"), None, [], [0], 0.0, "x", N(), object(), {}, True][x]';
    const inputs: Value[][] = Array.from({ length: 10 }, (_, i) => [i]);
    const truth = inputs.map((_, i) => i).slice(0, 9);
    for (const entry of ['f', 'S.f']) {
      const own = entry === 'f' ? code : `${code}\nclass S:\n  def f(self, x): return f(x)`;
      const [result] = await get().run([{ id: 'truth', code: own, entry, inputs, truth, limits }]);
      const expected = [true, false, false, true, false, true, false, true, false, true];
      assert.deepEqual(result!.calls, expected.map(value));
    }
  });

  it('keeps the classes of nodes out of the next program', async () => {
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
