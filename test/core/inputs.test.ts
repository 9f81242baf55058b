// Reads inputs from answers of the discriminator: calls with literal arguments.
import assert from 'node:assert/strict';
import { formatArguments } from '../../core/parse/format.js';
import { salvageInputs } from '../../core/parse/inputs.js';

const read = (text: string, options = {}) => {
  const { inputs, rejected } = salvageInputs(text, { entry: 'solve', arity: 2, limit: 5, ...options });
  return [inputs.map(formatArguments), ...rejected.map(({ reason }) => reason)];
};

describe('salvageInputs', () => {
  it('reads one call per line, and calls in lists, fences, asserts and prose', () => {
    assert.deepEqual(read('solve([1, 2], 3)\nsolve([], -1)'), [['([1, 2], 3)', '([], -1)']]);
    assert.deepEqual(read("1. solve({'a': (1,)}, None)\n- `solve('x', 2)` is empty"), [
      ["({'a': (1,)}, None)", "('x', 2)"],
    ]);
    const fenced = '```python\nassert solve(1, 2) == 3\nprint(solve(True, 1.5))\n[solve(1,\n  2)]\n```';
    assert.deepEqual(read(fenced), [['(1, 2)', '(True, 1.5)', '(1, 2)']]);
  });

  it('says which calls are not literal, not closed, or have the wrong number of arguments', () => {
    assert.deepEqual(read('solve(x, 1)\nsolve(1)\nsolve(len([]), 1)\nsolve(k=1, n=2)\nsolve(1, 2)\nsolve([1, 2'), [
      ['(1, 2)'],
      'not-literal',
      'arity',
      'not-literal',
      'unsupported-assert',
      'truncated',
    ]);
    assert.deepEqual(read('solve(1)', { arity: undefined }), [['(1)']]);
  });

  it('does not count calls in prose and programs', () => {
    assert.deepEqual(read('Three inputs for `solve(nums, k)`:\nsolve(1, 2)'), [['(1, 2)']]);
    assert.deepEqual(read('  return solve(n - 1, k)\n1. `solve(n, 1)`\nprint(solve(n, 1))'), [
      [],
      'not-literal',
      'not-literal',
    ]);
  });

  it('ignores definitions and other functions', () => {
    assert.deepEqual(read('def solve(nums, k):\n    return unsolve(1, 2) + solver(1, 2)'), [[]]);
    assert.deepEqual(read('Solution().run(1, 2)', { entry: 'Solution.run' }), [['(1, 2)']]);
  });

  it('stops at the limit, and reads long hostile answers in little time', () => {
    assert.deepEqual(read('solve(1, 2)\n'.repeat(9), { limit: 2 }), [['(1, 2)', '(1, 2)']]);
    for (const text of ['solve('.repeat(50_000), `solve(${'['.repeat(100_000)}`, 'solve(1, "'.repeat(20_000)])
      assert.deepEqual(read(text)[0], []);
  });
});
