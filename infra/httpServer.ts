// Rules for the servers of `dashboard`, `serve` and the Web UI: whom they answer, how many connections they hold, and where
// they listen. They answer no request of a foreign web page. On loopback they answer requests for their own host only;
// elsewhere, only requests with a random token.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { type AddressInfo, BlockList, isIP, type Socket } from 'node:net';
import { GauntletError } from '../core/base/errors.js';

export interface Access {
  readonly token?: string; // undefined on loopback, which needs no token
  /** Returns why a request is refused; undefined if it may be answered. */
  refusal(request: IncomingMessage): Refusal | undefined;
}

export interface Refusal {
  status: 401 | 403;
  message: string;
}

/** @param command the command that prints the token */
export function createAccess(host: string, command: string): Access {
  const token = isLoopback(host) ? undefined : process.env.GAUNTLET_TOKEN || randomBytes(24).toString('base64url');
  return {
    token,
    refusal: (request) => {
      if (isForeign(request)) return { status: 403, message: 'pages of other web sites may not ask this server' };
      if (token === undefined && !isOwnHost(request.headers.host))
        return { status: 403, message: 'this server has another host' };
      if (token === undefined || hasToken(request, token)) return undefined;
      return { status: 401, message: `use the address and the token that \`gauntlet ${command}\` printed` };
    },
  };
}

export interface Listener {
  origin: string; // such as 'http://127.0.0.1:8000'
  close(): Promise<void>;
}

/** @param port 0 takes any free port. @throws GauntletError PORT_TAKEN, or BAD_INPUT if the address cannot be used */
export async function listen(server: Server, host: string, port: number): Promise<Listener> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => {
      const message = `cannot serve at ${host}:${port} (${code}): choose another --host or --port`;
      reject(new GauntletError(code === 'EADDRINUSE' ? 'PORT_TAKEN' : 'BAD_INPUT', message));
    });
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const HEADERS_MS = 10_000; // how long a client may take to send the headers of a request
const CHECK_MS = 2_000;

/** Options that end a connection whose request does not come. @param bodyMs how long a whole request may take */
export const patience = (bodyMs: number): ServerOptions => ({
  headersTimeout: Math.min(HEADERS_MS, bodyMs),
  requestTimeout: bodyMs,
  connectionsCheckingInterval: CHECK_MS,
});

/**
 * Holds at most `limit` connections. A further connection ends the oldest one without a request in work, so that silent clients
 * shut nobody out: a client sends its request at once, and a client without a token is answered at once.
 */
export function limitConnections(server: Server, limit: number): void {
  const open = new Set<Socket>();
  const waiting = new Set<Socket>(); // the oldest first
  server.on('connection', (socket) => {
    socket.once('close', () => {
      open.delete(socket);
      waiting.delete(socket);
    });
    open.add(socket);
    waiting.add(socket);
    if (open.size <= limit) return;
    const [oldest] = waiting;
    open.delete(oldest!);
    waiting.delete(oldest!);
    oldest!.destroy();
  });
  server.prependListener('request', ({ socket }, response) => {
    waiting.delete(socket);
    response.once('close', () => {
      if (open.has(socket)) waiting.add(socket);
    });
  });
}

/**
 * Aborts when the client leaves, and with a TimeoutError after `seconds`. AbortSignal.any([…, AbortSignal.timeout(…)]) would not
 * do: Node 20 collects the timeout as garbage, and it never comes.
 */
export function requestSignal(response: ServerResponse, seconds: number): AbortSignal {
  const stop = new AbortController();
  const late = (): void => stop.abort(new DOMException('the request took too long', 'TimeoutError'));
  const timer = setTimeout(late, seconds * 1000);
  response.once('close', () => {
    clearTimeout(timer);
    stop.abort(new Error('the client left'));
  });
  return stop.signal;
}

/** Undefined if the body has more than `most` bytes. */
export async function readBody(request: IncomingMessage, most: number): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > most) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4'));

/** A foreign web site can make its own name mean this machine (DNS rebinding), but it does not know the token. */
function isOwnHost(header: string | undefined): boolean {
  const name = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(header ?? '');
  return isLoopback(name?.[1] ?? name?.[2] ?? '');
}

/** True for a request that a page of another origin makes, also of another port. Following a link from there is allowed. */
function isForeign({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return true; // https: by a proxy
  const isOfAnother = ['cross-site', 'same-site'].includes(headers['sec-fetch-site'] as string);
  return isOfAnother && headers['sec-fetch-mode'] !== 'navigate';
}

/** The name of the cookie contains the port, because a browser sends the cookies of one port to all ports of a host. */
export const cookieName = ({ headers }: IncomingMessage): string =>
  `gauntlet-${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? 80}`;

/** Whether a request has the token: in its query, in a cookie or in the header Authorization. */
function hasToken(request: IncomingMessage, token: string): boolean {
  const cookies = (request.headers.cookie ?? '').split(/;\s*/);
  const cookie = cookies.find((each) => each.startsWith(`${cookieName(request)}=`))?.split('=')[1];
  const bearer = /^bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  return [urlOf(request).searchParams.get('token'), cookie, bearer].some((given) => isEqual(given ?? '', token));
}

/** @throws TypeError if the path is not one of a URL */
export function urlOf({ url = '/' }: IncomingMessage): URL {
  if (URL.canParse(url, 'http://server')) return new URL(url, 'http://server');
  throw new GauntletError('BAD_INPUT', 'the address of the request is not valid');
}

/** Hashes a text. Digests have one length, which timingSafeEqual requires. */
const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const isEqual = (given: string, token: string): boolean => timingSafeEqual(digestOf(given), digestOf(token));
