// The requirements on every store, wherever it keeps its objects. test/store/conformance.test.ts runs this suite.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { commitCheckpoint, loadCheckpoint } from '../../store/checkpoints.js';
import { layout } from '../../store/layout.js';
import { memoised } from '../../store/memo.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { createRun, readRun } from '../../store/runs.js';
import { sweep } from '../../store/sweep.js';
import { verifyStore } from '../../store/verify.js';
import { DIGEST, refusal, sampleConfig, sampleFacts, sampleFiles } from './support.js';

/** A new, empty store. Each call of `open` opens it as a new process does. */
export interface Place {
  open(): Promise<ObjectStore>;
  remove(): Promise<void>;
  tick: number; // in milliseconds; the store's times have this precision
}

const PAGE = 1000; // the largest number of names in one answer of S3
const LARGE = 20 * 2 ** 20; // S3 receives an object of this size in several parts

const bytesOf = (text: string) => Buffer.from(text, 'utf8');
const textOf = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString('utf8');
const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const digestOf = (text: string) => `sha256:${sha(text)}`;

/** A time after all earlier writes and before all later ones, in whole units of the store's precision. */
async function nextTick({ tick }: Place): Promise<number> {
  await sleep(tick + 5 - (Date.now() % tick));
  return Math.floor(Date.now() / tick) * tick;
}

