import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Payload } from '@temporalio/common';
import { dataConverter, EncryptionCodec } from '../../infra/payloadCodec.js';
import { temporaryFolder } from './support.js';

const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const payload = (text: string): Payload => ({
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(text),
});
const plain = ({ metadata, data }: Payload) => [
  Buffer.from(metadata!.encoding!).toString(),
  Buffer.from(data!).toString(),
];

describe('payload encryption', () => {
  it('restores payloads and hides their contents', async () => {
    const codec = new EncryptionCodec([one]);
    const sealed = await codec.encode([payload('{"learningRate":1}'), payload('')]);
    assert.ok(!Buffer.from(sealed[0]!.data!).includes('learningRate'));
    assert.deepEqual((await codec.decode(sealed)).map(plain), [
      ['json/plain', '{"learningRate":1}'],
      ['json/plain', ''],
    ]);
    const again = await codec.encode([payload('{"learningRate":1}')]);
    assert.notDeepEqual(again[0]!.data, sealed[0]!.data, 'equal values do not look equal');
  });

  it('encrypts with the first key and decrypts with any key', async () => {
    const old = await new EncryptionCodec([one]).encode([payload('1')]);
    const both = new EncryptionCodec([two, one]);
    assert.deepEqual((await both.decode(old)).map(plain), [['json/plain', '1']]);
    const fresh = await both.encode([payload('2')]);
    assert.deepEqual((await new EncryptionCodec([two]).decode(fresh)).map(plain), [['json/plain', '2']]);
    await assert.rejects(new EncryptionCodec([one]).decode(fresh), {
      code: 'BAD_CONFIG',
      message: /GAUNTLET_CODEC_KEYS lacks/,
    });
  });

  it('rejects modified payloads and passes unencrypted ones', async () => {
    const codec = new EncryptionCodec([one]);
    const [sealed] = await codec.encode([payload('1')]);
    for (let at = 0; at < sealed!.data!.length; at += 5) {
      const data = Buffer.from(sealed!.data!);
      data[at]! ^= 1;
      await assert.rejects(codec.decode([{ ...sealed, data }]), { code: 'CORRUPT_ARTIFACT' });
    }
    assert.deepEqual((await codec.decode([payload('1')])).map(plain), [['json/plain', '1']]);
  });

  it('rejects payloads truncated to any length, even empty ones with a short tag', async () => {
    const codec = new EncryptionCodec([one]);
    for (const [sealed] of [await codec.encode([payload('1')]), await codec.encode([{}])]) {
      for (let length = 0; length < sealed!.data!.length; length++) {
        const data = sealed!.data!.subarray(0, length);
        await assert.rejects(codec.decode([{ ...sealed, data }]), { code: 'CORRUPT_ARTIFACT' }, `${length}`);
      }
    }
  });

  it('requires a key file and names its bad line', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'keys');
    const env = { GAUNTLET_CODEC_KEYS: file };
    assert.deepEqual(dataConverter({}), {});
    assert.throws(() => dataConverter(env), { code: 'BAD_CONFIG', message: /cannot be read \(ENOENT\)/ });
    await writeFile(file, '\n');
    assert.throws(() => dataConverter(env), { code: 'BAD_CONFIG', message: /no key; make one with/ });
    await writeFile(file, `${one.toString('hex')}\nshort\n`);
    assert.throws(() => dataConverter(env), { code: 'BAD_CONFIG', message: /key 2 is not 64 hex digits/ });
    await writeFile(file, `${one.toString('hex')}\n`);
    const [codec] = dataConverter(env).payloadCodecs!;
    assert.deepEqual((await codec!.decode(await codec!.encode([payload('x')]))).map(plain), [['json/plain', 'x']]);
  });
});
