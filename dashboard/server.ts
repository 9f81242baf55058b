// The HTTP server of the dashboard: the pages, the JSON of resources, and controls. A client sees every rollout and can
// control every run, so infra/httpServer.ts decides which clients get an answer, and a control request needs an origin.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { cookieName, createAccess, limitConnections, listen, patience, sendJson, urlOf } from '../infra/httpServer.js';
import { type Controls, readControlRequest } from './controls.js';
import { decoded, type Resources } from './data/resources.js';
import { PAGE_FILES, type PageFile, pageFiles } from './pageFiles.js';

export interface DashboardOptions {
  resources: Resources;
  controls: Controls;
  host: string;
  port: number; // 0 chooses any free port
}

export interface Dashboard {
  url: string; // includes the token if the server needs one
  close(): Promise<void>;
}

const REQUEST_MS = 30_000; // a client must have sent its request within this time
const MAX_CONNECTIONS = 256;

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
  const { origin, close } = await listen(server, host, port);
  return { url: token === undefined ? `${origin}/` : `${origin}/?token=${token}`, close };
}

/** Creates the server that is to listen at `host`. It has a token unless `host` is a loopback address. */
export function dashboardServer(
  resources: Resources,
  controls: Controls,
  host: string,
  files: ReadonlyMap<string, Buffer>,
): { server: Server; token?: string } {
  const access = createAccess(host, 'dashboard');
  const { token } = access;
  const server = createServer(patience(REQUEST_MS), (request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    answer(request, response).catch((error: unknown) => sendError(response, error));
  });
  limitConnections(server, MAX_CONNECTIONS);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isPost = request.method === 'POST';
    if (!isPost && request.method !== 'GET' && request.method !== 'HEAD')
      return refuse(response, 405, 'only GET and POST are supported');
    const refused = access.refusal(request);
    if (refused) return refuse(response, refused.status, refused.message);
    if (isPost && request.headers.origin === undefined)
      return refuse(response, 403, 'only the pages of the dashboard may control runs');
    const url = urlOf(request);
    if (token !== undefined && url.searchParams.has('token')) {
      response.setHeader('set-cookie', `${cookieName(request)}=${token}; HttpOnly; SameSite=Strict; Path=/`);
      response.writeHead(303, { location: '/' }).end();
      return;
    }
    const path = url.pathname.slice(1) || 'index.html';
    const [, about, run] = /^api\/(live|control)\/([^/]+)$/.exec(path) ?? [];
    if (isPost) {
      if (about !== 'control') return refuse(response, 405, 'only GET is supported here');
      return sendJson(response, 200, await controls.request(decoded(run!), await readControlRequest(request)));
    }
    if (path === 'api/live') return sendJson(response, 200, await controls.states());
    if (about === 'live') return sendJson(response, 200, await controls.live(decoded(run!)));
    if (path.startsWith('api/')) return sendJson(response, 200, await resources.read(path.slice('api/'.length)));
    const file = files.get(path);
    if (file === undefined) return refuse(response, 404, 'there is no such page');
    response.writeHead(200, { 'content-type': PAGE_FILES[path as PageFile] }).end(file);
  }

  return { server, token };
}

const STATUS: Readonly<Record<string, number>> = {
  NOT_FOUND: 404,
  BAD_INPUT: 400,
  BAD_CONFIG: 400,
  RUN_EXISTS: 409,
  SERVER_UNAVAILABLE: 503,
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
