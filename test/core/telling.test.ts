import assert from 'node:assert/strict';
import { tellingLiterals, tellingValues } from '../../core/parse/telling.js';

const literals = (code: string, entry: string | undefined = 'solve') => [...tellingLiterals(code, entry)];

describe('the values that tell a program apart', () => {
  it('include large numbers, longer texts and lists, and such values within others', () => {
    assert.deepEqual(tellingValues(99), []);
    assert.deepEqual(tellingValues(-100), ['-100']);
    assert.deepEqual(tellingValues('abc'), []);
    assert.deepEqual(tellingValues('abcd'), ['"abcd"']);
    assert.deepEqual(tellingValues([0, 1]), []);
    assert.deepEqual(tellingValues([1, 2, 3]), ['[1,2,3]']);
    assert.deepEqual(tellingValues({ t: [1, 2, 3] }), ['[1,2,3]']);
    assert.deepEqual(tellingValues({ d: [['long key', 250]] }), ['"long key"', '250']);
    for (const small of [null, true, { f: '0.5' }, { s: [] }]) assert.deepEqual(tellingValues(small), []);
    assert.deepEqual(tellingValues({ f: '0.125' }), ['0.125']);
  });
});

describe('the telling literals of a program', () => {
  it('come from its functions and classes', () => {
    assert.deepEqual(literals('def solve(nums):\n    if nums == [2, 3, 5]:\n        return 138\n    return -250'), [
      '[2,3,5]',
      '138',
      '-250',
    ]);
    assert.deepEqual(literals('class Solution:\n    def solve(self):\n        return {(4, 5, 6): "text"}'), [
      '[4,5,6]',
      '"text"',
    ]);
  });

  it('do not come from checks and examples', () => {
    const body = 'def solve(nums):\n    """>>> solve([7, 8, 9])"""\n    return sum(nums) # 345\n';
    assert.deepEqual(
      literals(body).filter((text) => !text.includes('>>>')),
      [],
    );
    for (const example of ['print(solve([1, 2, 3]))', 'nums = [1, 2, 3]\nprint(solve(nums), 600)'])
      assert.deepEqual(literals(`def solve(nums):\n    return sum(nums)\n${example}`), []);
    assert.deepEqual(literals('def test():\n    assert solve([1, 2, 3]) == 600\n    return solve([4, 5, 6])'), []);
  });

  it('include all literals of a whole program', () => {
    assert.deepEqual([...tellingLiterals('n = input()\nprint("abcd" if n == "7" else 250)')], ['"abcd"', '250']);
  });

  it('are absent in code that does not parse, and are found at any depth', () => {
    assert.deepEqual(literals('def solve(:\n    return 138'), []);
    const deep = `def solve(x):\n    return ${Array(200).fill('x').join(' + ')} + 138`;
    assert.deepEqual(literals(deep), ['138']);
  });
});
