// Servers that require TLS and an API key, as `gauntlet up --listen` and Temporal Cloud do, and client certificates too.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, createServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createConnection } from 'node:net';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import { choosePorts } from '../../infra/ports.js';
import { connect } from '../../infra/temporalNamespace.js';
import { ensureServer } from '../../infra/temporalServer.js';
import { temporalTarget } from '../../infra/temporalTarget.js';
import { parseApiKeys, startTlsProxy, type TlsProxy } from '../../infra/tlsProxy.js';
import { type Ended, type Environment, gauntlet } from '../cli/support.js';
import { temporaryFolder, writeInto } from '../infra/support.js';
import { doubles, TINIEST_RUN } from '../support/doubles.js';
import { needTemporal, startRun, startServer, type TestServer, workersOver } from './server.js';

const KEY = 'a'.repeat(64);
const OTHER_KEY = 'b'.repeat(64);
const GUIDE = 'docs/how-to/run-on-a-cluster.md';

/** Certificates of the server, as the guide makes them, and of two clients, each with an authority of its own. */
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

describe('a server that requires TLS and credentials', function () {
  this.timeout(120_000); // the first use makes the workflow bundle
  let host: TestServer;
  let folder: string;
  const file = (name: string): string => join(folder, name);
  const read = (name: string): string => readFileSync(file(name), 'utf8');
  const open: TlsProxy[] = [];
  const start = async (server: string, tls: object = {}): Promise<TlsProxy> => {
    const own = { cert: read('cert.pem'), key: read('key.pem') };
    const proxy = await startTlsProxy({ server, address: '127.0.0.1:0', tls: { ...own, ...tls }, apiKeys: [KEY] });
    open.push(proxy);
    return proxy;
  };
  const named = ({ address }: TlsProxy): string => address.replace('127.0.0.1', 'localhost');
  const withKey = (proxy: TlsProxy, key = KEY): Environment => ({
    TEMPORAL_ADDRESS: named(proxy),
    TEMPORAL_API_KEY: key,
    TEMPORAL_NAMESPACE: host.server.namespace,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('cert.pem'),
  });
  /** What commands do first. */
  const reach = (env: Environment) => ensureServer({ storeDir: folder, env });

  before(async function () {
    needTemporal(this);
    host = await startServer();
    folder = makeCertificates();
  });
  afterEach(async () => {
    for (const proxy of open.splice(0)) await proxy.close();
  });
  after(async () => {
    await host?.close();
  });

  it('serves a run, its client and its workers', async () => {
    const { connection: settings, namespace } = temporalTarget(withKey(await start(host.server.address)))!;
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

  it('refuses with one line who has no key, another key, no TLS or another authority', async () => {
    const proxy = await start(host.server.address);
    const { TEMPORAL_API_KEY: _, ...keyless } = withKey(proxy);
    const strangers: [Environment, RegExp][] = [
      [withKey(proxy, OTHER_KEY), /a known API key is required/],
      [keyless, /a known API key is required/],
      [{ TEMPORAL_ADDRESS: named(proxy) }, /no Temporal server answers .*: the port is open: check TLS/],
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

  it('with client certificates accepts a profile that has one, and no other', async () => {
    const proxy = await start(host.server.address, { ca: read('client-ca.pem'), requestCert: true });
    const profile = (name: string, key: string, client?: string): string => `
[profile.${name}]
address = "${named(proxy)}"
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
    await assert.rejects(reach(env('wrong')), /a known API key is required/);
  });

  it('is told that a request is cancelled or its client gone, so a dead worker gets no task', async () => {
    const requests: ServerHttp2Stream[] = [];
    const upstream = createServer().on('stream', (stream) => {
      stream.on('error', () => {});
      requests.push(stream);
      upstream.emit('request-here');
    });
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const proxy = await start(`127.0.0.1:${(upstream.address() as AddressInfo).port}`);
    const client = connectHttp2(`https://${named(proxy)}`, { ca: read('cert.pem') }).on('error', () => {});
    const ask = async () => {
      const arrived = once(upstream, 'request-here');
      const asked = client.request({ ':method': 'POST', ':path': '/poll', authorization: `Bearer ${KEY}` });
      asked.on('error', () => {});
      await arrived;
      return { asked, arrived: requests.at(-1)! };
    };
    const [first, second] = [await ask(), await ask()];
    first.asked.close(8);
    await once(first.arrived, 'close');
    assert.equal(second.arrived.closed, false);
    client.destroy();
    await once(second.arrived, 'close');
    assert.equal(first.arrived.sentHeaders, undefined);
    upstream.close();
  });

  it('is offered by `gauntlet up --listen`, to which `gauntlet worker` connects', async () => {
    const { port } = await choosePorts(0, 0);
    writeFileSync(file('keys.txt'), `# the team\n${KEY}\n`);
    const files = ['--tls-cert', file('cert.pem'), '--tls-key', file('key.pem'), '--api-keys', file('keys.txt')];
    const listen = ['--listen', String(port), ...files];
    const own = { TEMPORAL_NAMESPACE: undefined };
    let worker: Promise<Ended> | undefined;
    const up = await gauntlet(
      ['up', '--store', file('store'), '--port', '0', '--ui-port', '0', ...listen],
      own,
      (text, pid) => {
        if (!text.includes('ready (Ctrl-C')) return;
        const env = { ...withKey({ address: `localhost:${port}` } as TlsProxy), ...own };
        worker ??= gauntlet(['worker', '--role', 'cpu', '--store', file('store')], env, (words, its) => {
          if (words.includes('serving cpu')) process.kill(its);
        }).finally(() => process.kill(pid));
      },
    );
    assert.equal(up.code, EXIT.ok, up.err);
    assert.match(up.out, new RegExp(`^others {3}127\\.0\\.0\\.1:${port}, with TLS and an API key$`, 'm'));
    assert.match(up.err, /other machines cannot use a store in a folder/);
    const { code, out, err } = await worker!;
    assert.equal(code, EXIT.ok, err);
    assert.match(out, new RegExp(`serving cpu at localhost:${port}`));
  });

  it('is not offered without TLS and keys, with weak keys, or in place of another server', async () => {
    const up = (args: string[], env: Environment = {}) => gauntlet(['up', '--store', file('none'), ...args], env);
    const files = ['--tls-cert', file('cert.pem'), '--tls-key', file('key.pem')];
    writeFileSync(file('weak.txt'), 'secret\n');
    const mistakes: [string[], RegExp, Environment?][] = [
      [['--listen', '0.0.0.0:7443'], /--listen, --tls-cert, --tls-key and --api-keys belong together/],
      [files, /belong together/],
      [['--listen', '7443', ...files, '--api-keys', file('weak.txt')], /at least 32 characters/],
      [['--listen', '7443', ...files, '--api-keys', file('absent')], /absent: cannot be read \(ENOENT\)/],
      [
        ['--listen', '7443', ...files, '--api-keys', file('keys.txt')],
        /the environment names another one/,
        { TEMPORAL_ADDRESS: 'a:1' },
      ],
    ];
    for (const [args, message, env] of mistakes) {
      const { code, err } = await up(args, env);
      assert.equal(code, EXIT.usage, err);
      assert.match(err, message);
      assert.equal(err.trim().split('\n').length, 1, err);
    }
    assert.throws(() => parseApiKeys('# none\n'), /has no key/);
    const bad = { cert: read('cert.pem'), key: read('client.key') };
    await assert.rejects(
      startTlsProxy({ server: 'a:1', address: '127.0.0.1:0', tls: bad, apiKeys: [KEY] }),
      /certificate or its key/,
    );
  });

  it('keeps no connection without a key', async () => {
    const patient = { server: host.server.address, address: '127.0.0.1:0', apiKeys: [KEY], patienceMs: 2000 };
    const proxy = await startTlsProxy({ ...patient, tls: { cert: read('cert.pem'), key: read('key.pem') } });
    open.push(proxy);
    const { port } = new URL(`http://${proxy.address}`);
    const silent = createConnection(Number(port), '127.0.0.1').on('error', () => {});
    const plain = createConnection(Number(port), '127.0.0.1').on('error', () => {});
    plain.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    const keyless = connectHttp2(`https://${named(proxy)}`, { ca: read('cert.pem') }).on('error', () => {});
    const guess = keyless.request({ ':method': 'POST', ':path': '/', authorization: `Bearer ${OTHER_KEY}` });
    const [answer] = (await once(guess, 'response')) as [Record<string, string>];
    assert.equal(answer['grpc-status'], '16');
    for (const key of [KEY, OTHER_KEY])
      for (let i = 0; i < 50; i++) {
        const headers = { ':method': 'POST', ':path': '/none', authorization: `Bearer ${key}` };
        const client = connectHttp2(`https://${named(proxy)}`, { ca: read('cert.pem') }).on('error', () => {});
        client.request(headers).on('error', () => {});
        setTimeout(() => client.destroy(), i); // in the middle of whatever happens
      }
    await Promise.all([silent, plain, keyless].map((each) => each.closed === true || once(each, 'close')));
    assert.equal((await reach(withKey(proxy))).owned, false); // it still serves
  });
});
