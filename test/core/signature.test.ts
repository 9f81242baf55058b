import assert from 'node:assert/strict';
import { parseTests } from '../../chains/judge/judging.js';
import { resolveConfig } from '../../core/config/presets.js';
import { salvageInputs } from '../../core/parse/inputs.js';
import { salvageTests } from '../../core/parse/salvage.js';
import { parseSignature, type Signature } from '../../core/parse/signature.js';

describe('parseSignature', () => {
  const cases: [string, Partial<Signature>][] = [
    ['def f(a, b):', { names: ['a', 'b'], required: 2, most: 2 }],
    ['@cache\nasync def f(a):', { entry: 'f', most: 1, isMethod: false }],
    ['class Solution:\n    def f(self, a: int) -> int:  # (x', { owner: 'Solution', isMethod: true, result: 'int' }],
    ['class S(object):\n\tdef f(self, a):', { owner: 'S', names: ['a'] }],
    ['class S:\n  @staticmethod\n  def f(a, b):', { owner: 'S', isMethod: false, most: 2 }],
    ['class S:\n  @classmethod\n  def f(cls, a):', { isMethod: true, most: 1 }],
    ['class S:\n  def f(this, a):', { isMethod: true, names: ['a'] }],
    ['def f(cls, a):', { isMethod: false, names: ['cls', 'a'] }],
    ['class S:\n  def __init__(self):\n    pass\n\n  def f(self, a):', { entry: 'f', owner: 'S', most: 1 }],
    ['def f(self, a: Dict[str, List[int]], b="x,)"):', { annotations: ['Dict[str, List[int]]', ''], required: 1 }],
    ['def f(a: "x, y" = ")", b: Literal["="] = "="):', { annotations: ['"x, y"', 'Literal["="]'], required: 0 }],
    ['def f(k=lambda x, y: x, n=(1, 2)):', { names: ['k', 'n'], defaults: ['lambda x, y: x', '(1, 2)'] }],
    [
      'def f(\n    nums: list[int],  # the numbers, (\n    k: int,\n) -> int:\n    ...',
      { names: ['nums', 'k'], most: 2 },
    ],
    ['def f(a, \\\n      b) \\\n    -> int:', { most: 2, result: 'int' }],
    ['def f(a,\r\n      b):\r\n', { most: 2 }],
    ['def f[T: (int, str)](a: T) -> list[T]:', { most: 1, annotations: ['T'], result: 'list[T]' }],
    ['def f(a, b, /, c, *, d=1, **kw):', { names: ['', '', 'c'], keywordOnly: ['d'], hasKeywords: true, most: 3 }],
    ['def f(a, *rest: int):', { required: 1, most: Infinity }],
    ['def f(*, a):', { required: 0, most: 0, keywordOnly: ['a'] }],
    ['def f(a) -> Dict[str, int]:', { result: 'Dict[str, int]' }],
    ['def größe(a):', { entry: 'größe', most: 1 }],
  ];
  for (const [text, expected] of cases)
    it(JSON.stringify(text), () => {
      const found = parseSignature(text)!;
      const own = Object.keys(expected).map((key) => [key, found[key as keyof Signature]]);
      assert.deepEqual(Object.fromEntries(own), expected);
    });

  it('finds the function with a given name, and nothing in text that is no signature', () => {
    assert.equal(parseSignature('def g(a):\n    pass\n\ndef f(a, b):', 'f')?.most, 2);
    for (const text of ['def f(a', 'def f(a, b', 'def f(1):', 'x = 3', '', 'def f', '# def f(a):'])
      assert.equal(parseSignature(text), undefined, text);
  });

  it('takes linear time', () => {
    for (const text of ['def f(', 'def f(a):\n', '    @x\n', 'def f("', 'class A:\n  def f(self):\n'])
      parseSignature(text.repeat(20_000 / text.length), 'none');
  });
});

describe('the arguments of a call that are given by name', () => {
  const signature = parseSignature('def f(nums, target=9, k=[1], *, deep=False):')!;
  const options = { entry: 'f', signature, limit: 50 };
  const READ: Record<string, unknown[]> = {
    'f(nums = [3,3],target = 6)': [[3, 3], 6],
    'f(target=6, nums=[3])': [[3], 6],
    'f([3], target=6)': [[3], 6],
    'f([3], k=[2])': [[3], 9, [2]],
    'f(*[[3]], k=[2])': [[3], 9, [2]],
    'f(**{"nums": [3], "target": 1})': [[3], 1],
    'f(*([3],), **{"target": 1})': [[3], 1],
    'f([3])': [[3]],
  };
  for (const [call, args] of Object.entries(READ))
    it(call, () => {
      assert.deepEqual(salvageTests(`assert ${call} == 1`, options).tests, [{ args, expected: 1 }]);
      assert.deepEqual(salvageInputs(call, options).inputs, [args]);
    });

  const REFUSED: Record<string, string> = {
    'f([3], nums=[1])': 'arity',
    'f(target=6)': 'arity',
    'f([3], other=1)': 'arity',
    'f(target=6, target=7, nums=[])': 'arity',
    'f([3], deep=True)': 'unsupported-assert',
    'f(nums=[3], 6)': 'syntax',
    'f(**{1: 2})': 'unsupported-assert',
    'f(nums=x)': 'not-literal',
  };
  for (const [call, reason] of Object.entries(REFUSED))
    it(`are refused in ${call}: ${reason}`, () =>
      assert.deepEqual(
        salvageTests(`assert ${call} == 1`, options).rejected.map((one) => one.reason),
        [reason],
      ));

  it('are read in parametrized tests and by the judge, which knows the signature of the problem', () => {
    const problem = { functionSignature: 'class Solution:\n    def f(self, a, b=2):', entry: 'Solution.f' };
    const answer =
      '@pytest.mark.parametrize("a, b", [(1, 2)])\ndef test_f(a, b):\n    assert Solution().f(b=b, a=a) == 3\n\nassert f(a=4) == 6';
    assert.deepEqual(
      parseTests(answer, problem, { ...resolveConfig(), prompts: 'instruct' as const, testsPerTurn: 4 }).tests,
      [
        { args: [1, 2], expected: 3 },
        { args: [4], expected: 6 },
      ],
    );
  });
});
