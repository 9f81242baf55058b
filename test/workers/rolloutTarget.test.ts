// The settings of remote rollouts that a worker takes from its environment.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { RolloutServer } from '../../ml/remote/rolloutServer.js';
import { rolloutTarget } from '../../workers/deps/rolloutTarget.js';
import { temporaryFolder } from '../infra/support.js';

describe('the rollout server of a worker', () => {
  it("receives its key only at an address of the worker's environment, whatever a configuration names", async () => {
    const received: [url: string, authorization: string | undefined][] = [];
    const answering = createServer((request, response) => {
      received.push([request.url!, request.headers.authorization]);
      response.writeHead(400).end();
    });
    await once(answering.listen(0, '127.0.0.1'), 'listening');
    const folder = temporaryFolder();
    const own = `http://127.0.0.1:${(answering.address() as AddressInfo).port}`;
    const config = { endpoint: 'http://127.0.0.1:1/attacker', adapters: join(folder, 'adapters') };
    const key = { GAUNTLET_ROLLOUTS_API_KEY: 'secret' };
    for (const env of [key, { ...key, GAUNTLET_ROLLOUTS_ENDPOINT: '' }])
      assert.throws(() => rolloutTarget(config, folder, env), {
        code: 'BAD_CONFIG',
        message:
          /^rollouts\.endpoint: http:\/\/127\.0\.0\.1:1\/attacker .* set GAUNTLET_ROLLOUTS_ENDPOINT for the workers/,
      });
    assert.deepEqual(rolloutTarget(config, folder, {}), { ...config, key: undefined });
    const target = rolloutTarget(config, folder, { ...key, GAUNTLET_ROLLOUTS_ENDPOINT: own });
    assert.deepEqual(target, { ...config, endpoint: own, key: 'secret' });
    const server = new RolloutServer({ ...target, concurrency: 1, timeoutSeconds: 5 });
    await server.forget('a');
    assert.deepEqual(received, [['/v1/unload_lora_adapter', 'Bearer secret']]);
    answering.close();
  });

  it("writes adapters only into the store or a folder of the worker's environment", async () => {
    const folder = temporaryFolder();
    const [store, shared] = [join(folder, 'store'), join(folder, 'shared')];
    await mkdir(store);
    await symlink(folder, join(store, 'link'));
    const at = (adapters: string, env: Record<string, string> = {}, place = store) =>
      rolloutTarget({ endpoint: 'http://gpu:8000', adapters }, place, env).adapters;
    for (const inside of [store, join(store, 'adapters'), `${store}/a/../b`]) assert.equal(at(inside), inside);
    const GAUNTLET_ROLLOUTS_ADAPTERS = `${join(folder, 'other')}:${shared}`;
    assert.equal(at(join(shared, 'run'), { GAUNTLET_ROLLOUTS_ADAPTERS }), join(shared, 'run'));
    for (const outside of [
      '/',
      '/etc',
      folder,
      `${store}2`,
      `${store}/../shared`,
      join(store, 'link', 'x'),
      `${store}/link`,
    ])
      assert.throws(() => at(outside), {
        code: 'BAD_CONFIG',
        message: /^rollouts\.adapters: .* is outside of the store: set GAUNTLET_ROLLOUTS_ADAPTERS for the workers/,
      });
    assert.throws(() => at(`${shared}/../store`, { GAUNTLET_ROLLOUTS_ADAPTERS }, join(folder, 'none')), /outside/);
    assert.throws(() => at(shared, {}, 's3://bucket/prefix'), /is outside of the store/);
  });
});
