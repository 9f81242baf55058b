// Files and folders in a store that no program of the project wrote. Each is ignored or reported, and hides nothing else.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import type { Versions } from '../../dashboard/api.js';
import { openResources } from '../../dashboard/data/resources.js';
import { listCheckpoints } from '../../store/checkpoints.js';
import { copyStore } from '../../store/copy.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { sweep } from '../../store/sweep.js';
import { verifyStore } from '../../store/verify.js';
import { inProcess } from '../cli/support.js';
import { doubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

const ODD = ['demo (copy)', 'über', '-run', '.hidden', 'a\nb', 'a\\b', 'x'.repeat(201), '🙂'];

describe('odd names in a store', () => {
  let made: string;
  let root: string;
  let store: ObjectStore;

  before(async () => {
    const world = await doubles();
    made = world.folder;
    await runPipeline(createActivities(world.deps), 'run', TINIEST_RUN);
  });
  beforeEach(async () => {
    root = join(await mkdtemp(join(tmpdir(), 'gauntlet-odd-')), 'store');
    await cp(made, root, { recursive: true });
    store = await openStore(root);
  });
  afterEach(() => rm(join(root, '..'), { recursive: true, force: true }));
  after(() => rm(made, { recursive: true, force: true }));

  const at = (...parts: string[]): string => join(root, ...parts);
  const settings = { keepFrom: Date.now() + 3_600_000, open: new Set<string>(), dryRun: false };

  async function listsRun(): Promise<void> {
    assert.deepEqual(await store.listRuns(), ['run']);
    const resources = openResources(await openStore(root));
    const { runs } = (await resources.read('runs')) as { runs: { id: string; state: string }[] };
    assert.deepEqual(
      runs.map(({ id, state }) => [id, state]),
      [['run', 'finished']],
    );
    const { versions } = (await resources.read('versions')) as Versions;
    assert.deepEqual(Object.keys(versions), ['run']);
  }

  it('do not disturb if they belong to folders among the runs, and verification notes them', async () => {
    for (const name of ODD) await mkdir(at('runs', name));
    await writeFile(at('runs', 'a file (1).txt'), '');
    await listsRun();
    const { ok, findings, notes } = await verifyStore(store);
    assert.deepEqual([ok, findings], [true, []]);
    assert.equal(notes.length, ODD.length);
    assert.ok(
      notes.some((note) => note.startsWith('runs/demo (copy): is ignored, because this is not the name of a run')),
    );
    const { code, out } = await inProcess('status', '--json', '--store', root);
    assert.equal(code, 0);
    assert.match(out, /"run"/);
    const verified = await inProcess('store', 'verify', '--store', root);
    assert.equal(verified.code, 0, verified.out);
    assert.ok(!verified.out.includes('a\nb'));
    const other = await openStore(at('other'));
    assert.equal((await copyStore(store, other)).runs, 1);
  });

  it('keep the artifacts of a renamed run in a sweep', async () => {
    const whole = (await verifyStore(store)).checked.blobs;
    await sweep(store, settings);
    const kept = (await verifyStore(store)).checked.blobs;
    await rename(at('runs', 'run'), at('runs', 'run (old)'));
    await sweep(store, settings);
    await rename(at('runs', 'run (old)'), at('runs', 'run'));
    const { ok, checked } = await verifyStore(store);
    assert.ok(ok);
    assert.equal(checked.blobs, kept);
    assert.ok(kept > 0 && kept <= whole);
  });

  it('hide nothing if they belong to files in a run or to memo rows', async () => {
    const odd = ['notes\\1.json', 'a\tb.json', 'metrics/a\\b.json', 'checkpoints/odd\\name/metadata.json'];
    for (const name of odd) {
      await mkdir(join(at('runs', 'run', name), '..'), { recursive: true });
      await writeFile(at('runs', 'run', name), '{}');
    }
    for (const name of ['a row (copy)', '.part', 'ü']) await writeFile(at('memo', name), 'x');
    await listsRun();
    const checkpoints = (await listCheckpoints(store, 'run')).length;
    assert.ok(checkpoints > 0);
    const { findings } = await verifyStore(store);
    assert.deepEqual(findings.map(({ name, problem }) => `${name} ${problem}`).sort(), [
      'memo/.part is damaged',
      'memo/a row (copy) is damaged',
      'memo/ü is damaged',
    ]);
    await sweep(store, { ...settings, dryRun: true });
    assert.equal((await copyStore(store, await openStore(at('other')))).runs, 1);
  });

  it('are reported as damage, one by one, if they are links, folders or pipes in place of files', async () => {
    const { files } = (await listCheckpoints(store, 'run'))[0]!;
    const before = (await verifyStore(store)).checked;
    const blobs = (await store.objects.names('blobs/sha256')).sort();
    const places = [
      ...blobs.slice(0, 4).map((name) => at('blobs', 'sha256', name)),
      at('memo', (await store.memoKeys())[0]!),
      at('runs', 'run', 'result.json'),
      at('runs', 'run', 'checkpoints', 'checkpoint_best'),
      at('runs', 'run', 'checkpoints', (await listCheckpoints(store, 'run'))[0]!.name, 'metadata.json'),
    ];
    assert.ok(Object.keys(files).length > 0);
    const kinds: ((path: string) => unknown)[] = [
      (path) => symlink('/etc/passwd', path),
      (path) => symlink(path, path), // a link to itself
      (path) => mkdir(path),
      (path) => execFileSync('mkfifo', [path]),
    ];
    for (const [i, path] of places.entries()) {
      await rm(path);
      await kinds[i % kinds.length]!(path);
    }
    const { ok, findings, checked } = await verifyStore(store);
    assert.equal(ok, false);
    const named = findings.map(({ name }) => name).join('\n');
    for (const name of blobs.slice(0, 4)) assert.match(named, new RegExp(`sha256:${name.replace('/', '')}`));
    for (const name of ['result.json', 'checkpoint_best', 'metadata.json']) assert.ok(named.includes(name), named);
    assert.ok(findings.every(({ problem, help }) => problem !== '' && help !== ''));
    assert.ok(checked.blobs >= before.blobs / 2 && checked.runs === 1);
    const listed = await openResources(await openStore(root)).read('runs');
    assert.equal((listed as { runs: object[] }).runs.length, 1);
    assert.equal((await inProcess('status', '--store', root)).code, 0);
    await sweep(store, { ...settings, dryRun: true });
  });

  it('are reported as damage if a file is larger than any file of a store', async () => {
    const [name] = (await store.objects.names('blobs/sha256')).sort();
    await truncate(at('blobs', 'sha256', name!), 3 * 2 ** 30); // a sparse file
    const { findings } = await verifyStore(store);
    assert.ok(
      findings.some(({ problem }) => problem.startsWith('is damaged at ')),
      JSON.stringify(findings),
    );
  });

  it('hide no other run if the folders of a run are links to a folder outside', async () => {
    await mkdir(at('runs', 'bad'));
    await symlink('/etc', at('runs', 'bad', 'metrics'));
    await symlink('/etc', at('runs', 'bad', 'checkpoints'));
    const { runs } = (await openResources(await openStore(root)).read('runs')) as {
      runs: { id: string; state: string }[];
    };
    assert.deepEqual(runs.map(({ id, state }) => [id, state]).sort(), [
      ['bad', 'damaged'],
      ['run', 'finished'],
    ]);
    const { findings, checked } = await verifyStore(store);
    assert.equal(checked.runs, 2);
    assert.ok(findings.every(({ run }) => run === 'bad'));
    assert.match(findings.map(({ problem }) => problem).join('\n'), /leads out of/);
    assert.equal((await inProcess('status', '--store', root)).code, 0);
  });
});
