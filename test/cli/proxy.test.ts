// Commands with a proxy in the environment.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { ensureServer } from '../../infra/temporalServer.js';
import { openProxy, PROXY_VARIABLES, withVariables } from '../support/proxy.js';
import { type Environment, gauntlet, removeFolders, temporaryFolder } from './support.js';

const QUICK = [
  ...['--set', 'schedule={"stages":[5],"discriminatorSteps":1,"generatorSteps":1,"alternatingSteps":0}', '--set'],
  'batch={"generator":{"problems":2,"samples":2},"discriminator":{"problems":2,"samples":2}}',
  ...['--set', 'evaluation={"problems":4,"testProblems":4}', '--set', 'stages=[5]', '--sandbox', 'wasm', '--json'],
];
const DEAD = 'http://127.0.0.1:9';

describe('a run with a proxy in the environment', () => {
  const none: Environment = Object.fromEntries(PROXY_VARIABLES.map((name) => [name, undefined]));
  before(function () {
    if (findTemporalCli() !== undefined) return;
    if (process.env.GAUNTLET_REQUIRE_TEMPORAL)
      throw new Error('GAUNTLET_REQUIRE_TEMPORAL is set and there is no Temporal CLI');
    this.skip(); // this machine has no Temporal CLI
  });
  after(removeFolders);

  it('reaches the server of its own store directly', async () => {
    const dead = { http_proxy: DEAD, https_proxy: DEAD, HTTP_PROXY: DEAD, HTTPS_PROXY: DEAD, all_proxy: DEAD };
    const env = { ...none, ...dead, no_proxy: 'other.corp', NODE_USE_ENV_PROXY: '1', GAUNTLET_THREADS: '1' };
    const { code, out, err } = await gauntlet(
      ['train', 'near', '--store', join(await temporaryFolder(), 'store'), '--watch', ...QUICK],
      env,
    );
    assert.equal(code, 0, err);
    assert.equal(JSON.parse(out).runId, 'near');
    assert.doesNotMatch(err, /proxy/i);
  });

  it('reaches a server elsewhere through the proxy, from the command and from its workers', async () => {
    const proxy = await openProxy();
    const server = await withVariables({}, async () => {
      const env = { ...process.env, TEMPORAL_ADDRESS: undefined };
      return ensureServer({ storeDir: await temporaryFolder(), port: 0, uiPort: 0, env });
    });
    try {
      const address = server.address.replace('127.0.0.1', 'temporal.example');
      const env = { ...none, TEMPORAL_ADDRESS: address, GAUNTLET_THREADS: '1' };
      const store = join(await temporaryFolder(), 'store');
      const train = (id: string, variables: Environment) =>
        gauntlet(['train', id, '--store', store, '--watch', ...QUICK], { ...env, ...variables });
      const { code, err } = await train('far', { HTTPS_PROXY: proxy.url.replace('://', '://me:secret@') });
      assert.equal(code, 0, err);
      // the connections of the command's check, its client, and its workers
      assert.ok(proxy.requests.filter((line) => line === `CONNECT ${address} me:secret`).length >= 3);
      const refused = await train('dead', { https_proxy: DEAD.replace('://', '://me:secret@') });
      assert.equal(refused.code, 3);
      assert.match(
        refused.err,
        /no Temporal server answers at temporal\.example:\d+ .*through the proxy http:\/\/127\.0\.0\.1:9 /,
      );
      assert.doesNotMatch(refused.err, /secret/);
    } finally {
      await server.close();
      await proxy.close();
    }
  });
});
