import assert from 'node:assert/strict';
import fc from 'fast-check';
import { formatValue } from '../../core/parse/format.js';
import {
  LOSS_REASONS,
  lostTests,
  malformedCount,
  type SalvageOptions,
  salvageTests,
} from '../../core/parse/salvage.js';
import { arityOf } from '../../core/parse/signature.js';
import { valueSchema } from '../../core/schema/value.js';

/** 'f(args)→expected' of every test, then every loss as its reason. */
function read(text: string, options: Partial<SalvageOptions> = {}): string[] {
  const { tests, losses } = salvageTests(text, { entry: 'f', arity: 1, limit: 9, ...options });
  return [
    ...tests.map((test) => `${formatValue({ t: test.args })}→${formatValue(test.expected)}`),
    ...losses.map((loss) => loss.reason),
  ];
}

// [claim, text, what is read]
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
];

describe('salvageTests', () => {
  for (const [claim, text, expected] of CASES) {
    it(claim, () => assert.deepEqual(read(text), expected));
  }

  it('keeps the wanted number of tests and names the others', () => {
    assert.deepEqual(read('((1,), 2)\n((2,), 3)\n((3,), 4)', { limit: 2 }), ['(1,)→2', '(2,)→3', 'over-limit']);
  });

  it('takes any number of arguments where none is known', () => {
    assert.deepEqual(read('((1, 2), 3)\n((), 0)', { arity: undefined }), ['(1, 2)→3', '()→0']);
  });

  it('gives the text of a loss', () => {
    const { losses } = salvageTests('((1,), foo)', { entry: 'f', limit: 1 });
    assert.deepEqual(losses, [{ reason: 'not-literal', text: '((1,), foo)' }]);
  });

  it('reads Windows line ends', () => {
    assert.deepEqual(read('((1,), 2)\r\n((2,), 3)\r\n'), ['(1,)→2', '(2,)→3']);
  });

  it('never throws, keeps to its limit and gives plain values', () => {
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
        const { tests, losses } = salvageTests(pieces.join(''), { entry: 'f', limit: 3 });
        assert.ok(tests.length <= 3);
        for (const test of tests) assert.ok(valueSchema.safeParse([test.args, test.expected]).success);
        for (const loss of losses) assert.ok(LOSS_REASONS.includes(loss.reason) && loss.text.length <= 200);
      }),
      { numRuns: 500 },
    );
  });

  it('a good test survives any text on the lines before it', () => {
    // brackets and quotes that stay open across lines are Python's own ambiguity, so each line closes what it opens
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

  it('stays fast on long rubbish', () => {
    for (const rubbish of ['((a ', 'a#', '((1,\n', '(', "'''", 'assert f((', '((1,),[[0]*9999]*2)\n']) {
      assert.deepEqual(
        read(rubbish.repeat(Math.ceil(100_000 / rubbish.length))).filter((entry) => entry.includes('→')),
        [],
      );
    }
  });
});

describe('malformedCount and lostTests', () => {
  const salvage = (text: string) => salvageTests(text, { entry: 'f', limit: 2 });
  it('tests beyond the limit are not malformed', () => {
    assert.equal(malformedCount(salvage('((1,),2)\n((2,),3)\n((3,),4)').losses), 0);
    assert.equal(malformedCount(salvage('((1,),x)\n((2,),3)').losses), 1);
  });
  it('a test that was asked for and never came is lost', () => {
    assert.equal(lostTests(salvage('((1,),2)'), 2), 1);
    assert.equal(lostTests(salvage(''), 2), 2);
    assert.equal(lostTests(salvage('((1,),2)\n((2,),3)'), 2), 0);
    assert.equal(lostTests(salvage('((1,),2)\n((2,),3)\n((3,),x)'), 2), 1);
    assert.equal(lostTests(salvage('((1,),2)\n((2,),3)\n((3,),4)'), 2), 0);
  });
});

describe('arityOf', () => {
  it('counts the positional arguments of a signature', () => {
    const cases: [string, number | undefined][] = [
      ['def f(a, b: int) -> List[int]:', 2],
      ['from typing import *\n\ndef f(a):', 1],
      ['def f()', 0],
      ['def f(self, a):', 1],
      ['def f(a, b=1):', undefined],
      ['def f(*a):', undefined],
      ['def g(a):', undefined],
      ['nonsense', undefined],
    ];
    for (const [signature, arity] of cases) assert.equal(arityOf(signature, 'f'), arity, signature);
  });
});
