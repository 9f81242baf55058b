import assert from 'node:assert/strict';
import fc from 'fast-check';
import { formatValue } from '../../core/parse/format.js';
import { REJECTION_REASONS, type SalvageOptions, salvageTests, unusableTests } from '../../core/parse/salvage.js';
import { fixedArity, parseSignature } from '../../core/parse/signature.js';
import { testsOfModule } from '../../core/parse/testModule.js';
import { valueSchema } from '../../core/schema/value.js';

/** 'f(args)→expected' of every test, then the reason of every rejected test. */
function read(text: string, options: Partial<SalvageOptions> = {}): string[] {
  const { tests, rejected } = salvageTests(text, { entry: 'f', arity: 1, limit: 9, ...options });
  return [
    ...tests.map((test) => `${formatValue({ t: test.args })}→${formatValue(test.expected)}`),
    ...rejected.map((loss) => loss.reason),
  ];
}

// [title, text, result]
const CASES: [string, string, string[]][] = [
  [
    'reads one test a line, between work-out comments',
    '# [5, 0] keep [5]\n(([5, 0],), 6)\n# [1] keep [1]\n(([1],), 2)',
    ['([5, 0],)→6', '([1],)→2'],
  ],
  ['reads a list on one line', '[((1,), 2), ((3,), 4)]', ['(1,)→2', '(3,)→4']],
  [
    'reads a fenced list amid prose',
    "Here they are (three):\n```python\ntests = [\n  ((1,), 2),  # it's one\n\n  ((2,), 3),\n]\n```\nHope (this) helps!",
    ['(1,)→2', '(2,)→3'],
  ],
  ['keeps a bracket inside a string', '[(("a]b",), None), (("(",), ")")]', ["('a]b',)→None", "('(',)→')'"]],
  ["does not change 'a,b'", "(('a,b',), 'a,b')", ["('a,b',)→'a,b'"]],
  ['computes 2**3', '((2**3,), 10**2)', ['(8,)→100']],
  ["takes JSON's null and booleans", '((null,), true)', ['(None,)→True']],
  ['keeps every test around a bad one', '[((1,), 2), ((3,), foo(4)), ((5,), 6)]', ['(1,)→2', '(5,)→6', 'not-literal']],
  ['keeps the first half of a list that was cut', '[((1,), 2), ((3,), 4), ((5,), ', ['(1,)→2', '(3,)→4', 'truncated']],
  ['keeps the first half when the cut is in a string', '((1,), 2)\n(("a",), "bc', ['(1,)→2', 'truncated']],
  ['a missing bracket costs its own line only', '((1,), 2\n((3,), 4)\n((5,), 6)', ['(3,)→4', '(5,)→6', 'truncated']],
  [
    'a missing bracket that a later one seems to close costs its own line only',
    '((1,), 2\n((3,), 4)\n((5,), 6))',
    ['(3,)→4', '(5,)→6', 'not-literal'],
  ],
  ['a missing bracket inside a list costs its own test only', '[((1,), 2, ((3,), 4)]', ['(3,)→4', 'syntax']],
  ['a quote too many costs its own line only', "(('it's',), 1)\n(('b',), 2)", ["('b',)→2", 'syntax']],
  ['reads tests over several lines', '[\n  ((\n    [1,\n     2],\n  ), 3),\n]', ['([1, 2],)→3']],
  ['reads numbered and bulleted tests', '1. ((1,), 2)\n2) ((2,), 3)\n- `((3,), 4)`', ['(1,)→2', '(2,)→3', '(3,)→4']],
  [
    'reads numbered, bulleted and quoted asserts',
    '1. assert f(1) == 2\n- assert f(2) == 3\n- `assert f(3) == 4` checks 3\n`assert f(4) == 5`',
    ['(1,)→2', '(2,)→3', '(3,)→4', '(4,)→5'],
  ],
  ['reads a test inside a sentence, not a call in it', 'Unlike f((1, 2), 3), test #1: ((4,), 5) is fine', ['(4,)→5']],
  ['reads tests without a separator', '((1,), 2)((3,), 4)', ['(1,)→2', '(3,)→4']],
  ['skips commented tests', '# ((1,), 2)\n((3,), 4) # ((5,), 6)', ['(3,)→4']],
  ['names a pair whose arguments are no tuple', '[(1, 2), ([1], 2), ((3,), 4)]', ['(3,)→4', 'shape', 'shape']],
  ['takes ((5), 6) for one argument', '((5), 6)', ['(5,)→6']],
  ['names a test with another number of arguments', '((1, 2), 3)', ['arity']],
  ['names double brackets without a pair', '((1))', ['shape']],
  ['names three parts', '((1,), 2, 3)', ['shape']],
  ['names a value beyond the caps', '((1,), 10**9999)', ['too-large']],
  [
    'reads asserts',
    'assert f(1) == 2\nassert f("a)b") == -1, "why"\nassert 3 == f(2)\nassert (f([]) == [])',
    ['(1,)→2', "('a)b',)→-1", '(2,)→3', '([],)→[]'],
  ],
  [
    'reads is None, truth and negation',
    'assert f(1) is None\nassert f(2)\nassert not f(3)',
    ['(1,)→None', '(2,)→True', '(3,)→False'],
  ],
  [
    'reads pytest functions',
    'import pytest\n\ndef test_a():\n    """f((1, 2))"""\n    assert f(1) == 2\n    assert f(\n        [2],\n    ) == 3\n\ndef test_b(): assert f(3) == 4; assert f(4) == 5',
    ['(1,)→2', '([2],)→3', '(3,)→4', '(4,)→5'],
  ],
  ['reads a method call', 'assert Solution().f(1) == 2', ['(1,)→2']],
  [
    'names what an assert of another kind is',
    'assert g(1) == 2\nassert f(x) == 2\nassert f(1) > 2\nassert f(a=1) == 2\nassert f(1, 2) == 3\nassert 1 == 1\nassert f(3) ==',
    [
      'wrong-function',
      'not-literal',
      'unsupported-assert',
      'unsupported-assert',
      'arity',
      'unsupported-assert',
      'syntax',
    ],
  ],
  ['an assert that is cut costs itself', 'assert f(1) == 2\nassert f([1, 2', ['(1,)→2', 'truncated']],
  ['an assert with a broken bracket costs itself', 'assert f([1) == 2\nassert f(2) == 3', ['(2,)→3', 'syntax']],
  [
    'prose alone holds no test and no loss',
    'I assert that (in general) this works.\nassert that it does\n(a note, really)',
    [],
  ],
  ['nothing holds nothing', '', []],
  [
    'reads parametrize lists row by row, and a bad row costs that row',
    '@pytest.mark.parametrize("a, want", [\n  ((1,), 2),\n  pytest.param([3], 4, id="x"),\n  (g(), 1),\n  (5, 6, 7),\n])\ndef test_it(a, want):\n    assert f(a) == want\n\nassert f(9) == 8',
    ['((1,),)→2', '([3],)→4', '(9,)→8', 'not-literal', 'shape'],
  ],
  [
    'reads starred rows and answers that were given a name',
    '@pytest.mark.parametrize("args,want", [((1,), 3)])\ndef test_star(args, want):\n    got = f(*args)\n    assert got == want',
    ['(1,)→3'],
  ],
  [
    'reads what a test function binds before its claim, until it is bound anew',
    'def test_a():\n    xs = [1]\n    want = 2\n    assert f(xs) == want\n    xs = g()\n    assert f(xs) == want',
    ['([1],)→2', 'not-literal'],
  ],
  [
    "reads unittest's claims, whole and in half a class",
    'class T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n        self.assertEqual(3, f(2))\n        self.assertTrue(f(3))\n        self.assertIsNone(f(4))\n        self.assertAlmostEqual(f(5), 6.0)\n\nself.assertEqual(f([7), 1)\nself.assertEqual(f(8), 9)',
    ['(1,)→2', '(2,)→3', '(3,)→True', '(4,)→None', '(8,)→9', 'unsupported-assert', 'syntax'],
  ],
  [
    'a loop or an expected exception costs itself',
    'def test_a():\n    assert f(1) == 2\n    for i in range(3):\n        assert f(i) == i\n    with pytest.raises(ValueError):\n        f(-1)\n    assert f(3) == 4',
    ['(1,)→2', '(3,)→4', 'unsupported-assert', 'unsupported-assert'],
  ],
  [
    'a test function that is cut is read line by line',
    'def test_a():\n    assert f(1) == 2\n    assert f([3',
    ['(1,)→2', 'truncated'],
  ],
];

