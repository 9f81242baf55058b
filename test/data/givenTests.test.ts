// The tests and solutions of public sets, in the forms in which they are published.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { equalValues } from '../../core/comparison/compare.js';
import { parseSignature } from '../../core/parse/signature.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { parseExactJson } from '../../data/exactJson.js';
import { givenTests } from '../../data/formats/givenTests.js';
import { formatOf } from '../../data/formats/index.js';
import { solutionOf } from '../../data/formats/solutions.js';
import { ROOT } from '../../infra/root.mjs';

const JUDGES = JSON.parse(readFileSync(join(ROOT, 'test/data/judges.json'), 'utf8')) as {
  judgeOfApps: [given: unknown, tests: TestCase[]][];
  arguments: [parameters: string, type: string, input: unknown, args: Value[]][];
  refused: [given: unknown, message: string][];
  wrapped: [answer: Value, isRight: boolean][];
};

const readAs = (format: Parameters<typeof formatOf>[0], json: object): Problem =>
  formatOf(format).read({ file: 'x', place: 'line 1', json, exact: () => json });

describe('the tests of a public set', () => {
  const one = parseSignature('def f(xs):')!;
  const exact = (json: unknown): unknown => parseExactJson(typeof json === 'string' ? json : JSON.stringify(json));
  const calls = (json: unknown, signature = one): TestCase[] => {
    const given = givenTests(exact(json));
    assert.ok(given.kind === 'calls');
    return given.read(signature);
  };
  const refuses = (json: unknown, message: string): void =>
    assert.throws(
      () => {
        const given = givenTests(typeof json === 'string' ? json : exact(json));
        if (given.kind === 'calls') given.read(one);
      },
      (error: Error) => error.message.includes(message),
    );

  it('may be for programs that read and write lines, given as texts or lists', () => {
    const tests = [
      { args: ['1\n2'], expected: '3' },
      { args: ['4'], expected: '5\n6' },
    ];
    for (const json of [
      { inputs: ['1\n2', ['4']], outputs: ['3', ['5', '6']] },
      [
        { input: '1\n2', output: '3', type: 'stdin_stdout' },
        { input: '4', output: '5\n6', testtype: 'stdin', metadata: { func_name: null } },
      ],
      { input: ['1\n2', '4'], output: ['3', '5\n6'], fn_name: null },
      JSON.stringify({ inputs: ['1\n2', '4'], outputs: ['3', '5\n6'] }),
    ])
      assert.deepEqual(givenTests(exact(JSON.stringify(json))), { kind: 'program', tests });
    assert.deepEqual(givenTests(exact('[{"input": 1.0, "output": null}]')).kind, 'calls');
  });

  it('keep their numbers as written', () => {
    const [test] = calls('{"fn_name": "f", "inputs": [[[1.0, 12345678901234567890]]], "outputs": [[2.0]]}');
    assert.deepEqual(test, { args: [[{ f: '1.0' }, { i: '0xab54a98ceb1f0ad2' }]], expected: { f: '2.0' } });
    const [text] = calls([{ fn_name: 'f', type: 'function_call', input: '[[1.0]]', output: '2.0' }]);
    assert.deepEqual(text, { args: [[{ f: '1.0' }]], expected: { f: '2.0' } });
  });

  it('may wrap all answers in lists of one and use number keys, as the judge of APPS does', () => {
    const { judgeOfApps, wrapped } = JUDGES;
    for (const [given, tests] of judgeOfApps) assert.deepEqual(calls(given), tests);
    const input_output = { fn_name: 'f', inputs: [[1]], outputs: [[3]] };
    const { comparison } = readAs('apps', { question: 'q', input_output, starter_code: 'def f(x):' });
    for (const [answer, isRight] of wrapped) assert.equal(equalValues(answer, 3, comparison), isRight);
  });

  it('may have arguments as lists, as objects, or as text with one argument per line or one list', () => {
    for (const [parameters, type, input, args] of JUDGES.arguments)
      assert.deepEqual(
        calls([{ fn_name: 'f', type, input, output: '0' }], parseSignature(`def f(${parameters}):`)!)[0]!.args,
        args,
      );
  });

  it('may have answers as text, including texts without quotes', () => {
    const answer = (output: string): unknown =>
      calls([{ fn_name: 'f', type: 'functional', input: '1', output }])[0]!.expected;
    assert.deepEqual(['true', 'None', '(1, 2)', '"a"', 'plain words'].map(answer), [
      true,
      null,
      { t: [1, 2] },
      'a',
      'plain words',
    ]);
  });

  it('may be asserts, source, or the forms of baseline_tests', () => {
    assert.deepEqual(givenTests(['assert f(1)', null, 'assert f(2)']), {
      kind: 'source',
      source: 'assert f(1)\nassert f(2)',
    });
    assert.deepEqual(givenTests('def test_f():\n    assert f(1)'), {
      kind: 'source',
      source: 'def test_f():\n    assert f(1)',
    });
    assert.deepEqual(calls([{ inputs: [1], expected: 2 }]), [{ args: [1], expected: 2 }]);
    assert.deepEqual(calls([[1, 2]]), [{ args: [1], expected: 2 }]);
    assert.deepEqual(givenTests([]), { kind: 'program', tests: [] });
  });

  it('are refused with the reason', () => {
    for (const [given, message] of JUDGES.refused) refuses(given, message);
    refuses('[{"input": ', 'is not JSON');
    const many = new Array(10_001).fill('1');
    refuses({ inputs: many, outputs: many }, 'at most 10000 tests');
  });

  it("use the helpers in LeetCode's prompt, for the reference and for tests as source", () => {
    const json = {
      task_id: 'twice',
      problem_description: 'Double x.',
      starter_code: 'class Solution:\n    def twice(self, x: int) -> List[int]:\n        ',
      prompt: 'def same(a, b):\n    return a == b\n',
      completion: 'class Solution:\n    def twice(self, x):\n        return [2 * x]\n',
      entry_point: 'Solution().twice',
      test: 'def check(candidate):\n    assert candidate(x = 1) == [2]\n\ndef check_more(candidate):\n    assert same(candidate(2), [4])\n',
    };
    const problem = readAs('leetcode', json);
    assert.equal(problem.entry, 'Solution.twice');
    assert.match(
      problem.functionSignature,
      /^from typing import List\n\nclass Solution:\n {4}def twice\(self, x: int\)/,
    );
    assert.match(problem.referenceSolution!, /def same[\s\S]*class Solution/);
    assert.deepEqual(problem.baselineTests, [{ args: [1], expected: [2] }]);
    assert.match(problem.testSource!, /def same\(a, b\)[\s\S]*same\(candidate\(2\), \[4\]\)/);
  });

  it('have trees and linked lists as in LeetCodeDataset, if the signature names such classes', () => {
    const test =
      'def check(candidate):\n    assert is_same_list(candidate(root = tree_node([1, None, 2]), k = 1), list_node([2, 1]))\n' +
      '    assert candidate(tree_node([]), 2) == list_node([])\n';
    const read = (parameter: string) =>
      readAs('leetcode', {
        task_id: 'flatten',
        problem_description: 'Flatten the tree.',
        starter_code: `class Solution:\n    def flatten(self, ${parameter}, k: int) -> Optional[ListNode]:\n        `,
        prompt: 'def is_same_list(p, q): ...\n',
        completion: `class Solution:\n    def flatten(self, ${parameter}, k): ...\n`,
        entry_point: 'Solution().flatten',
        test,
      });
    const { baselineTests, testSource, calling } = read('root: Optional[TreeNode]');
    assert.deepEqual(baselineTests, [
      { args: [[1, null, 2], 1], expected: [2, 1] },
      { args: [[], 2], expected: [] },
    ]);
    assert.equal(testSource, undefined);
    assert.deepEqual(calling?.parameters, ['TreeNode', 'value']);
    const plain = readAs('leetcode', {
      task_id: 'f',
      problem_description: 'Anything.',
      prompt: 'import math\n',
      completion: 'def f(root, k): ...\n',
      entry_point: 'f',
      test,
    });
    assert.deepEqual(plain.baselineTests, []);
    assert.match(plain.testSource!, /is_same_list/);
  });

  it('may be source in an object whose `check` names the method', () => {
    const { entry, baselineTests, testSource } = readAs('deepcoder', {
      problem: 'Add x and y.',
      solutions:
        'class Solution:\n    def helper(self, x): ...\n    def add(self, x: int, y: int) -> int:\n        return x + y\n',
      tests: {
        functional: 'def check(candidate):\n    assert candidate(x = 1, y = 2) == 3\n\n\ncheck(Solution().add)',
      },
    });
    assert.equal(entry, 'Solution.add');
    assert.deepEqual(baselineTests, [{ args: [1, 2], expected: 3 }]);
    assert.equal(testSource, undefined);
  });

  it('may call the methods of a class: as operations, or as the only method of Solution', () => {
    const solution =
      'from collections import deque\n\nclass Full(Exception):\n    pass\n\nclass Queue:\n    def __init__(self, size: int):\n        self._items = deque(maxlen=size)\n' +
      '    def _grow(self): ...\n    @property\n    def size(self) -> int: return len(self._items)\n    def put(self, x): self._items.append(x)\n';
    const test = 'def test_put():\n    queue = Queue(2)\n    queue.put(1)\n    assert queue.size == 1\n';
    const { entry, functionSignature, calling, baselineTests, testSource } = readAs('kodcode', {
      question_id: 'q',
      question: 'A queue.',
      solution,
      test,
    });
    assert.equal(entry, 'Queue');
    assert.equal(
      functionSignature,
      'from collections import deque\n\nclass Queue:\n    def __init__(self, size: int):\n    @property\n    def size(self) -> int:\n    def put(self, x):',
    );
    assert.equal(calling?.style, 'operations');
    assert.deepEqual(baselineTests, []);
    assert.ok(testSource!.endsWith(test));
    const method = readAs('kodcode', {
      question_id: 'q',
      question: 'Double.',
      solution: 'class Solution:\n    def twice(self, x): return 2 * x\n    def other(self): ...\n',
      test: 'def test_twice():\n    assert Solution().twice(2) == 4\n',
    });
    assert.equal(method.entry, 'Solution.twice');
    assert.deepEqual(method.baselineTests, [{ args: [2], expected: 4 }]);
    assert.throws(
      () => readAs('kodcode', { question_id: 'q', question: 'x', solution, test: 'assert other(1) == 2' }),
      /the tests call other; the reference defines Full, Queue/,
    );
  });
});

describe('the solution of a public set', () => {
  it('is the first Python 3 solution', () => {
    assert.equal(solutionOf('def f(): pass'), 'def f(): pass');
    assert.equal(solutionOf(['print "old"', 'print("new")']), 'print("new")');
    assert.equal(solutionOf(['x = raw_input()']), 'x = raw_input()');
    assert.equal(solutionOf(JSON.stringify(['', 'print(1)'])), 'print(1)');
    assert.equal(
      solutionOf([
        { language: 'cpp', code: 'int x;' },
        { language: 'py3', code: 'x = 1' },
      ]),
      'x = 1',
    );
    assert.equal(solutionOf({ language: [2, 3], solution: ['int x;', 'x = 1'] }), 'x = 1');
    assert.equal(solutionOf('Text\n```python\nx = 1\n```\nmore\n```\ny\n```'), 'x = 1');
    const inferences = [0.5, 1, 1].map((pass_rate, i) => ({ completion: `x = ${i}`, pass_rate }));
    assert.equal(solutionOf(inferences), 'x = 1');
    assert.deepEqual(
      [[], '', null, undefined, 3, [{ language: 'cpp', code: 'x' }]].map((one) => solutionOf(one)),
      new Array(6).fill(undefined),
    );
  });
});
