// Tests each reader with small records of its format.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { GauntletError } from '../../core/base/errors.js';
import { comparisonSpecSchema } from '../../core/schema/comparison.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { checkerOfScript } from '../../data/checkers.js';
import { readReferences } from '../../data/entries.js';
import { parseExactJson, valueOfJson } from '../../data/exactJson.js';
import { toRecord } from '../../data/formats/gauntlet.js';
import { readPickledText } from '../../data/formats/pickledText.js';
import { loadProblems } from '../../data/problems.js';
import { ROOT } from '../../infra/root.mjs';
import { problemFiles, readSet } from '../support/entries.js';

const humaneval = {
  task_id: 'Own/0',
  prompt: 'from typing import List\n\n\ndef total(xs: List[float], start=0) -> float:\n    """ Sum of xs. """\n',
  entry_point: 'total',
  canonical_solution: '    return sum(xs, start)\n',
  test: "METADATA = {'author': 'own'}\n\n\ndef check(candidate):\n    assert candidate([1, 2.5]) == 3.5, 'sum'\n    assert candidate([], 2) == 2\n    assert True, 'end'\n",
};
const mbpp = {
  task_id: 7,
  text: 'Write a function to double a number.',
  code: 'def helper(x):\r\n  return x\r\ndef twice(x):\r\n  return helper(x) * 2',
  test_list: ['assert twice(2) == 4', 'assert twice((1,)) == (1, 1)'],
  test_setup_code: '',
  challenge_test_list: ['assert twice("a") == "aa"'],
};
const plain = {
  id: 'plain',
  description: 'Add one.',
  function_signature: 'def f(x):',
  baseline_tests: [],
  reference_solution: 'def f(x): return x + 1',
};
const EVALPLUS = `{"task_id": "Own/1", "prompt": "def half(x):\\n    \\"\\"\\" half \\"\\"\\"\\n", "contract": "assert x", "canonical_solution":
 "    return x / 2\\n", "entry_point": "half", "base_input": [[1.0], [2]], "plus_input": [[NaN], [-Infinity], [12345678901234567890]], "atol": 0.001}`;
const evalplus = EVALPLUS.replace('\n', '');
/** Replaces numbers that JSON does not have. */
const finite = JSON.parse(evalplus.replace('NaN', '1').replace('-Infinity', '1')) as object;
const functional = {
  question_id: 'q1',
  question_title: 'Count',
  question_content: 'Count the items.',
  platform: 'leetcode',
  difficulty: 'easy',
  starter_code: 'class Solution:\n    def count(self, items: List[int], scale: float) -> int:\n        ',
  public_test_cases: JSON.stringify([{ input: '[1, 2]\n1.0', output: '2', testtype: 'functional' }]),
  private_test_cases: '',
  reference_solution:
    'class Solution:\n    def count(self, items: List[int], scale: float) -> int:\n        return len(items)\n',
};
const codecontests = {
  name: '1_A. Echo',
  description: 'Print the number.',
  difficulty: 7,
  cf_tags: ['', 'implementation'],
  input_file: '',
  public_tests: { input: ['1\n'], output: ['1\n'] },
  private_tests: { input: ['2\n'], output: ['2\n'] },
  generated_tests: { input: [], output: [] },
  solutions: { language: [2, 3, 3], solution: ['int main(){}', 'print(input())', 'print(int(input()))'] },
};

/** Writes a str as a pickle of protocol 4. */
function pickled(text: string, tail = Buffer.from('.')): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.from([0x80, 4, 0x95, 0, 0, 0, 0, 0, 0, 0, 0, 0x58, 0, 0, 0, 0]);
  head.writeUInt32LE(body.length, 12);
  return Buffer.concat([head, body, Buffer.from([0x94]), tail]);
}
const packed = (pickle: Buffer): string => deflateSync(pickle).toString('base64');

function comparisonOf({ comparison }: Problem): unknown[] {
  const { absolute, relative, text } = comparisonSpecSchema.parse(comparison);
  return [absolute, relative, text];
}

/** The calling conventions of the judges of the sets, and what their readers do. */
const JUDGES = JSON.parse(readFileSync(join(ROOT, 'test/data/judges.json'), 'utf8')) as {
  types: [task: number, given: unknown[], args: Value[]][];
  unread: [record: object, names: string[]][];
};

