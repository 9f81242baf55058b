// Features of stores in a bucket: URLs, opening, faults, the cache, damage and copies.
import assert from 'node:assert/strict';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { BlobCache } from '../../store/blobCache.js';
import { digestBytes } from '../../store/canonicalJson.js';
import { copyStore } from '../../store/copy.js';
import { layout } from '../../store/layout.js';
import { ObjectStore } from '../../store/objectStore.js';
import { localFolder, openStore, storeExists } from '../../store/openStore.js';
import { isS3, parseS3Url } from '../../store/s3Place.js';
import type { Store } from '../../store/store.js';
import { verifyStore } from '../../store/verify.js';
import { temporaryFolder } from '../infra/support.js';
import { corruptAtRandom } from '../support/corruptions.js';
import { openMemoryStore } from '../support/memoryStore.js';
import { requireS3, type S3Server } from '../support/s3Server.js';
import { describeStore } from './conformance.js';
import { DIGEST, fillStore, refusal } from './support.js';

describe('the URLs of S3 stores', () => {
  it('contain a bucket, a prefix, a server, a region and the size of the cache', () => {
    assert.equal(isS3('s3://bucket'), true);
    assert.equal(isS3('./s3'), false);
    const plain = parseS3Url('s3://my.bucket-1');
    assert.deepEqual(
      [plain.bucket, plain.prefix, plain.endpoint, plain.region],
      ['my.bucket-1', '', undefined, undefined],
    );
    const full = parseS3Url('s3://bucket/a/b/?endpoint=http://127.0.0.1:9000&region=eu-central-1&cache=12');
    assert.deepEqual(
      [full.prefix, full.endpoint, full.region, full.cacheMegabytes],
      ['a/b/', 'http://127.0.0.1:9000', 'eu-central-1', 12],
    );
  });

  it('are refused in one line if a part is wrong', async () => {
    const wrong: [string, RegExp][] = [
      ['s3:', /usable URL/],
      ['s3://', /usable URL/],
      ['s3://UPPER_CASE/x', /name of a bucket/],
      ['s3://key:secret@bucket/x', /credentials/],
      ['s3://bucket/a b', /prefix/],
      ['s3://bucket/a?endpoint=nowhere', /endpoint/],
      ['s3://bucket/a?endpoint=file:///etc', /endpoint/],
      ['s3://bucket/a?cache=much', /cache/],
      ['s3://bucket/a?color=red', /color/],
    ];
    for (const [url, what] of wrong) await assert.rejects(openStore(url), refusal('BAD_CONFIG', 'store', what), url);
    await assert.rejects(openStore('s3://key:secret@bucket/x'), (error: Error) => !error.message.includes('secret'));
  });

  it('have a local folder for a Temporal server and logs; a store in a folder uses itself', () => {
    assert.equal(localFolder('/some/store'), '/some/store');
    const folders = ['s3://bucket/a', 's3://bucket/b', 's3://bucket/a?endpoint=http://h:1'].map(localFolder);
    assert.equal(new Set(folders).size, 3);
    assert.equal(localFolder('s3://bucket/a?cache=1'), folders[0]);
  });
});

