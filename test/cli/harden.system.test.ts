// `gauntlet harden` adds tests that catch wrong programs which the given tests let pass.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import type { TestCase } from '../../core/schema/problem.js';
import { loadProblems } from '../../data/problems.js';
import { gauntlet, removeFolders, temporaryFolder } from './support.js';

const problem = (id: string, reference: string, ...asserts: string[]) => ({
  id,
  description: `Write ${id}.`,
  function_signature: reference.split('\n')[0],
  baseline_tests: asserts,
  reference_solution: reference,
});
const CLAMP = 'def clamp(x, low, high):\n    return max(low, min(x, high))';
const PROBLEMS = [
  problem('clamp', CLAMP, 'assert clamp(5, 0, 10) == 5', 'assert clamp(6, -3, 7) == 6'),
  problem('double', 'def double(x):\n    return 2 * x', 'assert double(3) == 6', 'assert double(0.0) == 0.0'),
  problem('even', 'def even(x):\n    return "yes" if x % 2 == 0 else ""', 'assert even(2)', 'assert even(4)'),
  problem('broken', 'def broken(x):\n    return x', 'assert broken(1) == 2'),
];
const PRIME =
  'def prime(x):\n    k = 2\n    while k * k <= x:\n        if x % k == 0:\n            return 0\n        k += 1\n    return int(x > 1)';
const SLOW = 'def prime(x):\n    return int(x > 1 and all(x % k for k in range(2, x)))';
const CHEAT = 'def clamp(x, low, high):\n    return min(x, high)';
const lines = (...rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

describe('gauntlet harden', () => {
  let folder: string;
  before(async () => {
    const programs = [CHEAT, CLAMP].map((solution) => ({ task_id: 'clamp', solution }));
    const files = {
      'set.jsonl': lines(...PROBLEMS),
      'broken.jsonl': lines(PROBLEMS.at(-1)!),
      'programs.jsonl': lines(...programs),
      'prime.jsonl': lines(problem('prime', PRIME, 'assert prime(7) == 1', 'assert prime(50) == 0')),
      'slow.jsonl': lines({ task_id: 'prime', solution: SLOW }),
      'bad.jsonl': '{"id": 1}\n',
    };
    folder = await temporaryFolder(files);
  });
  after(removeFolders);
  const at = (name: string): string => join(folder, name);
  const harden = (...args: string[]) => hardenSet('set.jsonl', ...args);
  const hardenSet = (set: string, ...args: string[]) =>
    gauntlet(['harden', at(set), '--sandbox', 'wasm', '--store', at('store'), '--json', ...args]);
  const read = (name: string) => {
    const rows = readFileSync(at(name), 'utf8').trim().split('\n');
    return rows.map((row) => JSON.parse(row));
  };

  it('adds few tests that catch a program which passes the given ones, and names that program', async () => {
    const { code, out, err } = await harden('--programs', at('programs.jsonl'), '-o', at('hard.jsonl'));
    assert.equal(code, EXIT.ok, err);
    const { problems, before, after, leftOut } = JSON.parse(out);
    assert.deepEqual([problems, after.problems, leftOut[0].id], [3, 0, 'broken']);
    assert.ok(before.problems >= 1);
    const [clamp, , even] = read('hard.jsonl');
    const added = clamp.baseline_tests.slice(2);
    assert.ok(added.length >= 1 && added.length <= 5);
    assert.ok(added.some(({ args: [x, low] }: { args: number[] }) => x! < low!));
    for (const { args, expected } of added) assert.equal(expected, Math.max(args[1], Math.min(args[0], args[2])));
    const truths = even.baseline_tests.map(({ truth, expected }: TestCase) => [truth, typeof expected]);
    assert.ok(truths.length > 2 && truths.every(([truth, kind]: unknown[]) => truth && kind === 'boolean'));
    const cheating = read('hard.cheating.jsonl').map(({ solution }) => solution);
    assert.ok(cheating.includes(CHEAT) && !cheating.includes(CLAMP));
    await harden('--programs', at('programs.jsonl'), '-o', at('again.jsonl'));
    assert.equal(readFileSync(at('again.jsonl'), 'utf8'), readFileSync(at('hard.jsonl'), 'utf8'));
  });

  it('writes the forms of DeepCoder and EvalPlus, with at most as many new tests as --tests says', async () => {
    for (const form of ['deepcoder', 'evalplus'])
      assert.equal((await harden('--as', form, '--tests', '1', '-o', at(`${form}.jsonl`))).code, EXIT.ok);
    assert.deepEqual(Object.values(await loadProblems(at('deepcoder.jsonl'))).flat().length, 2);
    assert.deepEqual(
      read('deepcoder.jsonl').map(({ uid, tests }) => [uid, JSON.parse(tests).length]),
      [
        ['clamp', 3],
        ['double', 3],
      ],
    );
    const [{ task_id, entry_point, base_input, plus_input }] = read('evalplus.jsonl');
    assert.deepEqual(
      [task_id, entry_point, base_input],
      [
        'clamp',
        'clamp',
        [
          [5, 0, 10],
          [6, -3, 7],
        ],
      ],
    );
    assert.equal(plus_input.length, 1);
    assert.match(readFileSync(at('evalplus.jsonl'), 'utf8'), /\[\[3\], \[0\.0\]\]/);
  });

  it('catches a named program before mutants, also one that is only slow', async () => {
    const only = ['--programs', at('slow.jsonl'), '--tests', '1', '-o', at('fast.jsonl')];
    assert.equal((await hardenSet('prime.jsonl', ...only)).code, EXIT.ok);
    assert.deepEqual(
      read('fast.jsonl')[0].baseline_tests.map(({ args }: TestCase) => args),
      [[7], [50], [99_999_989]],
    );
  });

  it('names the row that is no program, or why no problem can be used, and writes nothing', async () => {
    const { code, err, out } = await harden('--programs', at('bad.jsonl'), '-o', at('none.jsonl'));
    assert.equal(code, EXIT.usage);
    assert.match(out + err, /bad\.jsonl: line 1: .*task_id/);
    const unusable = await hardenSet('broken.jsonl', '-o', at('none.jsonl'));
    assert.match(unusable.out + unusable.err, /no problem can be used: broken: .*fails/);
    assert.ok(!existsSync(at('none.jsonl')));
  });
});
