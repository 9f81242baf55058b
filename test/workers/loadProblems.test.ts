// A thread of a worker reads the problems of a run.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadProblems } from '../../data/problems.js';
import { ROOT } from '../../infra/root.mjs';
import { loadInThread } from '../../workers/deps/loadProblems.js';
import { temporaryFolder } from '../infra/support.js';

const table = join(ROOT, 'test/data/publicSets/kodcode.parquet');

describe('the problems that a worker reads', () => {
  let folder: string;
  before(async () => {
    folder = temporaryFolder();
  });
  const write = async (name: string, rows: object[]): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return path;
  };
  const own = (id: string, fields: object = {}): object => ({
    id,
    description: 'Add.',
    function_signature: 'def f(x):',
    baseline_tests: [[1, 2]],
    reference_solution: 'def f(x): return x + 1',
    ...fields,
  });

  it('equal the problems that a command reads, in several batches', async () => {
    assert.deepEqual(await loadInThread(table), await loadProblems(table));
    const many = await write(
      'many.jsonl',
      Array.from({ length: 500 }, (_, i) => own(`p${i}`)),
    );
    let calls = 0;
    assert.deepEqual(await loadInThread(many, { onProgress: () => calls++ }), await loadProblems(many));
    assert.equal(calls, 4, 'after 200 and 400 problems, for the rest, and at the end');
    assert.deepEqual(await loadInThread('steps:5'), await loadProblems('steps:5'));
  });

  it('have tests that only a later problem makes unambiguous', async () => {
    const ambiguous = own('late', { baseline_tests: [[[5], 6]], function_signature: 'def f(x):' });
    const file = await write('styles.jsonl', [ambiguous, own('clear'), own('bad', { description: '' })]);
    const { train, validation, test, rejected } = await loadInThread(file);
    assert.deepEqual([...train, ...validation, ...test].map(({ id }) => id).sort(), ['clear', 'late']);
    assert.deepEqual(rejected, [{ id: 'bad', reason: 'line 3: field `description`: must not be empty' }]);
  });

  it('are read from all files of a folder, by the columns that --map names', async () => {
    const path = join(folder, 'set');
    await mkdir(path);
    const row = (n: number): object => ({
      q: `Add ${n}.`,
      code: `def f(x): return x + ${n}`,
      t: [`assert f(1) == ${1 + n}`],
    });
    await writeFile(join(path, 'b.json'), JSON.stringify([row(3)]));
    await writeFile(join(path, 'a.jsonl'), `${JSON.stringify(row(1))}\n${JSON.stringify(row(2))}\n`);
    await writeFile(join(path, 'notes.txt'), 'no problems');
    const set = await loadInThread(`${path}?map=description=q,reference=code,tests=t`);
    const all = [...set.train, ...set.validation, ...set.test].sort((a, b) => (a.id < b.id ? -1 : 1));
    assert.deepEqual(
      all.map(({ id, description, source }) => [id, description, source]),
      [
        ['problem-1', 'Add 1.', 'a.jsonl'],
        ['problem-2', 'Add 2.', 'a.jsonl'],
        ['problem-3', 'Add 3.', 'b.json'],
      ],
    );
  });

  it('leave the event loop free while they are read', async () => {
    const many = await write(
      'busy.jsonl',
      Array.from({ length: 2000 }, (_, i) => own(`p${i}`)),
    );
    let turns = 0;
    const timer = setInterval(() => turns++, 5);
    await loadInThread(many);
    clearInterval(timer);
    assert.ok(turns >= 10, `${turns} turns`);
  });

  it('are no longer read after their activity is cancelled', async () => {
    const reference_solution = '~'.repeat(99_000); // the parser needs about a second
    const slow = await write(
      'slow.jsonl',
      Array.from({ length: 500 }, (_, i) => ({ ...own(`p${i}`), reference_solution })),
    );
    const loading = loadInThread(slow, { signal: AbortSignal.timeout(1500) });
    await assert.rejects(loading, { message: /ended \(exit status 1\)$/ });
    await assert.rejects(loadInThread(slow, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  });

  it('are refused with the error of the reader', async () => {
    const refused = (source: string, message: RegExp): Promise<void> =>
      assert.rejects(loadInThread(source), { code: 'BAD_INPUT', message });
    await refused(join(folder, 'none.jsonl'), /none\.jsonl: no such file/);
    await refused(await write('bad.jsonl', [{ a: 1 }]), /bad\.jsonl: line 1: unknown format/);
    await refused(`${table}?map=nonsense`, /--map: `nonsense`: write PART=COLUMN/);
  });
});