describe('opening a store in a bucket', () => {
  before(() => {
    process.env.AWS_ACCESS_KEY_ID ??= 'test';
    process.env.AWS_SECRET_ACCESS_KEY ??= 'test';
  });

  /** Opens a store at a server that gives these answers. */
  async function opening(listener: RequestListener, use?: (store: Store) => Promise<void>): Promise<void> {
    const server = createServer((request, response) => {
      request.resume().on('end', () => listener(request, response));
    }).listen(0, '127.0.0.1');
    try {
      await new Promise((settle) => server.once('listening', settle));
      const { port } = server.address() as AddressInfo;
      const store = await openStore(`s3://bucket/p?cache=0&endpoint=http://127.0.0.1:${port}`);
      await use?.(store);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }
  const answer =
    (status: number, code: string): RequestListener =>
    (_, response) =>
      response.writeHead(status).end(`<Error><Code>${code}</Code><Message>${code}\n</Message></Error>`);

  it('refuses a server that ignores or rejects conditional writes', async () => {
    const ignoring: RequestListener = (_, response) => response.writeHead(200).end();
    await assert.rejects(opening(ignoring), refusal('BAD_CONFIG', 's3://bucket/p/', 'conditional writes'));
    await assert.rejects(opening(answer(501, 'NotImplemented')), refusal('BAD_CONFIG', 'conditional writes'));
  });

  it('names a missing bucket and rejected credentials', async () => {
    await assert.rejects(opening(answer(404, 'NoSuchBucket')), refusal('BAD_CONFIG', 'bucket does not exist'));
    const denied = refusal('BAD_CONFIG', 'access is denied', 'InvalidAccessKeyId');
    await assert.rejects(opening(answer(403, 'InvalidAccessKeyId')), denied);
  });

  it('tries again after a fault of the server, and reports a lasting one as STORE_FAULT', async () => {
    let calls = 0;
    await opening((request, response) => {
      calls++;
      if (calls <= 2) answer(503, 'SlowDown')(request, response);
      else answer(412, 'PreconditionFailed')(request, response); // the store exists already
    });
    assert.equal(calls, 3);
    await assert.rejects(opening(answer(500, 'InternalError')), refusal('STORE_FAULT', 'InternalError'));
  });

  it('reads an object again if the answer breaks off', async () => {
    let reads = 0;
    const breaking: RequestListener = (request, response) => {
      if (request.method === 'PUT') answer(412, 'PreconditionFailed')(request, response);
      else if (++reads > 1) response.writeHead(200, { 'content-length': 5 }).end('whole');
      else response.writeHead(200, { 'content-length': 5 }).write('who', () => response.destroy());
    };
    await opening(breaking, async (store) => {
      assert.equal(Buffer.from((await store.readRunFile('r', 'f'))!).toString(), 'whole');
    });
    assert.equal(reads, 2);
  });

  it('marks an object as used once in ten minutes', async () => {
    const requests: string[] = [];
    const counting: RequestListener = (request, response) => {
      const isMarker = request.url!.includes('gauntlet-store');
      requests.push(`${request.method} ${request.url!.includes('/used/') ? 'mark' : 'object'}`);
      if (isMarker) answer(412, 'PreconditionFailed')(request, response);
      else if (request.method === 'PUT') response.writeHead(200).end();
      else response.writeHead(200, { 'content-length': 5 }).end('whole'); // HEAD sends no content
    };
    await opening(counting, async (store) => {
      requests.length = 0;
      for (let i = 0; i < 2; i++) assert.equal(await store.hasBlob(digestBytes('whole')), true);
    });
    assert.deepEqual(requests, ['PUT mark', 'HEAD object', 'GET object', 'GET object']);
  });

  it('reports a server that does not answer', async () => {
    const closed = 'http://127.0.0.1:1';
    const refused = refusal('STORE_FAULT', `${closed} does not answer`);
    await assert.rejects(openStore(`s3://bucket/p?endpoint=${closed}`), refused);
    await assert.rejects(storeExists(`s3://bucket/p?endpoint=${closed}`), refused);
  });
});

describe('the cache of artifacts', () => {
  let folder: string;
  beforeEach(async () => {
    folder = temporaryFolder();
  });

  it('provides an artifact that was read or written here, and ignores a damaged copy', async () => {
    const { objects } = openMemoryStore();
    const store = new ObjectStore(objects, new BlobCache(folder, 1_000_000));
    const digest = await new ObjectStore(objects).putBlob(Buffer.from('far away'));
    await store.getBlob(digest);
    await objects.remove(layout.blob(digest));
    assert.equal(Buffer.from(await store.getBlob(digest)).toString(), 'far away');
    await writeFile(join(folder, digest.slice(7)), 'forged');
    await assert.rejects(store.getBlob(digest), refusal('NOT_FOUND'));
    assert.deepEqual(await readdir(folder), []);
    assert.equal(await store.hasBlob(digest), false); // a copy in the cache does not replace the object in the store
  });

  it('keeps the copies that were read last, up to its maximum size', async () => {
    const cache = new BlobCache(folder, 10_000);
    const blobs = Array.from({ length: 40 }, (_, i) => Buffer.alloc(900, i));
    const first = digestBytes(blobs[0]!);
    for (const blob of blobs) {
      await cache.write(digestBytes(blob), blob);
      await cache.read(first);
    }
    const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 11_000, `${sizes}`);
    assert.deepEqual(await cache.read(first), blobs[0]);
    assert.equal(await cache.read(digestBytes(blobs[1]!)), undefined);
    await cache.write(DIGEST, Buffer.alloc(5000)); // larger than the allowed part of the cache
    assert.equal((await readdir(folder)).includes(DIGEST.slice(7)), false);
  });

  it('does not disturb the store if its folder cannot be used', async () => {
    const place = join(folder, 'a file');
    await writeFile(place, '');
    const store = new ObjectStore(openMemoryStore().objects, new BlobCache(place, 1_000_000));
    const digest = await store.putBlob(Buffer.from('x'));
    assert.equal(Buffer.from(await store.getBlob(digest)).toString(), 'x');
  });
});

describe('a store in a bucket', () => {
  let server: S3Server | undefined;
  before(async function () {
    server = await requireS3(this);
  });
  after(() => server?.close());

  it('exists after its first opening', async () => {
    const url = server!.url();
    assert.equal(await storeExists(url), false);
    await openStore(url);
    assert.equal(await storeExists(url), true);
    await openStore(url);
  });

  it('is refused if its bucket does not exist', async () => {
    const url = new URL(server!.url());
    url.host = 'no-such-bucket-of-gauntlet';
    await assert.rejects(openStore(url.href), refusal('BAD_CONFIG', 'bucket does not exist'));
    await assert.rejects(storeExists(url.href), refusal('BAD_CONFIG', 'bucket does not exist'));
  });

  it('can be copied to and from', async () => {
    const [from, back] = [openMemoryStore(), openMemoryStore()];
    const bucket = await openStore(server!.url('cache=0'));
    await fillStore(from);
    const { files } = await copyStore(from, bucket);
    assert.deepEqual((await verifyStore(bucket)).findings, []);
    assert.equal((await copyStore(bucket, back)).files, files);
    assert.equal((await copyStore(from, back)).present, files);
  });

  it('shows each of 25 random corruptions to the verifier and to readers', async () => {
    const store = await openStore(server!.url('cache=0'));
    await fillStore(store);
    const { undetected, byKind } = await corruptAtRandom(store, 25, 1);
    assert.deepEqual(undetected, []);
    assert.ok(Object.keys(byKind).length >= 12, Object.keys(byKind).join());
  });
});

describe('that an S3 server provides', () => {
  let server: S3Server | undefined;
  after(() => server?.close());

  describeStore('s3:', async (suite) => {
    const started = await requireS3(suite);
    server = started;
    let url = started.url('cache=0');
    return {
      open: () => openStore(url),
      remove: async () => {
        url = started.url('cache=0');
      },
      tick: 1000,
    };
  });
});
