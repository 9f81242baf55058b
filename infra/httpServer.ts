// What the servers of `dashboard` and `serve` share: whom they answer, and the address that they listen at. They answer
// no request of a foreign web page, on loopback only those for their own host, and beyond loopback only those with a random
// token.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, BlockList, isIP } from 'node:net';
import { GauntletError } from '../core/errors.js';

export interface Access {
  readonly token?: string; // absent: loopback needs none
  /** Undefined if the request may be answered. */
  refusal(request: IncomingMessage): Refusal | undefined;
}

export interface Refusal {
  status: 401 | 403;
  message: string;
}

/** @param command the one that prints the token */
export function createAccess(host: string, command: string): Access {
  const token = isLoopback(host) ? undefined : randomBytes(24).toString('base64url');
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
  origin: string; // 'http://127.0.0.1:8000'
  close(): Promise<void>;
}

/** @param port 0: any free one. @throws GauntletError PORT_TAKEN, or BAD_INPUT if the address cannot be used */
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

/** True for a request that a page of another origin makes. Following a link from there is allowed. */
function isForeign({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return true; // https: by a proxy
  return headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate';
}

/** Cookies do not tell ports apart, so the name does. */
export const cookieName = ({ headers }: IncomingMessage): string =>
  `gauntlet-${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? 80}`;

/** As the query of a link, as a cookie, or as a bearer. */
function hasToken(request: IncomingMessage, token: string): boolean {
  const cookies = (request.headers.cookie ?? '').split(/;\s*/);
  const cookie = cookies.find((each) => each.startsWith(`${cookieName(request)}=`))?.split('=')[1];
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  return [urlOf(request).searchParams.get('token'), cookie, bearer].some((given) => isEqual(given ?? '', token));
}

/** @throws TypeError if the path is not one of a URL */
export const urlOf = (request: IncomingMessage): URL => new URL(request.url ?? '/', 'http://server');

/** Digests have one length, which timingSafeEqual requires. */
export const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const isEqual = (given: string, token: string): boolean => timingSafeEqual(digestOf(given), digestOf(token));
