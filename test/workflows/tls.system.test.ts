// Servers that require TLS and an API key, like Temporal Cloud or a proxy in front of a server, or client certificates.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  connect as connectHttp2,
  createSecureServer,
  type SecureServerOptions,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { connect } from '../../infra/temporalNamespace.js';
import { ensureServer } from '../../infra/temporalServer.js';
import { temporalTarget } from '../../infra/temporalTarget.js';
import type { Environment } from '../cli/support.js';
import { temporaryFolder, writeInto } from '../infra/support.js';
import { doubles, TINIEST_RUN } from '../support/doubles.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

const KEY = 'a'.repeat(64);
const OTHER_KEY = 'b'.repeat(64);
const GUIDE = 'docs/how-to/run-on-a-cluster.md';

/** The certificates of the server, made as in the guide, and those of two clients with different authorities. */
function makeCertificates(): string {
  const folder = temporaryFolder();
  const run = (command: string) => execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe' });
  const command = readFileSync(GUIDE, 'utf8').match(/^openssl req -x509(?:[^\\\n]|\\\n)*/m)?.[0];
  assert.ok(command, `${GUIDE} has a command that makes a certificate`);
  run(command.replaceAll('team.example.com', 'localhost'));
  const fresh = 'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2';
  for (const name of ['client', 'foreign']) {
    run(`${fresh} -subj /CN=${name}-ca -keyout ${name}-ca.key -out ${name}-ca.pem`);
    const issued = `-CA ${name}-ca.pem -CAkey ${name}-ca.key -addext basicConstraints=critical,CA:FALSE`;
    run(`${fresh} ${issued} -subj /CN=${name} -keyout ${name}.key -out ${name}.pem`);
  }
  return folder;
}

interface Proxy {
  address: string;
  close(): void;
}

/** Forwards the requests that have the key. */
async function startProxy(server: string, tls: SecureServerOptions): Promise<Proxy> {
  const onward = connectHttp2(`http://${server}`);
  const listener = createSecureServer(tls);
  const sessions = new Set<ServerHttp2Session>();
  listener.on('session', (session) => sessions.add(session));
  listener.on('stream', (stream, { authorization, ':authority': _, ':scheme': __, ...headers }) => {
    stream.on('error', () => {});
    if (authorization !== `Bearer ${KEY}`) {
      const refused = {
        'content-type': 'application/grpc',
        'grpc-status': '16',
        'grpc-message': 'not a known API key',
      };
      return stream.respond(refused, { endStream: true });
    }
    const request = onward.request(headers, { endStream: false }).on('error', () => {});
    let trailers = {};
    request.on('trailers', (given) => {
      trailers = given;
    });
    request.on('response', (answer) => {
      if (stream.destroyed) return;
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      stream.respond(answer, { waitForTrailers: true });
      request.pipe(stream);
    });
    stream.pipe(request);
    stream.on('close', () => request.close());
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    address: `localhost:${(listener.address() as AddressInfo).port}`,
    close: () => {
      listener.close();
      for (const session of sessions) session.destroy();
      onward.destroy();
    },
  };
}

describe('a server that requires TLS and credentials', () => {
  let host: TestServer;
  let folder: string;
  const file = (name: string): string => join(folder, name);
  const read = (name: string): string => readFileSync(file(name), 'utf8');
  const open: Proxy[] = [];
  const start = async (tls: SecureServerOptions = {}): Promise<Proxy> => {
    const proxy = await startProxy(host.server.address, { cert: read('cert.pem'), key: read('key.pem'), ...tls });
    open.push(proxy);
    return proxy;
  };
  const withKey = ({ address }: Proxy, key = KEY): Environment => ({
    TEMPORAL_ADDRESS: address,
    TEMPORAL_API_KEY: key,
    TEMPORAL_NAMESPACE: host.server.namespace,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('cert.pem'),
  });
  /** The first request of a command. */
  const reach = (env: Environment) => ensureServer({ storeDir: folder, env });

  before(async function () {
    needTemporal(this);
    host = await startServer();
    folder = makeCertificates();
  });
  afterEach(() => {
    for (const proxy of open.splice(0)) proxy.close();
  });
  after(async () => {
    await host?.close();
  });

  it('serves a run, its client and its workers', async () => {
    const { connection: settings, namespace } = temporalTarget(withKey(await start()))!;
    const connection = await connect(settings, 5_000);
    const world = await doubles();
    const workers = await workersOver({ ...host.server, connection: settings, namespace }, world);
    try {
      const run = await startRun(new Client({ connection, namespace }), 'over-tls', TINIEST_RUN);
      const result = (await run.result()) as { digests: { generator: string } };
      assert.match(result.digests.generator, /^[0-9a-f]{64}$|^sha256:/);
    } finally {
      await workers.shutdown();
      await connection.close();
    }
  });

  it('refuses a client without a key, with another key, without TLS or with another authority in one line', async () => {
    const proxy = await start();
    const { TEMPORAL_API_KEY: _, ...keyless } = withKey(proxy);
    const strangers: [Environment, RegExp][] = [
      [withKey(proxy, OTHER_KEY), /not a known API key/],
      [keyless, /not a known API key/],
      [{ TEMPORAL_ADDRESS: proxy.address }, /no Temporal server answers .*: the port is open: check TLS/],
      [{ ...withKey(proxy), TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('foreign-ca.pem') }, /no Temporal server answers/],
    ];
    for (const [env, message] of strangers)
      await assert.rejects(reach(env), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'SERVER_UNAVAILABLE');
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\n|a{64}|b{64}/);
        return true;
      });
  });

  it('accepts a profile with a client certificate, and no other, if it requires client certificates', async () => {
    const proxy = await start({ ca: read('client-ca.pem'), requestCert: true });
    const profile = (name: string, key: string, client?: string): string => `
[profile.${name}]
address = "${proxy.address}"
namespace = "${host.server.namespace}"
api_key = "${key}"
[profile.${name}.tls]
server_ca_cert_path = "${file('cert.pem')}"
${client === undefined ? '' : `client_cert_path = "${file(`${client}.pem`)}"\nclient_key_path = "${file(`${client}.key`)}"`}
`;
    const profiles = [profile('cloud', KEY, 'client'), profile('foreign', KEY, 'foreign'), profile('bare', KEY)];
    const config = writeInto(folder, 'temporal.toml', [...profiles, profile('wrong', OTHER_KEY, 'client')].join(''));
    const env = (name: string) => ({ TEMPORAL_CONFIG_FILE: config, TEMPORAL_PROFILE: name });

    const server = await reach(env('cloud'));
    assert.deepEqual([server.namespace, server.owned], [host.server.namespace, false]);
    const workers = await workersOver(server, await doubles(), { roles: ['cpu'] }); // the SDK's native connection
    await workers.shutdown();
    for (const name of ['foreign', 'bare']) await assert.rejects(reach(env(name)), { code: 'SERVER_UNAVAILABLE' });
    await assert.rejects(reach(env('wrong')), /not a known API key/);
  });
});
