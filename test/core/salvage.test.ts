import assert from 'node:assert/strict';
import fc from 'fast-check';
import { formatValue } from '../../core/parse/format.js';
import { REJECTION_REASONS, type SalvageOptions, salvageTests, unusableTests } from '../../core/parse/salvage.js';
import { fixedArity, parseSignature } from '../../core/parse/signature.js';
import { testsOfModule } from '../../core/parse/testModule.js';
import { valueSchema } from '../../core/schema/value.js';
import { rowsOf } from '../support/rows.js';

/** 'f(args)→expected' for every test, followed by the reasons of rejected tests. */
function read(text: string, options: Partial<SalvageOptions> = {}): string[] {
  const { tests, rejected } = salvageTests(text, { entry: 'f', arity: 1, limit: 9, ...options });
  return [
    ...tests.map((test) => `${formatValue({ t: test.args })}→${formatValue(test.expected)}`),
    ...rejected.map((loss) => loss.reason),
  ];
}

const CASES = rowsOf<{ what: string; text: string; read: string[] }>('core/salvaged.jsonl');

describe('salvageTests', () => {
  for (const { what, text, read: expected } of CASES) it(what, () => assert.deepEqual(read(text), expected));

  it('keeps tests up to the limit and rejects the others', () => {
    assert.deepEqual(read('((1,), 2)\n((2,), 3)\n((3,), 4)', { limit: 2 }), ['(1,)→2', '(2,)→3', 'over-limit']);
  });

  it('accepts any number of arguments if the arity is unknown', () => {
    assert.deepEqual(read('((1, 2), 3)\n((), 0)', { arity: undefined }), ['(1, 2)→3', '()→0']);
  });

  it('accepts calls of a method through any object', () => {
    const text = 'assert Solution().g(1) == 2\nassert g(3) == 4\nassert f(1) == 1';
    assert.deepEqual(read(text, { entry: 'Solution.g' }), ['(1,)→2', '(3,)→4', 'wrong-function']);
  });

  it('returns the text of a rejected test', () => {
    const { rejected } = salvageTests('((1,), foo)', { entry: 'f', limit: 1 });
    assert.deepEqual(rejected, [{ reason: 'not-literal', text: '((1,), foo)' }]);
  });

  it('reads Windows line ends', () => {
    assert.deepEqual(read('((1,), 2)\r\n((2,), 3)\r\n'), ['(1,)→2', '(2,)→3']);
  });

  it('returns only plain values, up to the limit, and never throws', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(
        '((',
        '1,',
        ')',
        '), 2)',
        '[',
        ']',
        '"',
        "'",
        '\n',
        '#',
        'assert f(',
        '== 3',
        '\\',
        '{',
        'def test():',
        '\n    ',
        '@pytest.mark.parametrize("a", [',
        'self.assertEqual(f(',
        'def test_x(a):',
        'assert f(a) == a',
        'x = ',
        ';',
        '((1,), 2)',
        "'''",
        '```',
        '**',
        ' ',
        'not ',
        ':',
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const { tests, rejected } = salvageTests(pieces.join(''), { entry: 'f', limit: 3 });
        const module = testsOfModule(pieces.join(''), 'f');
        for (const test of module.tests) assert.ok(valueSchema.safeParse([test.args, test.expected]).success);
        assert.ok(tests.length <= 3);
        for (const test of tests) assert.ok(valueSchema.safeParse([test.args, test.expected]).success);
        for (const loss of rejected) assert.ok(REJECTION_REASONS.includes(loss.reason) && loss.text.length <= 200);
      }),
      { numRuns: Number(process.env.GAUNTLET_FUZZ ?? 500) }, // GAUNTLET_FUZZ can set a larger number
    );
  });

  it('finds a good test after any other text', () => {
    // an open bracket or quote would be ambiguous, so each line closes everything that it opens
    const line = fc.stringMatching(/^[a-z ,.:;=+!?0-9]*$/);
    fc.assert(
      fc.property(fc.array(line, { maxLength: 5 }), (lines) => {
        const text = [...lines.map((words) => `note: ${words} (${words})`), '((7,), 8)'].join('\n');
        assert.deepEqual(
          read(text).filter((entry) => entry.includes('→')),
          ['(7,)→8'],
        );
      }),
    );
  });

  it('stays fast on long invalid text', () => {
    for (const rubbish of [
      '@mark.parametrize(\n',
      'def test(',
      'def test_a():\n  assert f(g)\n',
      '((a ',
      'a#',
      '((1,\n',
      '(',
      "'''",
      'assert f((',
      '((1,),[[0]*9999]*2)\n',
    ]) {
      assert.deepEqual(
        read(rubbish.repeat(Math.ceil(100_000 / rubbish.length))).filter((entry) => entry.includes('→')),
        [],
      );
    }
  });
});

