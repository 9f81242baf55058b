// Secrets in the environment (API key, encryption keys) appear nowhere. The test searches all files and outputs of a run.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { shippedModelPath } from '../../data/paths.js';
import { dataConverter } from '../../infra/payloadCodec.js';
import { type Environment, gauntlet, removeFolders, temporaryFolder } from '../cli/support.js';
import { needTemporal, startServer, type TestServer } from './server.js';

const API_KEY = 'apikey-5f0c1d-do-not-tell';
const CODEC_KEY = 'c0dec0de'.repeat(8);
const CONFIG = {
  preset: 'tiny',
  stages: [5],
  schedule: { stages: [5], discriminatorSteps: 0, generatorSteps: 1, alternatingSteps: 0 },
  batch: { generator: { problems: 2, samples: 2 } },
  evaluation: { problems: 1, testProblems: 1 },
  sandbox: 'wasm',
};

describe('secrets in the environment', () => {
  let host: TestServer;

  before(async function () {
    needTemporal(this);
    if (!existsSync(join(shippedModelPath('tiny'), 'model.safetensors'))) this.skip(); // the embedded model has not been built
    host = await startServer({ own: true });
  });
  after(async () => {
    await host?.close();
    await removeFolders();
  });

  it('do not appear in logs, histories, the store, the database of the server or the output of commands', async () => {
    const place = await temporaryFolder({ keys: `${CODEC_KEY}\n`, 'config.json': JSON.stringify(CONFIG) });
    const store = join(place, 'store');
    const env: Environment = {
      TEMPORAL_ADDRESS: host.server.address,
      TEMPORAL_API_KEY: API_KEY,
      TEMPORAL_TLS: 'false',
      GAUNTLET_CODEC_KEYS: join(place, 'keys'),
      GAUNTLET_LOG: 'trace',
      GAUNTLET_DEBUG: '1',
      GAUNTLET_STORE: store,
    };
    const told: string[] = [];
    const command = async (...argv: string[]): Promise<number | null> => {
      const { code, out, err } = await gauntlet(argv, env);
      told.push(out, err);
      return code;
    };
    const train = ['train', 'sealed', '--config', join(place, 'config.json'), '--watch', '--json'];
    assert.equal(await command(...train), 0, told.join('\n'));
    assert.equal(await command('pause', 'sealed'), 2);
    assert.throws(() => dataConverter({ GAUNTLET_CODEC_KEYS: CODEC_KEY }), {
      message: 'GAUNTLET_CODEC_KEYS is a key: put it into a file, and give the path',
    });

    const searched = new Map<string, Buffer>([['output', Buffer.from(told.join('\n'))]]);
    const history = historyToJSON(await host.client.workflow.getHandle('sealed').fetchHistory());
    const payloads = [...history.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data]) => Buffer.from(data!, 'base64'));
    searched.set('history', Buffer.concat([Buffer.from(history), ...payloads]));
    for (const folder of [store, host.folder])
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
        if (entry.isFile()) {
          const path = join(entry.parentPath, entry.name);
          searched.set(path, await readFile(path));
        }
    const names = [...searched.keys()].join('\n');
    for (const part of ['worker.log', 'temporal.db', 'temporal.log', 'manifest.json', 'blobs/sha256'])
      assert.ok(names.includes(part), `${part} is not among the searched files`);
    assert.ok(searched.get(join(store, 'worker.log'))!.length > 500, 'the log is not empty');
    const secrets = [API_KEY, CODEC_KEY, Buffer.from(CODEC_KEY, 'hex'), Buffer.from(API_KEY).toString('base64')];
    for (const [name, bytes] of searched)
      for (const secret of secrets) assert.equal(bytes.includes(secret), false, `${name} holds a secret`);
  });
});
