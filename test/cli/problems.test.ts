// `gauntlet problems`, with a real sandbox.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { loadProblems } from '../../data/problems.js';
import { pluck } from '../support/pluck.js';
import { type Ended, inProcess, removeFolders, temporaryFolder } from './support.js';

const humaneval = (task_id: string, canonical_solution: string, test = 'assert candidate([1, 2.5]) == 3.5') => ({
  task_id,
  prompt: 'def total(xs, start=0):\n    """ Sum of xs. """\n',
  entry_point: 'total',
  canonical_solution,
  test: `def check(candidate):\n    ${test}\n`,
});
const SET = [
  humaneval('Own/0', '    return sum(xs, start)\n'),
  humaneval('Own/1', '    return sum(xs, start) + 1\n'),
  humaneval('Own/2', '    import time\n    return time.perf_counter()\n'),
  humaneval('Own/3', '    return (\n'),
  humaneval('Own/4', '    while True: pass\n'),
  humaneval('Own/5', '    return sum(xs, start)\n', 'pass'),
];
const program = (name: string, solution: string, input: string, output: string) => ({
  name,
  description: 'Add the numbers.',
  public_tests: { input: [input], output: [output] },
  solutions: { language: [3], solution: [solution] },
});
const READER = 'import sys\nn = int(input())\nprint(sum(map(int, sys.stdin.read().split())))\n';
const lines = (rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

describe('gauntlet problems', () => {
  after(removeFolders);

  const summaryOf = ({ code, out, err }: Ended) => {
    assert.equal(code, 0, err);
    return JSON.parse(out) as { total: number; healthy: number; quarantined: { id: string; reason: string }[] };
  };

  it('names every failing reference solution in one line of JSON (check)', async () => {
    const folder = await temporaryFolder({ 'set.jsonl': lines(SET) });
    const ended = await inProcess(
      'problems',
      'check',
      join(folder, 'set.jsonl'),
      '--json',
      '--case-cpu-seconds',
      '0.3',
    );
    const { total, healthy, quarantined } = summaryOf(ended);
    assert.match(ended.err, /set\.jsonl: 6 problems, format humaneval/);
    assert.deepEqual([total, healthy], [6, 1]);
    const reasons = new Map(quarantined.map(({ id, reason }) => [id, reason]));
    assert.deepEqual([...reasons.keys()], ['Own/1', 'Own/2', 'Own/3', 'Own/4', 'Own/5']);
    assert.equal(reasons.get('Own/1'), 'baseline test 1 fails: expected 3.5, the reference answers 4.5');
    assert.match(reasons.get('Own/2')!, /^nondeterministic: baseline test 1 was answered/);
    assert.match(reasons.get('Own/3')!, /^the reference does not parse: SyntaxError/);
    assert.match(reasons.get('Own/4')!, /^baseline test 1: timeout/);
    assert.equal(reasons.get('Own/5'), 'no tests');
  });

  it('writes valid problems to a file for training and quarantines the rest (import)', async () => {
    const folder = await temporaryFolder();
    const given = join(folder, 'set.jsonl.gz');
    await writeFile(given, gzipSync(lines(SET.slice(0, 2))));
    const out = join(folder, 'own.jsonl');
    summaryOf(await inProcess('problems', 'import', given, '--out', out, '--json'));
    const set = await loadProblems(out);
    assert.deepEqual(pluck([...set.train, ...set.validation, ...set.test], 'id'), ['Own/0']);
    assert.deepEqual(set.train[0]?.baselineTests, [{ args: [[1, { f: '2.5' }]], expected: { f: '3.5' } }]);
    const rest = readFileSync(join(folder, 'own.quarantined.jsonl'), 'utf8').trim().split('\n');
    assert.deepEqual(
      rest.map((line) => (JSON.parse(line) as { id: string }).id),
      ['Own/1'],
    );
    const again = summaryOf(await inProcess('problems', 'check', out, '--json'));
    assert.deepEqual([again.healthy, again.quarantined], [1, []]);
  });

  it('compares the printed output of whole programs', async () => {
    const set = [
      program('right', READER, '2\n3 4\n', '7'),
      program('exits', `${READER}sys.exit(0)\n`, '2\n3 4\n', '7\n'),
      program('wrong', READER, '2\n3 4\n', '8'),
      program('fails', `${READER}sys.exit(3)\n`, '2\n3 4\n', '7'),
      program('descriptors', 'import os\nos.write(1, b"%d" % sum(map(int, open(0).read().split()[1:])))', '1 2 3', '5'),
      program('main', 'def main():\n    print(input())\nif __name__ == "__main__":\n    main()\n', 'x', 'x'),
    ];
    const folder = await temporaryFolder({ 'set.jsonl': lines(set) });
    const { quarantined } = summaryOf(await inProcess('problems', 'check', join(folder, 'set.jsonl'), '--json'));
    assert.deepEqual(pluck(quarantined, 'id'), ['wrong', 'fails']);
    assert.match(quarantined[0]!.reason, /expected '8', the reference answers '7\\n'/);
    assert.match(quarantined[1]!.reason, /error: RuntimeError: the program ended with exit status 3/);
  });

  it('quarantines a record with a bad field and names its position, id and field', async () => {
    const { test: _, ...lacking } = SET[1]!;
    const empty = { ...SET[2]!, prompt: ' ' };
    const folder = await temporaryFolder({ 'set.jsonl': lines([lacking, SET[0]!, empty]) });
    const { total, healthy, quarantined } = summaryOf(
      await inProcess('problems', 'check', join(folder, 'set.jsonl'), '--json'),
    );
    assert.deepEqual([total, healthy], [3, 1]);
    assert.deepEqual(quarantined, [
      { id: 'Own/1', reason: 'line 1: missing field `test`' },
      { id: 'Own/2', reason: 'line 3: field `prompt`: must not be empty' },
    ]);
  });

  it('refuses a bad file in one line and writes nothing', async () => {
    const { test: _, ...lacking } = SET[1]!;
    const folder = await temporaryFolder({ 'set.jsonl': lines([lacking, lacking]), 'odd.jsonl': '{"a": 1}' });
    const before = readdirSync(folder);
    const importing = (name: string, ...more: string[]) =>
      inProcess('problems', 'import', join(folder, name), '--out', join(folder, 'own.jsonl'), ...more);
    for (const [ended, message] of [
      [await importing('set.jsonl', '--format', 'humaneval'), /the first: line 1: missing field `test` \[BAD_INPUT\]/],
      [await importing('odd.jsonl'), /odd\.jsonl: line 1: unknown format \(its fields: a\)/],
      [await importing('none.jsonl'), /none\.jsonl: no such file/],
      [await importing('set.jsonl', '--format', 'mbpp'), /set\.jsonl: no record .* line 1: missing field `code`/],
      [
        await importing('odd.jsonl', '--references', join(folder, 'odd.jsonl')),
        /odd\.jsonl: line 1: expected \{id, code\}/,
      ],
    ] as const) {
      assert.equal(ended.code, 2);
      assert.match(ended.err, message);
      assert.equal(ended.err.trim().split('\n').length, 1, ended.err);
      assert.equal(ended.out, '');
    }
    assert.deepEqual(readdirSync(folder), before);
    const nowhere = join(folder, 'none', 'own.jsonl');
    const { code, err } = await inProcess('problems', 'import', join(folder, 'set.jsonl'), '--out', nowhere);
    assert.deepEqual([code, existsSync(nowhere)], [2, false]);
    assert.match(err, /line 1|there is no folder/);
  });
});
