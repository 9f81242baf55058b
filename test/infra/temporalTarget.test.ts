import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporalTarget } from '../../infra/temporalTarget.js';
import { temporaryFolder } from './support.js';

const FILE = `
[profile.default]
address = "here:7233"

[profile.prod]
address = "prod.example:7233"
namespace = "nightly"
api_key = "secret"

[profile.mtls]
address = "mtls.example:7233"
[profile.mtls.tls]
server_name = "temporal"

[profile.empty]
namespace = "n"
`;

describe('temporalTarget', () => {
  let folder: string;
  let file: string;
  before(async () => {
    folder = temporaryFolder();
    file = join(folder, 'temporal.toml');
    await writeFile(file, FILE);
  });

  it('is undefined without a configured server', () => {
    assert.equal(temporalTarget({}), undefined);
    assert.equal(temporalTarget({ TEMPORAL_NAMESPACE: 'n', TEMPORAL_ADDRESS: '' }), undefined);
  });

  it('reads address, API key and TLS from the environment', () => {
    assert.deepEqual(temporalTarget({ TEMPORAL_ADDRESS: 'a:1' }), {
      connection: { address: 'a:1' },
      namespace: 'default',
      from: 'TEMPORAL_ADDRESS',
    });
    const { connection, namespace } = temporalTarget({
      TEMPORAL_ADDRESS: 'a:1',
      TEMPORAL_NAMESPACE: 'n',
      TEMPORAL_API_KEY: 'k',
    })!;
    assert.deepEqual([connection.apiKey, Boolean(connection.tls), namespace], ['k', true, 'n']);
    assert.ok(temporalTarget({ TEMPORAL_ADDRESS: 'a:1', TEMPORAL_TLS: 'true' })!.connection.tls);
  });

  it('reads a named profile from the configuration file', () => {
    const of = (profile: string, more: object = {}) =>
      temporalTarget({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: profile, ...more })!;
    assert.deepEqual(of('default').connection, { address: 'here:7233' });
    const prod = of('prod');
    assert.deepEqual(
      [prod.connection.address, prod.connection.apiKey, prod.namespace, prod.from],
      ['prod.example:7233', 'secret', 'nightly', 'profile prod'],
    );
    assert.equal(of('prod', { TEMPORAL_NAMESPACE: 'other' }).namespace, 'other');
    assert.ok(of('mtls').connection.tls);
  });

  it('does not combine environment variables with a profile, so that no key reaches a wrong address', () => {
    for (const name of ['TEMPORAL_ADDRESS', 'TEMPORAL_API_KEY', 'TEMPORAL_TLS_SERVER_NAME']) {
      const mixed = { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'prod', [name]: 'x:1' };
      assert.throws(() => temporalTarget(mixed), {
        code: 'BAD_CONFIG',
        message: new RegExp(`^${name} is set beside TEMPORAL_PROFILE`),
      });
    }
  });

  it('rejects invalid settings with one line that contains no key', () => {
    const refused = (env: Record<string, string>, message: RegExp): void => {
      assert.throws(
        () => temporalTarget(env),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, 'BAD_CONFIG');
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /secret|\n/);
          return true;
        },
      );
    };
    refused({ TEMPORAL_API_KEY: 'secret' }, /TEMPORAL_API_KEY is set without TEMPORAL_ADDRESS/);
    refused({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'nobody' }, /^profile nobody: /);
    refused({ TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'empty' }, /profile empty names no address/);
    refused({ TEMPORAL_CONFIG_FILE: join(folder, 'none.toml') }, /^profile default: /);
  });
});