describe('the formats of problem files', () => {
  const { write, refuses, path } = problemFiles();
  const problemOf = async (record: unknown, references?: Map<string, string>): Promise<Problem> => {
    const { entries, problems } = await readSet(write(record), { references });
    assert.ok(problems[0], JSON.stringify(entries));
    return problems[0];
  };
  /** Asserts that the problem of a record has these fields. */
  const gives = async (record: unknown, right: Partial<Problem>, what?: string): Promise<Problem> => {
    const problem = await problemOf(record);
    const found = Object.keys(right).map((key) => [key, problem[key as keyof Problem]]);
    assert.deepEqual(Object.fromEntries(found), right, what);
    return problem;
  };

  describe('for typical records', () => {
    const forms = join(ROOT, 'test/data/forms.jsonl'); // {title, record, map, format} and {right} or {reason}
    for (const line of readFileSync(forms, 'utf8').trim().split('\n')) {
      const { title, record, right, reason, ...options } = JSON.parse(line);
      it(title, async () => {
        const file = write(record);
        if (reason !== undefined)
          return assert.rejects(readSet(file, options), ({ message }: Error) => message.includes(reason));
        const { entries, problems } = await readSet(file, options);
        assert.equal(problems.length, entries.length, JSON.stringify(entries));
        assert.deepEqual(Object.fromEntries(Object.keys(right).map((key) => [key, problems[0]![key as 'id']])), right);
      });
    }
  });

  it('are recognised by the fields of the first record that has some', async () => {
    for (const [record, name] of [
      [plain, 'gauntlet'],
      [humaneval, 'humaneval'],
      [mbpp, 'mbpp'],
      [evalplus, 'evalplus'],
      [functional, 'livecodebench'],
      [codecontests, 'codecontests'],
    ] as const)
      assert.equal((await readSet(write(record))).format, name);
    const late = await readSet(write(`{"a": 1}\n${JSON.stringify(mbpp)}\n`));
    assert.deepEqual([late.format, late.entries.length], ['mbpp', 2]);
    await refuses({ a: 1, b: 2 }, /^set\.jsonl: line 1: unknown format \(its fields: a, b\)/);
    await refuses('', /is empty/);
  });

  it('include literal asserts in check() as values, without test source (HumanEval)', async () => {
    await gives(humaneval, {
      id: 'Own/0',
      entry: 'total',
      functionSignature: 'from typing import List\n\ndef total(xs: List[float], start=0) -> float:',
      baselineTests: [
        { args: [[1, { f: '2.5' }]], expected: { f: '3.5' } },
        { args: [[], 2], expected: 2 },
      ],
      testSource: undefined,
      referenceSolution: humaneval.prompt + humaneval.canonical_solution,
    });
  });

  it('include a test that is not literal as source, beside the literal ones (HumanEval)', async () => {
    for (const statement of [
      'assert abs(candidate([0.5]) - 0.5) < 1e-6',
      'for i in range(3):\n        assert candidate([i]) == i',
      'xs = [1]; assert candidate(xs) == 1',
      'helper(candidate)',
    ]) {
      const test = `${humaneval.test}    ${statement}\n`;
      const problem = await problemOf({ ...humaneval, test });
      assert.equal(problem.testSource, test, statement);
      assert.equal(problem.baselineTests.length, 2, statement);
    }
    assert.equal((await problemOf({ ...humaneval, test: 'def check(f):\n  assert f(' })).baselineTests.length, 0);
    const helper = 'def poly(x): return x\n\n'; // a program must not replace it
    const helped = { ...humaneval, prompt: helper + humaneval.prompt };
    for (const [name, begin] of Object.entries({ poly: helper, int: 'def check' })) {
      const { testSource } = await problemOf({ ...helped, test: `def check(f): assert f([4]) == ${name}(16)\n` });
      assert.ok(testSource!.startsWith(begin), testSource);
    }
    await refuses({ ...humaneval, entry_point: 'other' }, /defines no function other/);
  });

  it('include methods as they are called, and arguments given by name (HumanEval)', async () => {
    const method = {
      task_id: 'method',
      prompt: 'class Solution:\n    def f(self, s: int, t=2) -> int:\n        """x"""\n',
      canonical_solution: '        return s * t\n',
      test: 'def check(candidate):\n    assert candidate(s = 1) == 2\n    assert candidate(t=3, s=2) == 6\n',
    };
    const baselineTests = [
      { args: [1], expected: 2 },
      { args: [2, 3], expected: 6 },
    ];
    const functionSignature = 'class Solution:\n    def f(self, s: int, t=2) -> int:';
    for (const entry_point of ['Solution().f', 'Solution.f', 'f']) {
      const right = { entry: 'Solution.f', testSource: undefined, functionSignature, baselineTests };
      await gives({ ...method, entry_point }, right);
    }
    const complete = `${method.prompt.replace('"""x"""', 'return s * t')}`;
    const whole = { ...method, entry_point: 'Solution().f', canonical_solution: complete };
    await gives(whole, { referenceSolution: complete });
    const isStatic = complete.replace('    def f(self, ', '    @staticmethod\n    def f(');
    await gives({ ...whole, canonical_solution: isStatic }, { baselineTests });
  });

  it('use the function that the tests call as the entry, and hide challenge tests (MBPP)', async () => {
    const problem = await gives(mbpp, {
      id: 'MBPP/7',
      description: `${mbpp.text}\nassert twice(2) == 4`, // as in EvalPlus's prompts
      entry: 'twice',
      functionSignature: 'def twice(x):',
      baselineTests: [
        { args: [2], expected: 4 },
        { args: [{ t: [1] }], expected: { t: [1, 1] } },
      ],
      hiddenTests: [{ args: ['a'], expected: 'aa' }],
      testSource: undefined,
    });
    const { hiddenTests } = problem; // is not in the source as well, because source tests are rewarded
    const computed = { ...mbpp, test_setup_code: 'y = int("3")', test_list: ['assert twice(y) == 6'] };
    await gives(computed, { testSource: 'y = int("3")\nassert twice(y) == 6', testStyle: 'assert', hiddenTests });
    await gives({ ...mbpp, text: problem.description }, { description: problem.description });
    await refuses({ ...mbpp, test_list: ['assert g(1) == 2'], challenge_test_list: [] }, /tests call g; the/);
    await refuses({ ...mbpp, text: undefined }, /line 1: missing field `text` \(or `prompt`\)/);
    await refuses({ ...mbpp, test_list: 'assert' }, /field `test_list`/);
    const loop = 'def same(a, b):\n    assert a == b\nfor x in [1]:\n    same(twice(x), 2 * x)\n';
    const plus = await problemOf({ ...mbpp, test: `assert twice(5) == 10\n${loop}` });
    assert.deepEqual(plus.hiddenTests, [...hiddenTests, { args: [5], expected: 10 }]);
    assert.equal(plus.testSource?.trim(), loop.trim());
    assert.deepEqual(await problemOf({ ...mbpp, test: loop.replace('assert', 'out =') }), problem); // the statement checks nothing
  });

  it('name fields that may hold tests but are not read', async () => {
    const unreadOf = async (record: object) => (await readSet(write(record))).unread;
    for (const [record, names] of JUDGES.unread) assert.deepEqual(await unreadOf(record), names);
  });

  it('keep floats, long ints, NaN and infinity in inputs, and hide all inputs with the added ones (EvalPlus)', async () => {
    const { inputs, ...problem } = await problemOf(evalplus);
    assert.deepEqual(inputs, {
      baseline: [[{ f: '1.0' }], [2]],
      hidden: [[{ f: '1.0' }], [2], [{ f: 'nan' }], [{ f: '-inf' }], [{ i: '0xab54a98ceb1f0ad2' }]],
    });
    assert.deepEqual(comparisonOf(problem), [0.001, 1e-7, 'exact']);
    assert.match(problem.referenceSolution!, /^def half\(x\):[\s\S]*return x \/ 2/);
    const code = 'def half(x):\n    return x / 2';
    await gives({ ...finite, canonical_solution: code }, { referenceSolution: code });
    await refuses({ ...finite, base_input: [3] }, /field `base_input\.0`: a list of arguments is expected/);
  });

  it('give arguments the types that the judge of EvalPlus uses (EvalPlus)', async () => {
    for (const [task, given, args] of JUDGES.types) {
      const drafted = await problemOf({ ...finite, task_id: `Mbpp/${task}`, base_input: [given] });
      assert.deepEqual(drafted.inputs!.baseline, [args], `${task}`);
    }
  });

  it('have one argument per line in tests, and private tests as a pickled string (LiveCodeBench)', async () => {
    const hidden = JSON.stringify([{ input: '[]\n0.5', output: '0', testtype: 'functional' }]);
    for (const private_test_cases of [hidden, packed(pickled(hidden))]) {
      const problem = await gives(
        { ...functional, private_test_cases },
        {
          baselineTests: [{ args: [[1, 2], { f: '1.0' }], expected: 2 }],
          hiddenTests: [{ args: [[], { f: '0.5' }], expected: 0 }],
          entry: 'Solution.count',
          tags: ['leetcode'],
        },
      );
      assert.match(problem.referenceSolution!, /^from typing import List\n/);
      assert.equal(comparisonOf(problem)[0], 1e-5);
    }
    const { reference_solution, ...bare } = functional;
    assert.equal((await problemOf(bare)).referenceSolution, undefined);
    const references = await readReferences(write({ id: 'q1', code: reference_solution }, 'refs.jsonl'));
    assert.ok((await problemOf(bare, references)).referenceSolution);
    await assert.rejects(readReferences(write({ id: 3 }, 'refs.jsonl')), /line 1: expected \{id, code\}/);
    const others = new Map([['zz', 'def f(): ...']]);
    await assert.rejects(problemOf(bare, others), /none of its ids \(zz\) is an id of the problems \(q1\)/);
  });

  it('compare whole programs by tokens (LiveCodeBench and CodeContests)', async () => {
    const stdin = { ...functional, public_test_cases: [{ input: '1\n', output: '1', testtype: 'stdin' }] };
    const echo = {
      hiddenTests: [{ args: ['2\n'], expected: '2\n' }],
      referenceSolution: 'print(input())',
      tags: ['implementation'],
    };
    const problems = [
      await gives(stdin, { baselineTests: [{ args: ['1\n'], expected: '1' }] }),
      await gives(codecontests, echo),
    ];
    for (const { calling } of problems) assert.equal(calling?.style, 'stdio');
    assert.deepEqual(problems.map(comparisonOf), [
      [1e-6, 1e-6, 'tokens'],
      [1e-6, 1e-6, 'tokens-any-case'],
    ]);
    await refuses({ ...codecontests, input_file: 'in.txt' }, /files of given names/);
    const noPython = { language: [2], solution: ['int main(){}'] };
    assert.equal((await problemOf({ ...codecontests, solutions: noPython })).referenceSolution, undefined);
    await refuses(
      { ...codecontests, public_tests: { input: ['1'], output: [] } },
      /field `public_tests`: has 1 inputs, but 0 outputs/,
    );
  });

  it('support methods, interview classes and in-place answers, and read a written record unchanged (gauntlet)', async () => {
    const own = {
      id: 'reverse',
      description: 'Reverse.',
      function_signature: 'def reverse(self, head: Optional[ListNode], xs: list) -> "ListNode | None":',
      baseline_tests: [{ inputs: [[1, 2], [1.5]], expected: [2, 1] }],
      reference_solution: 'class Solution:\n    def reverse(self, head, xs):\n        return head',
      comparison: { order: 'any' },
    };
    const calling: Problem['calling'] = {
      style: 'call',
      parameters: ['ListNode', 'value'],
      result: 'ListNode',
      observe: 'result',
    };
    const functionSignature = `class Solution:\n    ${own.function_signature}`;
    const problem = await gives(own, { entry: 'Solution.reverse', functionSignature, calling });
    await gives({ ...own, entry: 'Solution().reverse' }, { entry: 'Solution.reverse' });
    const inPlace = 'def reverse(self, xs: List[int]) -> None:';
    const tree = 'class Solution:\n    def reverse(self, root: TreeNode) -> TreeNode:';
    const forest = 'def reverse(self, root) -> List[Optional[TreeNode]]:';
    const cases: [signature: string, test: string, right: TestCase][] = [
      [own.function_signature, '{"inputs": [[], []], "expected": null}', { args: [[], []], expected: [] }],
      [tree, '{"inputs": [[1]], "expected": [1, null, 2, null, null]}', { args: [[1]], expected: [1, null, 2] }],
      [forest, '{"inputs": [[]], "expected": [[1, null], null]}', { args: [[]], expected: [[1], []] }],
      [inPlace, '[[3, 1], [1, 3]]', { args: [[3, 1]], expected: [1, 3] }],
    ];
    const read: Problem[] = [];
    for (const [function_signature, test, right] of cases) {
      const record = { ...own, function_signature, baseline_tests: [JSON.parse(test) as unknown] };
      read.push(await gives(record, { baselineTests: [right] }, function_signature));
    }
    const sorted = read.at(-1)!;
    assert.deepEqual([read[1]!.functionSignature, sorted.calling?.observe], [tree, 0]);
    await refuses({ ...own, function_signature: 'reverse' }, /no `def name/);
    await refuses({ ...own, baseline_tests: [5] }, /baseline_tests\[0\] is none of/);
    for (const given of [problem, sorted, await problemOf(codecontests), await problemOf(humaneval)]) {
      const source = { testSource: 'assert True', testStyle: 'pytest' } as const;
      const own = {
        ...source,
        validator: 'def validator(x): return x > 0',
        checker: 'def checker(i, a, e): return a == e',
      };
      const written = JSON.stringify(toRecord({ ...given, ...own }));
      const { train } = await loadProblems(write(written, 'own.jsonl'));
      assert.deepEqual(train, [{ ...given, ...own }]);
    }
  });

  it('support a validator and a checker, which define functions of these names (gauntlet)', async () => {
    await refuses(
      { ...plain, validator: 'def valid(x): return True' },
      /field `validator`: must define the function validator/,
    );
    const script = 'print(1)\nx = "\\\\"';
    const written = (await problemOf({ ...plain, generated_checker: script })).checker;
    assert.equal(written, checkerOfScript(script));
    assert.equal((await problemOf({ ...plain, checker: written })).checker, written); // a file that was imported
    await refuses({ ...plain, checker: 'checker = 1' }, /field `checker`: must define the function checker/);
    await refuses({ ...plain, test_source: 'assert f(1)', test_style: 'nose' }, /field `test_style`/);
  });

  it('run test source under pytest if it imports pytest and has tests that pytest collects', async () => {
    const styleOf = async (source: string) => (await problemOf({ ...plain, test_source: source })).testStyle;
    assert.equal(await styleOf('import pytest\ndef test_a(): pass'), 'pytest');
    assert.equal(await styleOf('from pytest import raises\nclass TestA:\n  def test_b(self): pass'), 'pytest');
    assert.equal(await styleOf('def test_a(): pass'), 'assert');
    assert.equal(await styleOf('class TestA:\n  def test_b(self, capsys): pass'), 'pytest');
    assert.equal(await styleOf('class TestA:\n  @pytest.fixture\n  def b(self): pass'), 'pytest');
    assert.equal(await styleOf('@patch("a")\ndef test_a(b, c=1): pass\ndef test_c(d=1): pass'), 'assert');
    assert.equal(await styleOf('class TestA(unittest.TestCase):\n  def test_b(self, c): pass'), 'assert');
    assert.equal(await styleOf('import pytest\nassert f(1) == pytest.approx(1)'), 'assert');
    assert.equal((await problemOf({ ...plain, test_style: 'pytest' })).testStyle, undefined); // the problem has no test source
  });

  it('turn the contract into a validator with the parameters of the solution (EvalPlus)', async () => {
    const validatorOf = async (contract: string) => (await problemOf({ ...finite, contract })).validator;
    const given = '\n    assert isinstance(x, float), "invalid inputs"\n    assert len(set([x])) == 1\n';
    const validator = (await validatorOf(given))!;
    assert.match(
      validator,
      /\n\n\ndef validator\(x\):\n {4}assert isinstance[^\n]*\n {4}assert len[^\n]*\n {4}return True\n$/,
    );
    assert.ok(validator.startsWith('def half(x):'));
    assert.equal(await validatorOf(''), undefined);
    const ofTuple = '\n    assert isinstance(x, tuple)\n';
    assert.equal(await validatorOf(ofTuple), undefined); // JSON has turned it into a list
    assert.ok((await problemOf({ ...finite, task_id: 'Mbpp/2', contract: ofTuple })).validator);
  });

  it('accept --references, which replaces the solutions', async () => {
    const cases: [object, string, string][] = [
      [humaneval, 'Own/0', 'def total(xs, start=0):\n    return 0.0'],
      [mbpp, '7', 'def twice(x):\n    return x + x'],
      [finite, 'Own/1', 'def half(x):\n    return x * 0.5'],
      [functional, 'q1', 'class Solution:\n    def count(self, items, scale):\n        return 0'],
      [{ ...codecontests, solutions: { language: [2], solution: ['int main(){}'] } }, '1_A. Echo', 'print(1)'],
    ];
    for (const [record, id, code] of cases) {
      assert.equal((await problemOf(record, new Map([[id, code]]))).referenceSolution, code);
    }
  });

  it('include gzipped files, lists and objects; a duplicate id is refused with both places', async () => {
    const expected = await problemOf(mbpp);
    for (const content of [
      gzipSync(`${JSON.stringify(mbpp)}\n`),
      JSON.stringify([mbpp]),
      JSON.stringify({ problems: [mbpp] }, null, 2),
      `\uFEFF${JSON.stringify(mbpp)}\r\n\r\n`,
      gzipSync(`\uFEFF${JSON.stringify(mbpp)}\r\n`),
    ])
      assert.deepEqual(await problemOf(content), expected);
    const lines = `${JSON.stringify(mbpp)}\n\n${JSON.stringify(mbpp)}\n`;
    await refuses(lines, /^set\.jsonl: line 3: id `MBPP\/7` is taken by line 1$/);
    const other = JSON.stringify({ ...mbpp, text: 'Double it.' });
    const joined = `${JSON.stringify(mbpp)}\n${other}\n${other.replace('7', '"7#2"').replace('it', 'all')}\n`;
    const ids = (await readSet(write(joined))).problems.map(({ id }) => id);
    assert.deepEqual(ids, ['MBPP/7', 'MBPP/7#2', 'MBPP/7#2#2']);
    const references = new Map([['MBPP/7#2', 'def twice(x): return 2 * x']]);
    const { problems } = await readSet(write(`${JSON.stringify(mbpp)}\n${other}\n`), { references });
    assert.equal(problems[1]!.referenceSolution, references.get('MBPP/7#2'));
    await refuses(`${JSON.stringify(mbpp)}\n{oops`, /^set\.jsonl: line 2 is not JSON/);
    await refuses(gzipSync('x').subarray(0, 12), /set\.jsonl/);
    await assert.rejects(readSet(path('none.jsonl')), /no such file/);
  });
});

describe('records that cannot be used', () => {
  const { write } = problemFiles();
  const CONTROL = /[\p{C}\p{Zl}\p{Zp}]/u;
  const rejectedIn = async (records: unknown[]): Promise<Map<string, string>> => {
    const file = write(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    const { entries, rejected } = await readSet(file, { format: 'mbpp' });
    assert.equal(entries.length, records.length);
    return new Map(rejected.map(({ id, reason }) => [id, reason]));
  };

  it('are quarantined with their number, id and field, and the others are read', async () => {
    const { code: _, ...lacking } = { ...mbpp, task_id: 'lacking' };
    const rejected = await rejectedIn([
      mbpp,
      { ...mbpp, task_id: 'empty', text: '   ' },
      lacking,
      { ...mbpp, task_id: 'typed', test_list: 'assert' },
      { ...mbpp, task_id: '' },
      [mbpp],
      null,
    ]);
    assert.deepEqual(
      [...rejected],
      [
        ['empty', 'line 2: field `text`: must not be empty'],
        ['lacking', 'line 3: missing field `code`'],
        ['typed', 'line 4: field `test_list`: Invalid input: expected array, received string'],
        ['line 5', 'line 5: field `task_id`: must not be empty'],
        ['line 6', 'line 6: is not a problem: an object is expected'],
        ['line 7', 'line 7: is not a problem: an object is expected'],
      ],
    );
  });

  it('are named in one short printable line, whatever their content', async () => {
    const hostile = '\u001b[2J\r\n\u0007\u009b\u202ered\u2028\u0000';
    const rejected = await rejectedIn([
      mbpp,
      { ...mbpp, task_id: `id${hostile}` },
      { ...mbpp, task_id: 'x'.repeat(1_000_000) },
      {
        ...mbpp,
        task_id: 'tests',
        challenge_test_list: [],
        test_list: [`assert other(${JSON.stringify(hostile.repeat(1000))}) == 1`],
      },
      { ...mbpp, task_id: 'code', code: `def twice(x): ${hostile}`.repeat(50_000), test_list: ['other()'] },
      { ...mbpp, task_id: `bad${hostile}`, text: 3 },
    ]);
    assert.equal(rejected.size, 5);
    for (const line of [...rejected].flat()) {
      assert.ok(!CONTROL.test(line), JSON.stringify(line));
      assert.ok(line.length <= 400, `${line.length}`);
    }
    const [first] = rejected;
    assert.deepEqual(first, [
      'id [2J red',
      'line 2: field `task_id`: must be one line of at most 200 printable characters',
    ]);
  });

  it('may contain any key, and the error still has one line', async () => {
    const file = write({ ['\u001b[31m\n'.repeat(300)]: 1 });
    await assert.rejects(readSet(file), (error: GauntletError) => {
      assert.equal(error.code, 'BAD_INPUT');
      return error.message.length < 500 && !CONTROL.test(error.message);
    });
  });

  it('make the reader refuse the file in one line if no record is usable', async () => {
    const file = write(`${JSON.stringify({ ...mbpp, code: '' })}\n${JSON.stringify({ ...mbpp, text: '' })}\n`);
    await assert.rejects(readSet(file, { format: 'mbpp' }), {
      code: 'BAD_INPUT',
      message: 'set.jsonl: no record can be used; the first: line 1: field `code`: must not be empty',
    });
  });
});

describe('the reader of pickled strings', () => {
  it('reads every protocol of pickle', () => {
    const text = 'ä [{"input": "1"}]';
    const short = Buffer.concat([
      Buffer.from([0x80, 2, 0x8c, Buffer.byteLength(text)]),
      Buffer.from(text),
      Buffer.from('q\0.'),
    ]);
    const long = Buffer.alloc(11);
    long.set([0x80, 5, 0x8d]);
    long.writeBigUInt64LE(BigInt(Buffer.byteLength(text)), 3);
    for (const pickle of [pickled(text), short, Buffer.concat([long, Buffer.from(text), Buffer.from([0x94, 0x2e])])])
      assert.equal(readPickledText(pickle), text);
  });
  it('refuses every other pickle', () => {
    const system = Buffer.from('cos\nsystem\n(S"id"\ntR.');
    const reduce = Buffer.concat([pickled('os', Buffer.alloc(0)), pickled('system', Buffer.from([0x93, 0x52, 0x2e]))]);
    for (const pickle of [
      system,
      reduce,
      pickled('x', Buffer.from('N.')),
      pickled('x', Buffer.from('..')),
      Buffer.from('.'),
    ])
      assert.throws(() => readPickledText(pickle), /pickle/);
    assert.throws(() => readPickledText(pickled('abc').subarray(0, 18)), /ends too early/);
  });
  it('does not crash on random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          assert.equal(typeof readPickledText(Buffer.from(bytes)), 'string');
        } catch (error) {
          assert.match((error as Error).message, /pickle/);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the reader of exact JSON', () => {
  it('keeps numbers that JavaScript would round and leaves strings unchanged', () => {
    const read = (text: string) => valueOfJson(parseExactJson(text));
    assert.deepEqual(read('[1.0, 1e3, -0.0, 7, 123456789012345678, "1.0 NaN \\" 2.0", {"a": NaN}]'), [
      { f: '1.0' },
      { f: '1000.0' },
      { f: '-0.0' },
      7,
      { i: '0x1b69b4ba630f34e' },
      '1.0 NaN " 2.0',
      { d: [['a', { f: 'nan' }]] },
    ]);
    assert.throws(() => parseExactJson('[1.2.3]'), SyntaxError);
    assert.throws(() => valueOfJson(JSON.parse('[9007199254740993]')), RangeError);
  });
});