describe('test source that is read as values (salvage)', () => {
  const module = (source: string): [string[], string | undefined] => {
    const { tests, rest } = testsOfModule(source, 'Solution.f', 1);
    return [tests.map((test) => `${formatValue({ t: test.args })}→${formatValue(test.expected)}`), rest];
  };

  it('includes literal asserts, test functions, parametrized functions and test classes', () => {
    const source =
      'import pytest\n\nassert f(1) == 2; assert f(2) == 3\n\ndef test_a():\n    "why"\n    assert Solution().f(3) == 4\n\n@pytest.mark.parametrize("a,b", [(4, 5), (6, 7)])\ndef test_b(a, b):\n    assert f(a) == b\n\nclass TestC:\n    def test_c(self):\n        assert f(8) is None\n\nif __name__ == "__main__":\n    unittest.main()\n';
    assert.deepEqual(module(source), [['(1,)→2', '(2,)→3', '(3,)→4', '(4,)→5', '(6,)→7', '(8,)→None'], undefined]);
  });

  it('includes names that the module binds to literals, until a statement may change them', () => {
    const bound =
      'one = Solution()\nargs = {"x": 1}\nassert one.f(**args) == 2\nargs = [3]\nassert one.f(*args) == 4\n';
    const { tests, rest } = testsOfModule(bound, 'Solution.f', 1, parseSignature('def f(x):'));
    assert.deepEqual(
      [tests, rest],
      [
        [
          { args: [1], expected: 2 },
          { args: [3], expected: 4 },
        ],
        undefined,
      ],
    );
    const changed = 'xs = [1]\nxs.append(2)\nassert f(xs) == 3\n';
    assert.deepEqual(module(changed), [[], changed]);
    assert.deepEqual(module('xs = [1]\nxs += [2]\nassert f(xs) == 3\n')[0], []);
    assert.deepEqual(module('x = [1]\nfor i in x: x.append(i)\nassert f(x) == 3\n')[0], []);
  });

  it('leaves other statements as source to run', () => {
    const property = 'def test_b():\n    for i in range(9):\n        assert f(i) >= 0';
    const helper = 'def helper():\n    return 1';
    const [tests, rest] = module(`assert f(1) == 2\n\n${helper}\n\n${property}\n`);
    assert.deepEqual([tests, rest!.trim()], [['(1,)→2'], `${helper}\n\n${property}`]);
    for (const kept of [
      '@pytest.fixture\ndef x():\n    return 1\n\ndef test_x(x):\n    assert f(x) == 1\n',
      '@pytest.mark.skip\ndef test_x():\n    assert f(1) == 1\n',
      'def test_a():\n    assert f(1) == 2\n    assert f(g(1)) == 2\n',
      'def broken(',
      'def f(x):\n    return x\n\ndef test_f():\n    assert f(1) == 1\n',
    ])
      assert.equal(module(kept)[1], kept);
  });
});

describe('unusableTests', () => {
  const salvage = (text: string) => salvageTests(text, { entry: 'f', limit: 2 });
  it('counts malformed tests and missing tests, but not tests beyond the limit', () => {
    assert.equal(unusableTests(salvage('((1,),x)\n((2,),3)'), 1), 1);
    assert.equal(unusableTests(salvage('((1,),2)'), 2), 1);
    assert.equal(unusableTests(salvage(''), 2), 2);
    assert.equal(unusableTests(salvage('((1,),2)\n((2,),3)'), 2), 0);
    assert.equal(unusableTests(salvage('((1,),2)\n((2,),3)\n((3,),x)'), 2), 1);
    assert.equal(unusableTests(salvage('((1,),2)\n((2,),3)\n((3,),4)'), 2), 0);
  });
});

describe('the function for a fixed arity', () => {
  it('returns the number of positional arguments of a signature', () => {
    const cases: [string, number | undefined][] = [
      ['def f(a, b: int) -> List[int]:', 2],
      ['from typing import *\n\ndef f(a):', 1],
      ['def f()', 0],
      ['def f(self, a):', 1],
      ['def f(a, b=1):', undefined],
      ['def f(*a):', undefined],
      ['def g(a):', undefined],
      ['nonsense', undefined],
      ['class Solution:\n    def f(self, a, b):', 2],
    ];
    for (const [text, arity] of cases) {
      const signature = parseSignature(text, 'f');
      assert.equal(signature && fixedArity(signature), arity, text);
    }
  });
});