export function describeStore(kind: string, newPlace: (suite: Mocha.Context) => Promise<Place>): void {
  describe(`${kind} store`, () => {
    let place: Place;
    let store: ObjectStore;

    before(async function () {
      place = await newPlace(this);
    });
    beforeEach(async () => {
      await place.remove();
      store = await place.open();
    });
    after(() => place?.remove());

    describe('blobs', () => {
      it('are stored under their SHA-256', async () => {
        const digest = await store.putBlob(bytesOf('hello'));
        assert.equal(digest, digestOf('hello'));
        const hex = sha('hello');
        assert.equal(textOf(await store.objects.read(`blobs/sha256/${hex.slice(0, 2)}/${hex.slice(2)}`)), 'hello');
        assert.equal(textOf(await store.objects.read(layout.blob(digest), 2)), 'he');
        assert.equal(textOf(await store.objects.read(layout.blob(digest), 9)), 'hello');
        assert.equal(await store.objects.read(layout.blob(DIGEST), 1), undefined);
        assert.equal(textOf(await (await place.open()).getBlob(digest)), 'hello');
        assert.equal(await store.hasBlob(digest), true);
        assert.equal(await store.putBlob(bytesOf('hello')), digest);
        assert.equal(textOf(await store.getBlob(await store.putBlob(new Uint8Array()))), '');
      });

      it('are reported as NOT_FOUND if they are missing, and as BAD_INPUT if their digest is malformed', async () => {
        assert.equal(await store.hasBlob(DIGEST), false);
        await assert.rejects(store.getBlob(DIGEST), refusal('NOT_FOUND', DIGEST, store.locate('')));
        for (const bad of ['', 'sha256:../../x', `sha256:${'A'.repeat(64)}`, `md5:${'0'.repeat(64)}`]) {
          await assert.rejects(store.getBlob(bad), refusal('BAD_INPUT', 'is not a digest'));
          await assert.rejects(store.hasBlob(bad), refusal('BAD_INPUT'));
          await assert.rejects(store.putMemo('key', bad), refusal('BAD_INPUT'));
        }
      });

      it('are reported as CORRUPT_ARTIFACT if they are damaged, then as missing, until they are written again', async () => {
        const digest = await store.putBlob(bytesOf('some bytes'));
        const key = layout.blob(digest);
        for (const damaged of ['some bytfs', 'som', '', 'some bytes\0']) {
          await store.objects.write(key, damaged, 'replace');
          await assert.rejects(store.getBlob(digest), refusal('CORRUPT_ARTIFACT', digest, store.locate(key)));
          await assert.rejects(store.getBlob(digest), refusal('NOT_FOUND', digest));
          await store.putBlob(bytesOf('some bytes'));
          assert.equal(textOf(await store.getBlob(digest)), 'some bytes');
          await store.objects.write(key, damaged, 'replace');
          await store.putBlob(bytesOf('some bytes'));
          assert.equal(textOf(await store.getBlob(digest)), 'some bytes');
        }
        assert.equal((await store.objects.names('quarantine')).length, 4);
      });

      it('count as missing if they are small and damaged, and are only checked on reading if they are large', async () => {
        for (const [size, isThere] of [
          [1000, false],
          [2_000_000, true],
        ] as const) {
          const digest = await store.putBlob(Buffer.alloc(size, 7));
          assert.equal(await store.hasBlob(digest), true);
          await store.objects.write(layout.blob(digest), Buffer.alloc(size, 8), 'replace');
          assert.equal(await store.hasBlob(digest), isThere);
          await assert.rejects(store.getBlob(digest), refusal(isThere ? 'CORRUPT_ARTIFACT' : 'NOT_FOUND', digest));
          assert.equal(await store.hasBlob(digest), false);
        }
      });

      it('survive if another process repairs them between a read and their removal', async () => {
        const digest = await store.putBlob(bytesOf('some bytes'));
        const { objects } = store;
        const move = objects.move.bind(objects);
        objects.move = async (...given) => {
          await (await place.open()).putBlob(bytesOf('some bytes'));
          return move(...given);
        };
        const asked = [
          async () => assert.equal(textOf(await store.getBlob(digest)), 'some bytes'),
          async () => assert.equal(await store.hasBlob(digest), true),
        ];
        for (const ask of asked) {
          await objects.write(layout.blob(digest), 'some bytfs', 'replace');
          await ask();
          assert.equal(textOf(await objects.read(layout.blob(digest))), 'some bytes');
          assert.deepEqual(await objects.names('quarantine'), []);
        }
        objects.move = move;
      });

      it('may be large', async () => {
        const bytes = Buffer.alloc(LARGE, 'all work and no play ');
        const digest = await store.putBlob(bytes);
        const other = await place.open();
        assert.ok(bytes.equals(await other.getBlob(digest)));
        assert.equal((await other.objects.use(layout.blob(digest)))?.bytes, LARGE);
        await store.objects.write(layout.blob(digest), bytes.subarray(0, LARGE - 1), 'replace');
        await assert.rejects(other.getBlob(digest), refusal('CORRUPT_ARTIFACT', digest));
      });

      it('are the same for equal JSON values, and cannot be read as JSON if their content is no JSON', async () => {
        const digest = await store.putJson({ b: [1, { d: 2, c: 3 }], a: null });
        assert.equal(await store.putJson({ a: null, b: [1, { c: 3, d: 2 }] }), digest);
        assert.deepEqual(await store.getJson(digest), { a: null, b: [1, { c: 3, d: 2 }] });
        const plain = await store.putBlob(bytesOf('not json'));
        await assert.rejects(store.getJson(plain), refusal('BAD_INPUT', plain, 'not JSON'));
      });
    });

    describe('memo rows', () => {
      it('give the second writer the digest of the first', async () => {
        const [first, second] = [await store.putBlob(bytesOf('1')), await store.putBlob(bytesOf('2'))];
        assert.equal(await store.getMemo('key'), undefined);
        assert.equal(await store.putMemo('key', first), first);
        assert.equal(await (await place.open()).putMemo('key', second), first);
        assert.equal(await store.getMemo('key'), first);
        assert.deepEqual(await store.memoKeys(), ['key']);
      });

      it('give concurrent writers of several processes one digest', async () => {
        const stores = [store, await place.open(), await place.open()];
        const digests = Array.from({ length: 30 }, (_, i) => digestOf(String(i)));
        const given = await Promise.all(digests.map((digest, i) => stores[i % 3]!.putMemo('key', digest)));
        assert.equal(new Set(given).size, 1);
        assert.ok(digests.includes(given[0]!));
      });

      it('are reported as CORRUPT_ARTIFACT with their place if damaged or renamed, then as missing', async () => {
        const key = layout.memo('key');
        await store.putMemo('key', DIGEST);
        const good = textOf(await store.objects.read(key))!;
        for (const bad of ['', good.replace(':0', ':1'), good.slice(0, -1), good.slice(0, 40), `${good}x`]) {
          await store.objects.write(key, bad, 'replace');
          await assert.rejects(store.getMemo('key'), refusal('CORRUPT_ARTIFACT', store.locate(key)));
          assert.equal(await store.getMemo('key'), undefined);
        }
        await store.objects.write(layout.memo('other'), good, 'replace');
        await assert.rejects(store.getMemo('other'), refusal('CORRUPT_ARTIFACT', 'other'));
      });
    });

    describe('files of runs', () => {
      it('can be written, replaced, listed and removed', async () => {
        assert.deepEqual(await store.listRuns(), []);
        assert.equal(await store.readRunFile('r', 'a/b.json'), undefined);
        assert.deepEqual(await store.listRunFiles('r', 'a'), []);
        await store.writeRunFile('r', 'a/b.json', 'one');
        await store.writeRunFile('r', 'a/b.json', 'two');
        await store.writeRunFile('r', 'a/c/d.bin', Uint8Array.of(0, 255));
        await store.writeRunFile('r', 'ab', 'not in a/');
        await store.writeRunFile('q@1:2+3=4', 'a file (ä) & 50%', '');
        assert.equal(textOf(await store.readRunFile('r', 'a/b.json')), 'two');
        assert.deepEqual([...(await store.readRunFile('r', 'a/c/d.bin'))!], [0, 255]);
        assert.deepEqual(await store.listRunFiles('r', 'a'), ['a/b.json', 'a/c/d.bin']);
        assert.deepEqual(await store.listRunFiles('r', ''), ['a/b.json', 'a/c/d.bin', 'ab']);
        assert.deepEqual(await store.listRunFiles('q@1:2+3=4', ''), ['a file (ä) & 50%']);
        assert.equal(textOf(await store.readRunFile('q@1:2+3=4', 'a file (ä) & 50%')), '');
        assert.deepEqual(await store.listRuns(), ['q@1:2+3=4', 'r']);
        await store.removeRunFile('r', 'a/b.json');
        await store.removeRunFile('r', 'a/b.json');
        await store.removeRunFile('none', 'a');
        assert.equal(await store.readRunFile('r', 'a/b.json'), undefined);
      });

      it('are left out of lists if no run can have their name or folder', async () => {
        await store.writeRunFile('r', 'a.json', '');
        for (const key of ['runs/demo (copy)/a.json', 'runs/-x/a.json', 'runs/r/b\\c.json', 'memo/a row'])
          await store.objects.write(key, 'x', 'create');
        assert.deepEqual(await store.listRuns(), ['r']);
        assert.deepEqual(await store.strayRuns(), ['-x', 'demo (copy)']);
        assert.deepEqual(await store.listRunFiles('r', ''), ['a.json']);
        assert.deepEqual(await store.memoKeys(), []);
      });

      it('have the time when they were last written or used', async () => {
        assert.equal(await store.runFileUsedAt('r', 'f'), undefined);
        await store.writeRunFile('r', 'f', 'x');
        const later = await nextTick(place);
        assert.ok((await store.runFileUsedAt('r', 'f'))! < later);
        const other = await place.open(); // in a bucket, the writer itself would rely on its own recent write
        assert.equal((await other.objects.touch(layout.run('r', 'f')))?.bytes, 1);
        assert.ok((await store.runFileUsedAt('r', 'f'))! >= later);
        assert.deepEqual(await store.listRunFiles('r', ''), ['f']);
        assert.equal(await store.objects.touch(layout.run('r', 'none')), undefined);
      });

      it('are created by exactly one of several processes', async () => {
        const stores = [store, await place.open(), await place.open()];
        for (let round = 0; round < 5; round++) {
          const path = `f${round}`;
          const won = await Promise.all(
            Array.from({ length: 12 }, (_, i) => stores[i % 3]!.createRunFile('r', path, String(i))),
          );
          assert.equal(won.filter(Boolean).length, 1);
          assert.equal(textOf(await store.readRunFile('r', path)), String(won.indexOf(true)));
        }
      });

      it('are read whole while several processes replace them', async () => {
        const stores = [store, await place.open(), await place.open()];
        const letters = [...'abcdefghi'];
        const write = (letter: string, i: number) =>
          stores[i % 3]!.writeRunFile('r', 'f', Buffer.alloc(300_000, letter));
        await write('a', 0);
        const writing = Promise.all(letters.map(write));
        let going = true;
        writing.finally(() => {
          going = false;
        });
        for (let reads = 0; going || reads < 3; reads++) {
          const text = textOf(await store.readRunFile('r', 'f'))!;
          assert.equal(text, text[0]!.repeat(300_000));
        }
        await writing;
      });

      it('are listed completely, however many there are', async () => {
        const paths = Array.from({ length: PAGE + 30 }, (_, i) => `many/${String(i).padStart(5, '0')}`);
        for (let i = 0; i < paths.length; i += 50)
          await Promise.all(paths.slice(i, i + 50).map((path) => store.writeRunFile('r', path, 'x')));
        assert.deepEqual(await store.listRunFiles('r', 'many'), paths);
        assert.equal((await store.objects.list(layout.run('r'))).length, paths.length);
      });

      it('are refused for a run id or a path that leads out of the run', async () => {
        for (const id of ['', '.', '..', '../r', 'a/b', 'a\\b', '/etc', 'a\0b', '.hidden', 'a b', 'x'.repeat(201)]) {
          await assert.rejects(store.writeRunFile(id, 'f', ''), refusal('BAD_INPUT', 'run id'), id);
          await assert.rejects(store.readRunFile(id, 'f'), refusal('BAD_INPUT'), id);
          await assert.rejects(store.listRunFiles(id, ''), refusal('BAD_INPUT'), id);
        }
        const upward = ['..', '../q/f', 'a/../../f', 'a/.', './f', 'a\\..\\b'];
        for (const path of [...upward, '', '/', '/etc/passwd', 'a//b', 'a\0', 'x\n', 'y'.repeat(256)]) {
          await assert.rejects(store.writeRunFile('r', path, ''), refusal('BAD_INPUT', 'path'), path);
          await assert.rejects(store.createRunFile('r', path, ''), refusal('BAD_INPUT'), path);
          await assert.rejects(store.readRunFile('r', path), refusal('BAD_INPUT'), path);
          await assert.rejects(store.removeRunFile('r', path), refusal('BAD_INPUT'), path);
          if (path !== '') await assert.rejects(store.listRunFiles('r', path), refusal('BAD_INPUT'), path);
        }
        for (const key of ['', '../x', 'a/b', '.x'])
          await assert.rejects(store.getMemo(key), refusal('BAD_INPUT', 'memo'));
        assert.deepEqual(await store.listRuns(), []);
      });
    });

    describe('runs and checkpoints', () => {
      const facts = { config: sampleConfig(), modelDigest: DIGEST, dataDigest: DIGEST, codeVersion: '1' };

      it('are complete after they were written, and a damaged file is named', async () => {
        const dataDigest = await store.putJson(['problem']);
        await createRun(store, 'r', { ...facts, dataDigest });
        for (const epoch of [1, 2]) {
          const { name } = await commitCheckpoint(store, 'r', sampleFacts({ epoch, step: epoch }), sampleFiles(epoch));
          assert.equal((await loadCheckpoint(store, 'r', 'latest')).metadata.name, name);
        }
        assert.deepEqual((await verifyStore(await place.open())).findings, []);
        const path = 'checkpoints/checkpoint_stage_1_epoch_1/archive.json';
        const good = (await store.readRunFile('r', path))!;
        await store.writeRunFile('r', path, '[1]');
        await assert.rejects(loadCheckpoint(store, 'r', 'best'), refusal('BAD_CHECKPOINT', 'archive.json'));
        assert.match((await verifyStore(store)).findings[0]?.problem ?? '', /archive\.json/);
        await store.writeRunFile('r', path, good);
      });

      it('are claimed by one of several configurations that try at once', async () => {
        const stores = [store, await place.open()];
        const claims = await Promise.allSettled(
          Array.from({ length: 6 }, (_, i) => createRun(stores[i % 2]!, 'r', { ...facts, config: sampleConfig(i) })),
        );
        assert.equal(claims.filter(({ status }) => status === 'fulfilled').length, 1);
        const won = claims.findIndex(({ status }) => status === 'fulfilled');
        assert.equal((await readRun(store, 'r')).seed, won);
      });
    });

    describe('a sweep', () => {
      const options = (keepFrom: number) => ({ keepFrom, open: new Set<string>(), dryRun: false });
      const isStored = async (digest: string) => (await store.objects.use(layout.blob(digest))) !== undefined;

      it('keeps what runs name and what was used, removes the rest, and leaves a complete store', async () => {
        const context = { store, name: 'n', version: 1 };
        const part = await store.putJson('part');
        const named = await store.putJson({ part });
        const unused = await store.putJson('unused');
        const used = await store.putJson('used');
        await store.writeRunFile('r', 'metrics/1.json', JSON.stringify({ named }));
        for (const n of [1, 2]) await memoised(context, { n }, async () => ({ n }));
        const keepFrom = await nextTick(place);
        const user = await place.open(); // in a bucket, the writer itself would rely on its own recent write
        assert.equal(await user.hasBlob(used), true);
        await memoised({ ...context, store: user }, { n: 2 }, () => assert.fail('computed again'));
        const foreseen = await sweep(store, { ...options(keepFrom), dryRun: true });
        assert.equal(await isStored(unused), true);
        assert.deepEqual(await sweep(await place.open(), options(keepFrom)), foreseen);
        const kept = await Promise.all([part, named, used, unused].map(isStored));
        assert.deepEqual(kept, [true, true, true, false]);
        assert.equal((await store.memoKeys()).length, 2); // the used row and its record
        assert.equal(foreseen.memos.files, 2);
        assert.deepEqual(
          (await verifyStore(store)).findings.filter(({ kind }) => kind !== 'record'),
          [],
        );
        assert.deepEqual((await memoised(context, { n: 1 }, async () => ({ n: 1 }))).output, { n: 1 });
      });

      it('keeps an object that is used during a sweep, and one that is written again', async () => {
        const values = ['used before it is taken', 'used after it is taken', 'written again', 'unused'];
        const digests = await Promise.all(values.map((value) => store.putJson(value)));
        const keepFrom = await nextTick(place);
        const other = await place.open();
        const { objects } = store;
        const move = objects.move.bind(objects);
        objects.move = async (from, to, durable) => {
          const at = digests.findIndex((digest) => from === layout.blob(digest));
          if (at === 0) assert.equal(await other.hasBlob(digests[0]!), true);
          const use = await move(from, to, durable);
          if (at === 1) assert.equal(await other.hasBlob(digests[1]!), true);
          if (at === 2) await other.putJson(values[2]);
          return use;
        };
        await sweep(store, options(keepFrom));
        assert.deepEqual(await Promise.all(digests.map(isStored)), [true, true, true, false]);
        assert.deepEqual(await objects.names('trash'), []);
      });

      it('loses nothing if it is killed: a read restores an object, and later sweeps remove the rest', async () => {
        const [wanted, other] = [await store.putJson({ n: 1 }), await store.putJson({ n: 2 })];
        const keepFrom = await nextTick(place);
        for (const digest of [wanted, other])
          await store.objects.move(layout.blob(digest), layout.taken(digest.slice(7)), false);
        assert.deepEqual(await store.getJson(wanted), { n: 1 });
        await sweep(store, options(keepFrom));
        assert.deepEqual(await store.objects.names('trash'), []);
        await sweep(store, options(await nextTick(place)));
        assert.equal(await isStored(other), false);
      });
    });
  });
}
