// Proxies from the environment, by the rules of curl: http_proxy, https_proxy, all_proxy and no_proxy, in small or capital
// letters. An address of this machine is always reached directly, whatever no_proxy says, because a proxy elsewhere cannot
// reach it. gRPC has variables of its own, grpc_proxy and no_grpc_proxy, which come first.
import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { Dispatcher } from 'undici';
import { GauntletError } from '../core/base/errors.js';
import { isLoopback } from './httpServer.js';
import type { ConnectionSettings } from './temporalTarget.js';

const GRPC = { proxy: ['grpc_proxy', 'https_proxy', 'http_proxy', 'all_proxy'], except: ['no_grpc_proxy', 'no_proxy'] };
const PROTOCOLS = ['http:', 'https:', 'socks5:', 'socks:'];

/** The proxy for an address of HTTP; undefined: the address is reached directly. @throws GauntletError BAD_INPUT */
export function proxyFor(address: string | URL): URL | undefined {
  const url = new URL(address);
  return chosen(url, { proxy: [`${url.protocol}_proxy`.replace(':', ''), 'all_proxy'], except: ['no_proxy'] });
}

/** The proxy for a Temporal server at host:port. gRPC supports proxies over plain HTTP only and ignores others. */
export function grpcProxy(address: string): URL | undefined {
  const proxy = URL.canParse(`grpc://${address}`) ? chosen(new URL(`grpc://${address}`), GRPC) : undefined;
  return proxy?.protocol === 'http:' ? proxy : undefined;
}

/** Names a proxy for messages, without its user and password. */
export const throughProxy = (proxy: URL | undefined): string =>
  proxy === undefined ? '' : ` through the proxy ${proxy.protocol}//${proxy.host} of the environment`;

function chosen(url: URL, { proxy, except }: { proxy: string[]; except: string[] }): URL | undefined {
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  if (isThisMachine(host)) return undefined;
  const name = proxy.flatMap((each) => [each, each.toUpperCase()]).find((each) => process.env[each]);
  if (name === undefined) return undefined;
  const list = except.flatMap((each) => [each, each.toUpperCase()]).find((each) => process.env[each]);
  if (list !== undefined && isExcepted(host, url, process.env[list]!)) return undefined;
  const given = process.env[name]!.trim();
  const address = given.includes('://') ? given : `http://${given}`;
  if (URL.canParse(address) && PROTOCOLS.includes(new URL(address).protocol)) return new URL(address);
  throw new GauntletError('BAD_INPUT', `${name}: must be the address of a proxy, such as http://HOST:PORT`);
}

/** Names and addresses of this machine. A server that listens at all addresses is named by the unspecified one. */
const isThisMachine = (host: string): boolean =>
  isLoopback(host) || host.endsWith('.localhost') || host === '0.0.0.0' || host === '::';

/** Whether a list of hosts, domains with their subdomains, addresses and networks contains the host. */
function isExcepted(host: string, { port, protocol }: URL, list: string): boolean {
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', only] = isNetwork(entry) ? [entry, entry] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
      if (only !== undefined && only !== (port || (protocol === 'http:' ? '80' : '443'))) return false;
      const bare = name.replace(/^\[|\]$/g, '');
      if (isNetwork(bare)) return contains(bare, host);
      const domain = bare.replace(/^\*?\.?/, '').replace(/\.$/, '');
      return domain !== '' && (host === domain || (isIP(host) === 0 && host.endsWith(`.${domain}`)));
    });
}

const isNetwork = (entry: string): boolean => isIP(entry.split('/')[0]!) !== 0;

function contains(network: string, host: string): boolean {
  const [address = '', bits] = network.split('/');
  const family = (ip: string) => (isIP(ip) === 6 ? 'ipv6' : 'ipv4');
  if (isIP(host) === 0) return false;
  const hosts = new BlockList();
  const most = family(address) === 'ipv6' ? 128 : 32;
  const prefix = bits === undefined ? most : Number(bits);
  if (!(Number.isInteger(prefix) && prefix >= 0 && prefix <= most)) return false;
  hosts.addSubnet(address, prefix, family(address));
  return hosts.check(host, family(host));
}

type Fetch = typeof globalThis.fetch;
let loaded: Promise<Fetch> | undefined;

/** Like `fetch`, but uses the proxy for each address, even after a redirect. The fetch of Node uses no proxy. */
export const proxiedFetch: Fetch = async (input, init) => {
  loaded ??= load(); // loads undici only when it is needed, because that takes a moment
  return (await loaded)(input, init);
};

