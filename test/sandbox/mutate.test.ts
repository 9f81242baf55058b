// The mutants of programs, which the WebAssembly sandbox makes.
import assert from 'node:assert/strict';
import { mutantsOf } from '../../sandbox/mutants.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';

const PROGRAM = `def solve(nums, k):
    """Adds 1 == 1 in the docstring is no code."""
    total = 0
    for n in nums:
        if n >= k and (not n % 2):
            total += n
    return max(total, -1)
`;

describe('the mutants of a program', () => {
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await openSandbox('wasm', { size: 1 });
  });
  after(() => sandbox.close());
  const linesOf = (code: string): string[] => code.split('\n').map((line) => line.trim());

  it('change one place each, and are reproducible', async () => {
    const [mutants, again] = await mutantsOf(sandbox, [PROGRAM, PROGRAM], 100);
    assert.deepEqual(mutants, again);
    assert.equal(new Set(mutants).size, mutants!.length);
    const changed = mutants!.flatMap((mutant) => linesOf(mutant).filter((line) => !linesOf(PROGRAM).includes(line)));
    assert.deepEqual(changed.sort(), [
      'if n > k and (not n % 2):',
      'if n >= k and (not n % 3):',
      'if n >= k and (not n // 2):',
      'if n >= k or not n % 2:',
      'if not (n >= k and (not n % 2)):',
      'return max(total, +1)',
      'return max(total, -2)',
      'return min(total, -1)',
      'total -= n',
      'total = 1',
    ]);
  });

  it('are spread over the program if there are more than the limit', async () => {
    const [all] = await mutantsOf(sandbox, [PROGRAM], 100);
    const [some] = await mutantsOf(sandbox, [PROGRAM], 3);
    assert.deepEqual(some, [all![0], all![Math.floor(all!.length / 3)], all![Math.floor((2 * all!.length) / 3)]]);
  });

  it('do not exist for a program that does not parse or has nothing to change', async () => {
    assert.deepEqual(await mutantsOf(sandbox, ['def solve(:', 'def solve(x):\n    return x'], 5), [[], []]);
    assert.deepEqual(await mutantsOf(sandbox, [], 5), []);
  });
});
