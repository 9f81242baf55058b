// A run with encrypted payloads: the server cannot read its configuration or its result.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { inputOf } from '../../cli/run/training.js';
import { type RunResult, runResultSchema } from '../../core/schema/run.js';
import { dataConverter } from '../../infra/payloadCodec.js';
import type { RunningWorkers } from '../../workers/start.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

const RUN = { ...SMALL_RUN, schedule: { stages: [5], discriminatorSteps: 0, generatorSteps: 1, alternatingSteps: 0 } };

describe('a run with encrypted payloads', () => {
  let host: TestServer;
  let world: Doubles;
  let workers: RunningWorkers;

  before(async function () {
    needTemporal(this);
    host = await startServer();
    world = await doubles();
    const file = join(world.folder, 'keys');
    await writeFile(file, `${'ab'.repeat(32)}\n`);
    process.env.GAUNTLET_CODEC_KEYS = file;
    workers = await workersOver(host.server, world);
  });
  after(async () => {
    delete process.env.GAUNTLET_CODEC_KEYS;
    await workers?.shutdown();
    await host?.close();
  });

  it('completes, and its history does not contain configuration or result in plain text', async () => {
    const { connection } = host.client;
    const client = new Client({
      connection,
      namespace: host.server.namespace,
      dataConverter: dataConverter(process.env),
    });
    const handle = await startRun(client, 'sealed', RUN);
    const result = runResultSchema.parse((await handle.result()) as RunResult);
    const history = historyToJSON(await handle.fetchHistory());
    const readable = Buffer.from(history).toString('latin1') + decoded(history);
    for (const secret of ['discriminatorSteps', result.digests.generator, 'passRate']) {
      assert.ok(!readable.includes(secret), secret);
    }
    assert.deepEqual(await inputOf(client, 'sealed'), RUN);
    await assert.rejects(
      host.client.workflow.getHandle('sealed').result(),
      'the result cannot be read without the key',
    );
  });
});

/** The decoded base64 texts of a history. */
const decoded = (history: string): string =>
  [...history.matchAll(/"data":\s*"([^"]+)"/g)]
    .map(([, text]) => Buffer.from(text!, 'base64').toString('latin1'))
    .join();
