// Downloads data sets from a local hub that is honest or hostile.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DatasetFiles, datasetFiles } from '../../data/hub/dataset.js';
import { checkProblems, loadProblems } from '../../data/problems.js';
import { absoluteSource, parseSource, provideSource, sourceText } from '../../data/source.js';
import { PLACE } from '../../infra/place.mjs';
import { ROOT } from '../../infra/root.mjs';
import { type FakeHub, refusedWith, TOKEN, useHub } from '../support/hub.js';
import { PUBLIC_SETS } from '../support/publicSets.js';

const [CONVERTED, MAIN, OLD] = ['c'.repeat(40), 'a'.repeat(40), 'b'.repeat(40)];
const table = readFileSync(join(ROOT, 'test/data/publicSets/acecode.parquet'));
const { records } = PUBLIC_SETS.find(({ format }) => format === 'acecode')!;
const text = Buffer.from(records.map((row) => `${JSON.stringify(row)}\n`).join(''));

describe('a data set of the Hugging Face hub', () => {
  let hub: FakeHub;
  let place: string;
  let leave: () => Promise<void>;
  const folder = () => join(place, 'hub', 'datasets--some--data');
  const refused = (code: 'BAD_INPUT' | 'HUB_FAULT', message: RegExp, work: () => Promise<unknown>) =>
    refusedWith(work(), code, message);
  const filesOf = (options: Omit<Parameters<typeof datasetFiles>[0], 'id'> = {}): Promise<DatasetFiles> =>
    datasetFiles({ id: 'some/data', ...options });

  beforeEach(async () => {
    ({ hub, place, leave } = await useHub({}));
    hub.revisions = {
      main: {
        sha: MAIN,
        files: { 'README.md': Buffer.from('#'), 'train.jsonl': text, 'load.py': Buffer.from('code') },
      },
      'refs/convert/parquet': {
        sha: CONVERTED,
        files: {
          'default/train/0000.parquet': table,
          'default/test/0000.parquet': Buffer.from('PAR1 other'),
          'hard/partial-train/0000.parquet': Buffer.from('PAR1 hard'),
          'hard/partial-train/0001.parquet': Buffer.from('PAR1 more'),
        },
      },
      v1: {
        sha: OLD,
        files: { 'data/train-00000-of-00002.parquet': table, 'data/train-00001-of-00002.parquet': table },
      },
    };
  });
  afterEach(() => leave());

  it('is downloaded as Parquet into the layout of the hub cache, and needs no network afterwards', async () => {
    const seen: number[] = [];
    const chosen = await datasetFiles({ id: 'some/data' }, ({ done }) => seen.push(done));
    const path = join(folder(), 'snapshots', CONVERTED, 'default/train/0000.parquet');
    assert.deepEqual(chosen, { files: [path], config: 'default', split: 'train', revision: CONVERTED });
    assert.deepEqual(readFileSync(path), table);
    assert.match(readlinkSync(path), /^\.\.\/\.\.\/\.\.\/\.\.\/blobs\/[0-9a-f]{64}$/);
    assert.equal(readFileSync(join(folder(), 'refs/refs/convert/parquet'), 'utf8'), CONVERTED);
    assert.equal(seen.at(-1), table.length);
    assert.ok(!existsSync(join(folder(), 'snapshots', CONVERTED, 'default/test')), 'only one split is downloaded');
    hub.requests.length = 0;
    process.env.HF_HUB_OFFLINE = '1';
    assert.deepEqual(await filesOf(), chosen);
    assert.deepEqual(await filesOf({ revision: CONVERTED }), chosen);
    assert.equal(hub.requests.length, 0);
    await refused('BAD_INPUT', /^some\/data: not in the Hugging Face cache .*HF_HUB_OFFLINE/, () =>
      filesOf({ split: 'test' }),
    );
    await refused('BAD_INPUT', /^other\/data: not in the Hugging Face cache/, () => datasetFiles({ id: 'other/data' }));
  });

  it('has configurations and splits, which an error message lists', async () => {
    const { files } = await filesOf({ config: 'hard', split: 'train' });
    assert.deepEqual(
      files.map((file) => file.split('/').at(-1)),
      ['0000.parquet', '0001.parquet'],
    );
    await refused('BAD_INPUT', /^hf:some\/data: choose one with \?config=NAME: default, hard$/, () =>
      filesOf({ config: 'x' }),
    );
    await refused('BAD_INPUT', /^hf:some\/data: choose one with \?split=NAME: test, train$/, () =>
      filesOf({ split: 'x' }),
    );
    delete hub.revisions!['refs/convert/parquet']!.files['default/train/0000.parquet'];
    await rm(folder(), { recursive: true });
    assert.equal((await filesOf()).split, 'test', 'the only split of a configuration needs no name');
  });

  it('is read in its original form if it is not converted, or if a revision is named', async () => {
    delete hub.revisions!['refs/convert/parquet'];
    const { files, revision } = await filesOf();
    assert.deepEqual([files.map((file) => file.split('/').at(-1)), revision], [['train.jsonl'], MAIN]);
    const old = await filesOf({ revision: 'v1' });
    assert.equal(old.revision, OLD);
    assert.equal(old.files.length, 2);
    assert.deepEqual((await filesOf({ revision: OLD })).files, old.files);
    assert.ok(!hub.requests.some(({ path }) => /load\.py|README/.test(path)));
    await refused('BAD_INPUT', /has no such data set or revision$/, () => filesOf({ revision: 'v9' }));
  });

  it('provides the problems of its files, and its commit as the source of a run', async () => {
    const source = 'hf:some/data';
    const checked = await checkProblems(source);
    assert.deepEqual([checked!.format, checked!.total, checked!.rejected], ['acecode', 20, []]);
    const pinned = sourceText((await provideSource(parseSource(source))).source);
    assert.equal(pinned, `hf:some/data?config=default&split=train&revision=${CONVERTED}`);
    assert.equal(absoluteSource(pinned), pinned);
    hub.revisions!['refs/convert/parquet'] = { sha: 'd'.repeat(40), files: {} };
    const { train, validation, test } = await loadProblems(pinned);
    assert.equal(train.length + validation.length + test.length, 20);
    const references = join(place, 'r.jsonl');
    await writeFile(references, `${JSON.stringify({ id: 'ace_0', code: 'def total(xs): return 1' })}\n`);
    const { train: other } = await loadProblems(`${pinned}&references=${references}`);
    assert.match([...other, ...train].find(({ id }) => id === 'ace_0')!.referenceSolution!, /return 1/);
  });

  it('is downloaded further after an interruption', async () => {
    let sent = 0;
    hub.send = (name, request, response) => {
      if (!name.endsWith('.parquet') || request.headers.range || ++sent > 1) return false;
      response.writeHead(200, { 'content-length': table.length });
      response.write(table.subarray(0, 1000), () => response.destroy());
      return true;
    };
    const { files } = await filesOf();
    assert.deepEqual(readFileSync(files[0]!), table);
    assert.ok(hub.requests.some(({ range }) => range === 'bytes=1000-'));
  });

  it('is refused if its content differs from the listing, or the listing leads out of the cache', async () => {
    hub.send = (name, _request, response) => {
      if (!name.endsWith('.parquet')) return false;
      response.end(Buffer.alloc(table.length));
      return true;
    };
    await refused(
      'HUB_FAULT',
      /some\/data: .* sent an invalid answer: default\/train\/0000\.parquet has digest/,
      filesOf,
    );
    assert.ok(!readdirSync(join(folder(), 'blobs')).some((name) => !name.includes('.')));
    await rm(folder(), { recursive: true });
    const [entry] = Object.entries(hub.revisions!['refs/convert/parquet']!.files);
    for (const path of [
      '../../../x.parquet',
      '/etc/x.parquet',
      'a/../x.parquet',
      '.hidden/train/0000.parquet',
      'a/b\n.parquet',
    ]) {
      hub.revisions!['refs/convert/parquet']!.files = { [path]: entry![1] };
      await refused('HUB_FAULT', /invalid answer: it lists no files of Parquet or JSON/, filesOf);
    }
    hub.listing = (entries) => entries.map((one) => ({ ...one, size: 2 ** 50, lfs: undefined }));
    hub.revisions!['refs/convert/parquet']!.files = { 'default/train/0000.parquet': table };
    await refused('HUB_FAULT', /gives default\/train\/0000\.parquet no usable size/, filesOf);
    assert.ok(!existsSync(join(folder(), 'snapshots')));
  });

  it('is read from a cache that another program damaged, and leads to no file outside of it', async () => {
    await filesOf();
    const [listing, victim] = [join(folder(), 'listings', `${CONVERTED}.json`), join(place, 'victim')];
    const [known] = JSON.parse(readFileSync(listing, 'utf8')) as { digest: string }[];
    await mkdir(victim);
    await writeFile(join(victim, '.bashrc'), 'mine');
    const unharmed = (what: string): void => {
      assert.deepEqual(
        [readdirSync(victim), readFileSync(join(victim, '.bashrc'), 'utf8')],
        [['.bashrc'], 'mine'],
        what,
      );
      assert.deepEqual(readdirSync(place), ['hub', 'victim'], what);
    };
    const { texts, fields, links } = JSON.parse(readFileSync('test/data/poisonedCache.json', 'utf8'));
    for (const poison of [...texts, ...fields.map((other: object) => JSON.stringify([{ ...known, ...other }]))]) {
      await rm(join(folder(), 'snapshots'), { recursive: true });
      await writeFile(listing, poison);
      assert.deepEqual(readFileSync((await filesOf()).files[0]!), table, poison);
      unharmed(poison);
    }
    for (const link of links) {
      await rm(folder(), { recursive: true });
      await mkdir(join(folder(), link, '..'), { recursive: true });
      await symlink(victim, join(folder(), link));
      await refused('BAD_INPUT', /: not a folder; remove it from the cache$/, filesOf);
      unharmed(link);
    }
    await rm(folder(), { recursive: true });
    await mkdir(join(folder(), 'blobs'), { recursive: true });
    await symlink(join(victim, '.bashrc'), join(folder(), 'blobs', `${known!.digest}.${PLACE}.999999999.incomplete`));
    assert.deepEqual(readFileSync((await filesOf()).files[0]!), table);
    unharmed('what another process left');
  });

  it('is refused in one line if the hub refuses it', async () => {
    hub.revisions = {};
    await refused('BAD_INPUT', /has no such data set or revision$/, filesOf);
    delete hub.revisions;
    hub.info = () => ({ status: 403 });
    process.env.HF_TOKEN = TOKEN;
    await refused('BAD_INPUT', /answers 403: the data set is gated, .* or name a file with --problems$/, filesOf);
    const parsed = (text: string, reason: RegExp) => refused('BAD_INPUT', reason, async () => parseSource(text));
    for (const odd of ['../../x', 'a/../b', '/x', 'x/', '.git', 'a//b', 'a\u001b', ''])
      await parsed(`hf:a/b?revision=${encodeURIComponent(odd)}`, /the revision must be a branch, a tag or a commit$/);
    for (const id of ['../b', 'a/..', 'a/b/c', '.a/b', 'a/.b', '/b', 'a/b\u001b', 'data'])
      await parsed(`hf:${id}`, /write hf:OWNER\/NAME$/);
    await parsed('hf:a/b?spilt=x', /no option `spilt`; there are config, split, revision/);
    await parsed('a.jsonl?split=x', /no option `split`; there are format, map, references/);
    await parsed('a.jsonl?format=nonesuch', /no format `nonesuch`/);
    for (const name of ['a/b', 'https://hub/datasets/a/b', 'https://hub/datasets/a/b/tree/main'])
      await parsed(name, /no such file; a data set of the hub is written hf:a\/b$/);
  });
});
