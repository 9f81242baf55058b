// Which addresses are reached through the proxies that the environment names.
import assert from 'node:assert/strict';
import { exceptThisMachine, forClient, forWorker, grpcProxy, proxyFor } from '../../infra/proxy.js';
import { withVariables } from '../support/proxy.js';

const chosen = (variables: Record<string, string>, address: string): string | undefined =>
  withVariables(variables, () => proxyFor(address)?.href);
const PROXY = 'http://proxy.corp:3128/';

describe('proxyFor', () => {
  it('reads the same variables as curl, in lower or upper case', () => {
    for (const name of ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'])
      assert.equal(chosen({ [name]: 'http://proxy.corp:3128' }, 'https://huggingface.co/x'), PROXY, name);
    for (const name of ['http_proxy', 'HTTP_PROXY', 'all_proxy'])
      assert.equal(chosen({ [name]: 'proxy.corp:3128' }, 'http://mirror.corp'), PROXY, name);
    assert.equal(chosen({ http_proxy: PROXY }, 'https://huggingface.co'), undefined);
    assert.equal(chosen({ https_proxy: PROXY, all_proxy: 'http://other:1' }, 'https://huggingface.co'), PROXY);
    assert.equal(chosen({ https_proxy: '', HTTPS_PROXY: PROXY }, 'https://huggingface.co'), PROXY);
    assert.equal(chosen({}, 'https://huggingface.co'), undefined);
  });

  it('never chooses a proxy for this machine', () => {
    const variables = { http_proxy: PROXY, https_proxy: PROXY, all_proxy: PROXY, no_proxy: 'other.corp' };
    for (const host of [
      '127.0.0.1',
      '127.9.9.9',
      'localhost',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
      '[::1]',
      '0.0.0.0',
    ])
      for (const address of [`http://${host}:7233`, `https://${host}`])
        assert.equal(chosen(variables, address), undefined, address);
    for (const host of ['127.0.0.1.corp', 'localhost.corp', '128.0.0.1', '[::2]'])
      assert.equal(chosen(variables, `http://${host}:7233`), PROXY, host);
  });

  it('leaves out what no_proxy lists', () => {
    const isDirect = (list: string, host: string): boolean =>
      chosen({ http_proxy: PROXY, no_proxy: list }, `http://${host}/`) === undefined;
    for (const [list, host] of [
      ['*', 'any.host'],
      ['corp', 'a.corp'],
      ['a.corp, b.corp', 'b.corp'],
      ['a.corp b.corp', 'b.corp'],
      ['.corp', 'a.corp'],
      ['*.corp', 'a.b.corp'],
      ['A.Corp', 'a.corp'],
      ['a.corp:8080', 'a.corp:8080'],
      ['a.corp:80', 'a.corp'],
      ['10.0.0.0/8', '10.1.2.3'],
      ['10.1.2.3', '10.1.2.3:99'],
      ['[fd00::1]', '[fd00::1]:80'],
      ['fd00::/8', '[fd00::1]'],
    ] as const)
      assert.ok(isDirect(list, host), `${list}: ${host}`);
    for (const [list, host] of [
      ['', 'a.corp'],
      [',', 'a.corp'],
      ['a.corp:81', 'a.corp'],
      ['corp', 'acorp'],
      ['10.0.0.0/8', '11.1.2.3'],
      ['10.0.0.0/99', '10.1.2.3'],
      ['0.1', '10.0.0.1'],
    ] as const)
      assert.ok(!isDirect(list, host), `${list}: ${host}`);
    assert.equal(chosen({ http_proxy: PROXY, NO_PROXY: 'a.corp' }, 'http://a.corp'), undefined);
  });

  it('names the variable of an unusable proxy, without its password', () => {
    for (const value of ['ftp://user:secret@host:1', 'http://user:secret@', '://x'])
      assert.throws(
        () => chosen({ HTTPS_PROXY: value }, 'https://huggingface.co'),
        (error: Error) =>
          /^HTTPS_PROXY: must be the address of a proxy/.test(error.message) && !/secret/.test(error.message),
      );
  });
});

describe('the proxy of a Temporal server', () => {
  const grpc = (variables: Record<string, string>, address: string): string | undefined =>
    withVariables(variables, () => grpcProxy(address)?.href);

  it('comes from the variables of gRPC, otherwise from those of HTTP; only HTTP proxies are used', () => {
    assert.equal(grpc({ http_proxy: PROXY }, 'temporal.corp:7233'), PROXY);
    assert.equal(grpc({ HTTPS_PROXY: PROXY, http_proxy: 'http://other:1' }, 'temporal.corp:7233'), PROXY);
    assert.equal(grpc({ grpc_proxy: PROXY, https_proxy: 'http://other:1' }, 'temporal.corp:7233'), PROXY);
    assert.equal(grpc({ http_proxy: PROXY, no_grpc_proxy: 'corp', no_proxy: 'x' }, 'temporal.corp:7233'), undefined);
    assert.equal(grpc({ http_proxy: PROXY, no_proxy: '10.0.0.0/8' }, '10.0.0.1:7233'), undefined);
    for (const value of ['socks5://proxy:1080', 'https://proxy:3128'])
      assert.equal(grpc({ all_proxy: value }, 'temporal.corp:7233'), undefined);
    for (const address of ['127.0.0.1:7233', 'localhost:7233', '[::1]:7233'])
      assert.equal(grpc({ grpc_proxy: PROXY, http_proxy: PROXY }, address), undefined, address);
  });

  it('is passed to client and worker, with user and password', () => {
    withVariables({ https_proxy: 'http://me:p%40ss@proxy.corp' }, () => {
      const settings = { address: 'temporal.corp:7233', apiKey: 'k' };
      const { address, apiKey, channelArgs } = forClient(settings);
      assert.deepEqual([address, apiKey], ['proxy.corp:80', 'k']);
      assert.deepEqual(channelArgs, {
        'grpc.enable_http_proxy': 0,
        'grpc.http_connect_target': 'dns:temporal.corp:7233',
        'grpc.default_authority': 'temporal.corp:7233',
        'grpc.http_connect_creds': 'me:p@ss',
      });
      const basicAuth = { username: 'me', password: 'p@ss' };
      assert.deepEqual(forWorker(settings), {
        ...settings,
        proxy: { type: 'http-connect', targetHost: 'proxy.corp:80', basicAuth },
      });
      const near = { address: '127.0.0.1:7233' };
      assert.deepEqual(forClient(near), { ...near, channelArgs: { 'grpc.enable_http_proxy': 0 } });
      assert.deepEqual(forWorker(near), near);
    });
  });
});

describe('exceptThisMachine', () => {
  it('adds this machine to no_proxy if there is a proxy', () => {
    const added = (variables: Record<string, string>) =>
      withVariables(variables, () => {
        exceptThisMachine();
        return [process.env.no_proxy, process.env.NO_PROXY];
      });
    assert.deepEqual(added({}), [undefined, undefined]);
    assert.deepEqual(added({ no_proxy: 'a' }), ['a', undefined]);
    assert.deepEqual(added({ http_proxy: PROXY, no_proxy: '*' }), ['*', undefined]);
    const here = 'localhost,127.0.0.1,::1';
    assert.deepEqual(added({ http_proxy: PROXY }), [here, here]);
    assert.deepEqual(added({ HTTPS_PROXY: PROXY, NO_PROXY: '.corp' }), [`.corp,${here}`, `.corp,${here}`]);
  });
});
