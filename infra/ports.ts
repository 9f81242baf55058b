// Ports for a server on the loopback interface: the requested one, or the next free one. Ports without access rules of their
// own are those to which browsers refuse to connect.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { GauntletError } from '../core/base/errors.js';

const LOOPBACK = '127.0.0.1';
const DEFAULT_PORT = 7233; // the default of every Temporal client
const UI_OFFSET = 1000; // the Temporal CLI has the same default
const TRIES = 100;
/**
 * Ports that need no root, from the list of the Fetch standard ("port blocking"): every browser refuses to connect to them,
 * whatever a page does. Left out are 2049 (NFS) and 6000 (X11), which programs of this machine may look for, and 4190 and
 * 6679, which Chromium still connects to.
 */
export const BLOCKED_BY_BROWSERS = [
  6665, 6666, 6667, 6668, 6669, 6697, 10_080, 6566, 5060, 5061, 4045, 3659, 1719, 1720, 1723,
] as const;
const SERVER_PORTS = [20_000, 32_768] as const; // Linux gives the ports from 32,768 on to outgoing connections

/** Chooses ports. A requested port must be free; the default moves to the next free port. @throws GauntletError PORT_TAKEN */
export async function choosePorts(port: number | undefined, uiPort: number | undefined) {
  const chosen = await choose(port, DEFAULT_PORT, 'port');
  return { port: chosen, uiPort: await choose(uiPort, chosen + UI_OFFSET, 'Web UI port', chosen) };
}

async function choose(asked: number | undefined, first: number, what: string, not?: number): Promise<number> {
  if (asked === 0) return anyFree(not);
  if (asked !== undefined) {
    if (!(Number.isInteger(asked) && asked > 0 && asked < 65536)) {
      throw new GauntletError('BAD_INPUT', `${what} ${asked} is not a port number (1 to 65535)`);
    }
    if (asked !== not && (await isFree(asked))) return asked;
    throw new GauntletError('PORT_TAKEN', `${what} ${asked} is taken by another program: choose another one`);
  }
  for (let port = first; port < Math.min(first + TRIES, 65536); port++)
    if (port !== not && (await isFree(port))) return port;
  return anyFree(not);
}

export interface HiddenPorts {
  ui: { host: string; port: number };
  metrics: number;
  http: number;
}

/**
 * Ports for what the server offers without access rules. On Linux the UI has an address of its own, so that it needs none
 * of the few ports that all servers share. If these are taken, the ports of metrics and HTTP are random ones.
 * @throws GauntletError PORT_TAKEN if there is none for the UI
 */
export async function hiddenPorts(candidates: readonly number[] = BLOCKED_BY_BROWSERS): Promise<HiddenPorts> {
  const shared = await freeOf(candidates, LOOPBACK);
  const own = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
  const [ownPort] = process.platform === 'linux' ? await freeOf(candidates, own) : [];
  const port = ownPort ?? shared.shift();
  if (port === undefined) {
    const ports = candidates.join(', ');
    throw new GauntletError(
      'PORT_TAKEN',
      `the Web UI needs one of the ports ${ports}, and all are taken: end a server`,
    );
  }
  const ui = { host: ownPort === undefined ? LOOPBACK : own, port };
  return { ui, metrics: shared[0] ?? (await anyFree()), http: shared[1] ?? (await anyFree()) };
}

async function freeOf(ports: readonly number[], host: string): Promise<number[]> {
  const free = await Promise.all(ports.map((port) => isFree(port, host)));
  return ports.filter((_, i) => free[i]);
}

export function isFree(port: number, host = LOOPBACK): Promise<boolean> {
  return listen(port, host).then(
    () => true,
    () => false,
  );
}

/** Returns a free port. Linux gives it to no outgoing connection, so none takes it before the server does. */
async function anyFree(not?: number): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = randomInt(...SERVER_PORTS);
    if (port !== not && (await isFree(port))) return port;
  }
  return listen(0);
}

function listen(port: number, host = LOOPBACK): Promise<number> {
  return new Promise((settle, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      const got = typeof address === 'object' && address !== null ? address.port : port;
      server.close(() => settle(got));
    });
  });
}
