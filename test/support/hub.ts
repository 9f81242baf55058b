// A Hugging Face hub on this machine: info, tree, and files of models and data sets; large files redirect to another origin.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const COMMIT = 'c0ffee'.padEnd(40, '0');
export const TOKEN = 'hf_secretsecret';

export interface FakeHub {
  url: string;
  cdn: string;
  files: Map<string, Buffer>;
  /** Revision name → files, instead of one revision with `files`. Other revisions do not exist. */
  revisions?: Record<string, { sha: string; files: Record<string, Buffer> }>;
  /** Changes the answers of the hub about its files. */
  listing: (entries: Entry[]) => unknown;
  link?: string; // sends the header of the listing
  drip?: (response: ServerResponse) => true; // sends the listing itself
  info: () => { status?: number; sha?: unknown };
  /** Called for every file. May send something else instead of the file. */
  send: (name: string, request: IncomingMessage, response: ServerResponse) => boolean;
  requests: { origin: 'hub' | 'cdn'; path: string; authorization?: string; range?: string }[];
  close(): Promise<void>;
}

export interface Entry {
  type: string;
  path: string;
  size: number;
  oid: string;
  lfs?: { oid: string; size: number; pointerSize: number };
}

const isLarge = (name: string): boolean => /\.(safetensors|parquet)$/.test(name);
const hash = (kind: string, ...parts: (string | Buffer)[]): string =>
  parts.reduce((sum, part) => sum.update(part), createHash(kind)).digest('hex');

export const digestOf = (name: string, content: Buffer): string =>
  isLarge(name) ? hash('sha256', content) : hash('sha1', `blob ${content.length}\0`, content);

function entryOf([path, content]: [string, Buffer]): Entry {
  const size = content.length;
  const oid = hash('sha1', `blob ${size}\0`, content);
  const lfs = isLarge(path) ? { lfs: { oid: digestOf(path, content), size, pointerSize: 130 } } : {};
  return { type: 'file', path, size, oid, ...lfs };
}

const VARIABLES = ['HF_ENDPOINT', 'HF_HUB_CACHE', 'HF_HOME', 'HF_TOKEN', 'HF_TOKEN_PATH', 'HF_HUB_OFFLINE'];

/** A hub that this process uses, with its own cache in `place`. */
export async function useHub(files: Record<string, string | Buffer>): Promise<{
  hub: FakeHub;
  place: string;
  leave(): Promise<void>;
}> {
  const before = Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]]));
  for (const name of VARIABLES) delete process.env[name];
  const place = await mkdtemp(join(tmpdir(), 'gauntlet-hub-'));
  const hub = await openHub(files);
  process.env.HF_HOME = place;
  process.env.HF_ENDPOINT = `${hub.url}/`;
  const leave = async (): Promise<void> => {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    await hub.close();
    await rm(place, { recursive: true, force: true });
  };
  return { hub, place, leave };
}

export async function openHub(files: Record<string, string | Buffer>): Promise<FakeHub> {
  const hub: FakeHub = {
    url: '',
    cdn: '',
    files: new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)])),
    listing: (entries) => entries,
    info: () => ({}),
    send: () => false,
    requests: [],
    close: async () => {
      for (const server of [main, cdn]) {
        server.closeAllConnections();
        await new Promise((settle) => server.close(settle));
      }
    },
  };
  const answer = (origin: 'hub' | 'cdn') => (request: IncomingMessage, response: ServerResponse) => {
    const path = decodeURIComponent(request.url!.split('?')[0]!);
    const { authorization, range } = request.headers;
    hub.requests.push({ origin, path, ...(authorization && { authorization }), ...(range && { range }) });
    const json = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...(hub.link && { link: hub.link }) });
      response.end(JSON.stringify(value));
    };
    const revisions = Object.entries(hub.revisions ?? {});
    const meant = revisions.find(([name, { sha }]) => path.endsWith(`/revision/${name}`) || path.includes(sha))?.[1];
    if (hub.revisions !== undefined && origin === 'hub' && meant === undefined) return json({}, 404);
    if (path.includes('/revision/') && meant) return json({ id: 'some/data', sha: meant.sha });
    if (path.includes('/revision/')) {
      const { status = 200, sha = COMMIT } = hub.info();
      return json({ _id: '1', id: 'some/model', sha, error: 'text\nof the hub' }, status);
    }
    if (path.includes('/tree/') && hub.drip?.(response)) return;
    const files = meant ? Object.entries(meant.files) : [...hub.files];
    if (path.includes('/tree/')) return json(hub.listing(files.map(entryOf)));
    const name = path.split(/\/resolve\/[^/]+\/|\/blob\//).at(-1)!;
    const all = new Map([...hub.files, ...revisions.flatMap(([, one]) => Object.entries(one.files))]);
    const content = all.get(name);
    if (content === undefined) return json({}, 404);
    if (origin === 'hub' && isLarge(name)) {
      response.writeHead(302, { location: `${hub.cdn}/blob/${name}` });
      return response.end();
    }
    if (hub.send(name, request, response)) return;
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    const rest = content.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': rest.length,
      ...(from > 0 && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
    });
    response.end(rest);
  };
  const [main, cdn] = [createServer(answer('hub')), createServer(answer('cdn'))];
  for (const server of [main, cdn]) await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  hub.url = `http://127.0.0.1:${(main.address() as AddressInfo).port}`;
  hub.cdn = `http://127.0.0.1:${(cdn.address() as AddressInfo).port}`;
  return hub;
}

/** Asserts that work is refused in one line that does not contain the token. */
export const refusedWith = (work: Promise<unknown>, code: string, message: RegExp): Promise<void> =>
  assert.rejects(work, (error: Error & { code?: string }) => {
    assert.equal(error.code, code, error.stack);
    assert.match(error.message, message);
    assert.ok(!/\n/.test(error.message) && !error.message.includes(TOKEN), error.message);
    return true;
  });