describe('salvageTests', () => {
  for (const [claim, text, expected] of CASES) {
    it(claim, () => assert.deepEqual(read(text), expected));
  }

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

  it('never throws and returns plain values up to the limit', () => {
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
      { numRuns: Number(process.env.GAUNTLET_FUZZ ?? 500) }, // GAUNTLET_FUZZ sets more
    );
  });

  it('finds a good test after any other text', () => {
    // an open bracket or quote would be ambiguous, so each line closes what it opens
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

describe('test source as values', () => {
  const module = (source: string): [string[], string | undefined] => {
    const { tests, rest } = testsOfModule(source, 'Solution.f', 1);
    return [tests.map((test) => `${formatValue({ t: test.args })}→${formatValue(test.expected)}`), rest];
  };

  it('reads literal asserts, test functions, parametrized ones and test classes completely', () => {
    const source =
      'import pytest\n\nassert f(1) == 2; assert f(2) == 3\n\ndef test_a():\n    "why"\n    assert Solution().f(3) == 4\n\n@pytest.mark.parametrize("a,b", [(4, 5), (6, 7)])\ndef test_b(a, b):\n    assert f(a) == b\n\nclass TestC:\n    def test_c(self):\n        assert f(8) is None\n\nif __name__ == "__main__":\n    unittest.main()\n';
    assert.deepEqual(module(source), [['(1,)→2', '(2,)→3', '(3,)→4', '(4,)→5', '(6,)→7', '(8,)→None'], undefined]);
  });

  it('reads names that the module binds to literals, until a statement may change them', () => {
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

  it('keeps other statements as source to run', () => {
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

describe('a fixed arity', () => {
  it('is the number of positional arguments of a signature', () => {
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