async function load(): Promise<Fetch> {
  const { Agent, fetch, Pool, ProxyAgent } = await import('undici');
  // undici tries forever to reach a proxy that closes its connections, because it takes that for an old connection.
  const clientFactory = (origin: URL, options: object): Dispatcher => {
    const pool = new Pool(origin, options);
    const connect = pool.connect.bind(pool) as Dispatcher['connect'];
    return Object.assign(pool, {
      connect: (request: Dispatcher.ConnectOptions) =>
        connect(request).catch((cause: Error) => {
          throw Object.assign(new Error(cause.message, { cause }), { code: 'ECONNRESET' });
        }),
    });
  };
  const dispatcher = new Agent({
    factory: (origin, options) => {
      const proxy = proxyFor(origin);
      if (proxy === undefined) return new Pool(origin, options);
      // Without TLS the proxy forwards requests: many allow tunnels to port 443 only.
      const access = { uri: withoutUser(proxy), token: basic(proxy) };
      return new ProxyAgent({ ...options, ...access, proxyTunnel: false, clientFactory });
    },
  });
  return ((input: string | URL, init?: object) => fetch(input, { ...init, dispatcher })) as unknown as Fetch;
}

/** Returns the answer of a proxy that opened no tunnel, e.g. with status 407 because it wants a user. */
export function refusalOfProxy(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const status = /^Proxy response \((\d{3})\)/.exec(cause.message)?.[1];
    if (status !== undefined) return `the proxy answers ${status}`;
  }
  return undefined;
}

function withoutUser(proxy: URL): string {
  if (!proxy.protocol.startsWith('http')) return proxy.href; // SOCKS sends user and password itself
  const { protocol, host } = proxy;
  return `${protocol}//${host}`;
}

const userOf = ({ username, password }: URL): string => decodeURIComponent(`${username}:${password}`);

const basic = (proxy: URL): string | undefined =>
  proxy.username === '' ? undefined : `Basic ${Buffer.from(userOf(proxy)).toString('base64')}`;

/**
 * The settings for the client of @temporalio/client. gRPC would look for a proxy itself, also for an address of this machine,
 * so the choice is made here.
 */
export function forClient({ address, ...settings }: ConnectionSettings) {
  const proxy = grpcProxy(address);
  if (proxy === undefined) return { ...settings, address, channelArgs: { 'grpc.enable_http_proxy': 0 } };
  return {
    ...settings,
    address: `${proxy.hostname}:${proxy.port || 80}`,
    channelArgs: {
      'grpc.enable_http_proxy': 0,
      'grpc.http_connect_target': `dns:${address}`,
      'grpc.default_authority': address,
      ...(proxy.username === '' ? {} : { 'grpc.http_connect_creds': userOf(proxy) }),
    },
  };
}

/** The settings for the connection of @temporalio/worker, which uses a proxy only if it is given one. */
export function forWorker(settings: ConnectionSettings) {
  const proxy = grpcProxy(settings.address);
  if (proxy === undefined) return settings;
  const [username = '', password = ''] = [proxy.username, proxy.password].map(decodeURIComponent);
  return {
    ...settings,
    proxy: {
      type: 'http-connect' as const,
      targetHost: `${proxy.hostname}:${proxy.port || 80}`,
      ...(username === '' ? {} : { basicAuth: { username, password } }),
    },
  };
}

const VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy', 'grpc_proxy'].flatMap((name) => [
  name,
  name.toUpperCase(),
]);
const THIS_MACHINE = 'localhost,127.0.0.1,::1';

/**
 * Names this machine in no_proxy, for child processes and for Node itself, which uses proxies with NODE_USE_ENV_PROXY=1. Node
 * gets new agents, because the present ones have read no_proxy already.
 */
export function exceptThisMachine(): void {
  const { env } = process;
  const list = env.no_proxy || env.NO_PROXY;
  if (!VARIABLES.some((name) => env[name]) || list === '*') return;
  env.no_proxy = list ? `${list},${THIS_MACHINE}` : THIS_MACHINE;
  env.NO_PROXY = env.no_proxy;
  const flags = [...process.execArgv, ...(env.NODE_OPTIONS ?? '').split(/\s+/)];
  if (env.NODE_USE_ENV_PROXY !== '1' && !flags.includes('--use-env-proxy')) return;
  const options = { keepAlive: true, scheduling: 'lifo', timeout: 5000, proxyEnv: env } as const; // Node's own defaults
  http.globalAgent = new http.Agent(options);
  https.globalAgent = new https.Agent(options);
}
