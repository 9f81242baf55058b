// The HTTP server of the dashboard: the pages, the JSON of resources, events, and controls. Whoever reaches it sees every
// rollout and controls every run, so it answers only requests for its own host, from its own pages, and beyond loopback only
// with its token.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, BlockList, isIP } from 'node:net';
import { join } from 'node:path';
import { GauntletError } from '../core/errors.js';
import { packageRoot } from '../data/paths.js';
import type { ControlAnswer } from './api.js';
import { streamChanges } from './changes.js';
import { type Controls, readControlRequest } from './controls.js';
import { decoded, type Resources } from './data/resources.js';

export interface DashboardOptions {
  resources: Resources;
  controls: Controls;
  host: string;
  port: number; // 0: any free one
}

export interface Dashboard {
  url: string; // with the token, if one is needed
  close(): Promise<void>;
}

const FILES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'main.js': 'text/javascript; charset=utf-8',
  'main.css': 'text/css; charset=utf-8',
};

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

/** @throws GauntletError BAD_INPUT if the address cannot be used */
export async function startDashboard({ resources, controls, host, port }: DashboardOptions): Promise<Dashboard> {
  const { server, token } = dashboardServer(resources, controls, host, await pageFiles());
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => {
      const message = `cannot serve at ${host}:${port} (${code}): choose another --host or --port`;
      reject(new GauntletError('BAD_INPUT', message));
    });
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${bound}/`;
  return {
    url: token === undefined ? address : `${address}?token=${token}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A server that is to listen at `host`, and its token unless that is loopback. */
export function dashboardServer(
  resources: Resources,
  controls: Controls,
  host: string,
  files: ReadonlyMap<string, Buffer>,
): { server: Server; token?: string } {
  const token = isLoopback(host) ? undefined : randomBytes(24).toString('base64url');
  const server = createServer((request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    answer(request, response).catch((error: unknown) => sendError(response, error));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isPost = request.method === 'POST';
    if (!isPost && request.method !== 'GET' && request.method !== 'HEAD')
      return refuse(response, 405, 'only GET and POST are supported');
    if (!isOwnHost(request.headers.host, host)) return refuse(response, 403, 'this host is not the dashboard');
    if (isForeign(request) || (isPost && request.headers.origin === undefined))
      return refuse(response, 403, 'only the pages of the dashboard may ask it');
    const url = new URL(request.url ?? '/', 'http://dashboard');
    if (token !== undefined && !hasToken(request, url, token)) {
      return refuse(response, 401, 'open the dashboard with the address that `gauntlet dashboard` printed');
    }
    if (token !== undefined && url.searchParams.has('token')) {
      response.setHeader('set-cookie', `${cookieName(request)}=${token}; HttpOnly; SameSite=Strict; Path=/`);
      response.writeHead(303, { location: '/' }).end();
      return;
    }
    const path = url.pathname.slice(1) || 'index.html';
    const [, about, run] = /^api\/(live|control)\/([^/]+)$/.exec(path) ?? [];
    if (isPost) {
      if (about !== 'control') return refuse(response, 405, 'only GET is supported here');
      const said = await controls.request(decoded(run!), await readControlRequest(request));
      return sendJson(response, 200, { said } satisfies ControlAnswer);
    }
    if (about === 'live') return sendJson(response, 200, await controls.live(decoded(run!)));
    if (path === 'api/events') return streamChanges(response, resources);
    if (path.startsWith('api/')) return sendJson(response, 200, await resources.read(path.slice('api/'.length)));
    const file = files.get(path);
    if (file === undefined) return refuse(response, 404, 'there is no such page');
    response.writeHead(200, { 'content-type': FILES[path]! }).end(file);
  }

  return { server, ...(token !== undefined && { token }) };
}

/** The files of the pages, as the build wrote them. @throws GauntletError NOT_FOUND */
export async function pageFiles(): Promise<Map<string, Buffer>> {
  const folder = join(packageRoot(), 'dist/dashboard/web');
  const names = Object.keys(FILES);
  try {
    const contents = await Promise.all(names.map((name) => readFile(join(folder, name))));
    return new Map(names.map((name, i) => [name, contents[i]!]));
  } catch {
    throw new GauntletError('NOT_FOUND', `no pages in ${folder}: run npm run build`);
  }
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4'));

/**
 * A foreign web site can make its own name mean this machine (DNS rebinding), so only addresses, localhost and the name
 * of --host are accepted.
 */
function isOwnHost(header: string | undefined, host: string): boolean {
  const name = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(header ?? '');
  const given = name?.[1] ?? name?.[2];
  if (given === undefined) return false;
  return isLoopback(host) ? isLoopback(given) : isIP(given) !== 0 || given === host || given === 'localhost';
}

/** True for a request that a page of another origin makes. Following a link from there is allowed. */
function isForeign({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  if (origin !== undefined && origin !== `http://${host}`) return true;
  return headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate';
}

/** Cookies do not tell ports apart, so the name does. */
const cookieName = ({ headers }: IncomingMessage): string =>
  `gauntlet-${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? 80}`;

function hasToken(request: IncomingMessage, url: URL, token: string): boolean {
  const cookies = (request.headers.cookie ?? '').split(/;\s*/);
  const cookie = cookies.find((each) => each.startsWith(`${cookieName(request)}=`))?.split('=')[1];
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  return [url.searchParams.get('token'), cookie, bearer].some((given) => isEqual(given ?? '', token));
}

const isEqual = (given: string, token: string): boolean =>
  given.length === token.length && timingSafeEqual(Buffer.from(given.padEnd(token.length)), Buffer.from(token));

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
}

const STATUS: Readonly<Record<string, number>> = {
  ...{ NOT_FOUND: 404, BAD_INPUT: 400, BAD_CONFIG: 400, RUN_EXISTS: 409, SERVER_UNAVAILABLE: 503 },
};

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { code = 'FAULT', message } = error as { code?: string; message: string };
  sendJson(response, STATUS[code] ?? 500, { error: { code, message } });
}

const refuse = (response: ServerResponse, status: number, message: string): void =>
  sendJson(response, status, { error: { code: 'BAD_INPUT', message } });
