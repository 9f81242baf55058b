// `gauntlet attack` finds inputs on which two versions of a file differ, and writes them as tests for pytest.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import { requirePython } from '../support/cpython.js';
import { gauntlet, removeFolders, temporaryFolder } from './support.js';

const OLD = `
def median(xs):
    xs = sorted(xs)
    if not xs:
        return None
    n = len(xs)
    return xs[n // 2] if n % 2 else (xs[n // 2 - 1] + xs[n // 2]) / 2

def halves(x: int):
    return float("nan") if x == 300 else x / 2

class Stack:
    def total(self, xs: list[int], limit: int = 10) -> int:
        return sum(x for x in xs if x <= limit)

def pairs(xs: list[int]):
    for x in xs:
        yield x, x > 7

def same(x, y):
    return x + y

def _own(x):
    return x
`;
const NEW = OLD.replace('    if not xs:\n        return None\n', '')
  .replace('if x == 300 else', 'if x == 301 else')
  .replace('x <= limit', 'x < limit')
  .replace('x > 7', 'x > 6')
  .replace('return x\n', 'return 2 * x\n');
// calls the functions whose names begin with `test_`, as pytest does, and prints the names of those that fail
const RUN = `
import runpy, sys
for name, test in runpy.run_path(sys.argv[1]).items():
    try:
        name.startswith("test_") and test()
    except Exception:
        print(name)
`;

describe('gauntlet attack', () => {
  let folder: string;
  before(async () => {
    folder = await temporaryFolder({ 'old.py': OLD, 'new.py': NEW, 'other.py': 'def other(x): return x' });
  });
  after(removeFolders);
  const attack = (...args: string[]) => {
    const paths = args.map((one) => (one.endsWith('.py') ? join(folder, one) : one));
    return gauntlet(['attack', ...paths, '--sandbox', 'wasm']);
  };

  it('shows one line for each difference, and writes tests that fail with the new version only', async function () {
    const args = ['new.py', '--against', 'old.py', '--seconds', '1', '--out', 'test_new.py'];
    const { code, out: stdout, err: stderr } = await attack(...args);
    assert.equal(code, EXIT.failed, stderr);
    assert.match(
      stdout,
      /^median\(\[\]\): the old version returns None, the new one IndexError: list index out of range$/m,
    );
    for (const name of ['halves', 'Stack\\(\\).total', 'pairs']) assert.match(stdout, new RegExp(`^${name}\\(`, 'm'));
    assert.doesNotMatch(stdout, /^(?:same|_own)/m);
    assert.match(stderr, /4 of 5 functions differ; \S+test_new.py has the tests\n$/);
    requirePython.call(this);
    const failing = (file: string): string[] => {
      const env = { ...process.env, ATTACKED: join(folder, file) };
      const args = ['-I', '-c', RUN, join(folder, 'test_new.py')];
      return execFileSync('python3', args, { env, encoding: 'utf8' }).split('\n').filter(Boolean);
    };
    assert.equal(failing('new.py').length, stdout.trim().split('\n').length);
    assert.deepEqual(failing('old.py'), []);
  });

  it('prints JSON lines, only for the function that is named', async () => {
    const { out: stdout } = await attack(
      'new.py',
      '--against',
      'old.py',
      '--function',
      '_own',
      '--tests',
      '1',
      '--json',
    );
    const { call, entry, args, before, after } = JSON.parse(stdout);
    assert.deepEqual([call, entry, after], [`_own(${args[0]})`, '_own', { kind: 'value', value: 2 * before }]);
  });

  it('exits with 0 if it finds nothing, and keeps the tests of an earlier attack', async () => {
    const {
      code,
      out: stdout,
      err: stderr,
    } = await attack('old.py', '--against', 'old.py', '--seconds', '1', '--out', 'none.py');
    assert.deepEqual([code, stdout], [0, '']);
    assert.match(stderr, /no difference found in 5 functions \(\d+ rounds\). This proves nothing/);
    assert.equal(existsSync(join(folder, 'none.py')), false);
  });

  it('refuses files that it cannot read or that have no function in common, in one line', async () => {
    for (const [args, says] of [
      [['none.py', '--against', 'old.py'], /^error: \S+none.py: cannot be read \(ENOENT\)/],
      [
        ['other.py', '--against', 'old.py'],
        /^error: \S+other.py: does not define a public function of the same name, as \S+old.py does/,
      ],
      [['new.py', '--against', 'old.py', '--out', 'no/x.py'], /^error: --out \S+x.py: there is no folder/],
    ] as const) {
      const { code, err: stderr } = await attack(...args);
      assert.deepEqual([code, stderr.trim().split('\n').length], [EXIT.usage, 1], stderr);
      assert.match(stderr, says);
    }
  });
});
