// Public sets in the form in which users have them: Parquet files with the columns of the hub, checked, imported and loaded.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadProblems } from '../../data/problems.js';
import { readRecords } from '../../data/records.js';
import { ROOT } from '../../infra/root.mjs';
import { requireDocker } from '../sandbox/docker.js';
import { PRIME_REFERENCES, PUBLIC_SETS } from '../support/publicSets.js';
import { inProcess, removeFolders, temporaryFolder } from './support.js';

/** Adds an option --map for each column. */
const repeated = (map: string): string[] => map.split(',').flatMap((column) => ['--map', column]);
const fileOf = (format: string): string => join(ROOT, 'test/data/publicSets', `${format}.parquet`);
const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

describe('a public problem set', () => {
  after(removeFolders);

  for (const { format, records, healthy, asCode = 0, quarantined } of PUBLIC_SETS) {
    it(`has healthy problems, and a reason for each other problem, in the format ${format}`, async function () {
      if (format === 'kodcode') await requireDocker(this); // some of its tests need pytest
      const folder = await temporaryFolder({
        [`${format}.jsonl`]: lines(records),
        'references.jsonl': lines(PRIME_REFERENCES),
      });
      const references = format === 'prime' ? ['--references', join(folder, 'references.jsonl')] : [];
      const out = join(folder, 'own.jsonl');
      const importing = [...references, '--out', out, '--json', '--case-cpu-seconds', '2'];
      const file = existsSync(fileOf(format)) ? fileOf(format) : join(folder, `${format}.jsonl`);
      const ended = await inProcess('problems', 'import', file, ...importing);
      assert.equal(ended.code, 0, ended.err);
      assert.match(
        ended.err,
        new RegExp(`${format}\\.(parquet|jsonl): ${records.length} problems, format ${format}$`, 'm'),
      );
      const result = JSON.parse(ended.out) as { healthy: number; quarantined: { id: string; reason: string }[] };
      const reasons = Object.fromEntries(result.quarantined.map(({ id, reason }) => [id, reason]));
      assert.deepEqual(Object.keys(reasons).sort(), Object.keys(quarantined).sort(), JSON.stringify(reasons));
      for (const [id, message] of Object.entries(quarantined)) assert.match(reasons[id]!, message);
      assert.equal(result.healthy, healthy);
      const { train, validation, test } = await loadProblems(out);
      const problems = [...train, ...validation, ...test];
      assert.equal(problems.length, healthy);
      assert.equal(problems.filter(({ testSource }) => testSource !== undefined).length, asCode);
    });

    if (!existsSync(fileOf(format))) continue; // pyarrow wrote the Parquet files, see publicSets/make.py
    it(`has the same problems in Parquet and in JSON lines, in the format ${format}`, async () => {
      const folder = await temporaryFolder({
        'set.jsonl': lines(records),
        'references.jsonl': lines(PRIME_REFERENCES),
      });
      const references = format === 'prime' ? `?references=${join(folder, 'references.jsonl')}` : '';
      const text = await loadProblems(`${join(folder, 'set.jsonl')}${references}`);
      const table = await loadProblems(`${fileOf(format)}${references}`);
      const plain = ({ train, validation, test }: typeof text) =>
        [...train, ...validation, ...test].map((problem) => ({ ...problem, source: '' }));
      assert.deepEqual(plain(table), plain(text));
      let count = 0;
      for await (const _ of readRecords(fileOf(format))) count++;
      assert.equal(count, records.length);
    });
  }

  it('is refused without references, and the message says how to provide them', async () => {
    const { code, err } = await inProcess('problems', 'check', fileOf('prime'));
    assert.equal(code, 0);
    assert.match(err, /: no reference solution: give one with --references, or train with --set reference=none/);
  });

  describe('with other names of columns', () => {
    const rows = PUBLIC_SETS[4]!.records.slice(0, 5).map(({ question, test_cases, inferences }, i) => ({
      uuid: `u${i}`,
      task: question,
      checks: { all: test_cases },
      answers: inferences,
    }));
    const map = 'id=uuid,description=task,tests=checks.all,reference=answers';

    it('is read with --map', async () => {
      const folder = await temporaryFolder({ 'set.jsonl': lines(rows) });
      const file = join(folder, 'set.jsonl');
      const { code, out, err } = await inProcess('problems', 'check', file, ...repeated(map), '--json');
      assert.equal(code, 0, err);
      assert.match(err, /5 problems, format columns/);
      assert.equal((JSON.parse(out) as { healthy: number }).healthy, 5);
      const { train } = await loadProblems(`${file}?map=${map}`);
      assert.ok(train.every(({ id }) => /^u\d$/.test(id)));
    });

    it('is refused in one line that names --map', async () => {
      const folder = await temporaryFolder({ 'set.jsonl': lines(rows) });
      const file = join(folder, 'set.jsonl');
      const refused = async (message: RegExp, ...more: string[]): Promise<void> => {
        const out = join(folder, 'own.jsonl');
        const { code, err } = await inProcess('problems', 'import', file, '--out', out, ...more);
        assert.equal(code, 2, err);
        assert.match(err, message);
        assert.equal(err.trim().split('\n').length, 1, err);
        assert.ok(!existsSync(out));
      };
      await refused(
        /unknown format \(its fields: uuid, task, checks, answers\); .* --map description=COLUMN,tests=COLUMN/,
      );
      await refused(
        /--map: `question=task`: write PART=COLUMN, with one of id, title, description/,
        '--map',
        'question=task',
      );
      await refused(/first: line 1: missing field `nothing`/, '--map', 'description=nothing,tests=checks.all');
      await refused(/first: line 1: missing column for `tests`|no reference/, '--map', 'description=task');
      await refused(/the format mbpp has fixed fields; leave out --format/, '--map', map, '--format', 'mbpp');
      await refused(/needs --map/, '--format', 'columns');
      await refused(
        /field `checks`: has no lists `inputs` and `outputs`/,
        '--map',
        map.replace('checks.all', 'checks'),
      );
    });
  });

  it('can be solved without references and tests', async () => {
    const prompt = PUBLIC_SETS.find(({ format }) => format === 'deepcoder')!.records.filter((_, i) => i % 3 === 0);
    const without = prompt.map(({ solutions: _, ...rest }) => rest);
    const folder = await temporaryFolder({ 'set.jsonl': lines(without.slice(0, 1)) });
    const { code, out, err } = await inProcess(
      'solve',
      join(folder, 'set.jsonl'),
      '--model',
      'tiny',
      '--no-tests',
      '--json',
    );
    assert.equal(code, 0, err);
    assert.match(out, /"problemId":"problem-1"/);
  });
});
