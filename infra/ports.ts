// Ports for a server on the loopback interface: the requested one, or the next free one.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { GauntletError } from '../core/errors.js';

export interface Ports {
  port: number;
  uiPort: number;
}

const DEFAULT_PORT = 7233; // the default of every Temporal client
const UI_OFFSET = 1000; // as the Temporal CLI does
const TRIES = 100;
const SERVER_PORTS = [20_000, 32_768] as const; // from 32,768 on, Linux gives ports to outgoing connections

/** A requested port that is taken is an error; the default moves to the next free one. @throws GauntletError PORT_TAKEN */
export async function choosePorts(port: number | undefined, uiPort: number | undefined): Promise<Ports> {
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

export function isFree(port: number): Promise<boolean> {
  return listen(port).then(
    () => true,
    () => false,
  );
}

/** A port that Linux gives to no outgoing connection, so that none takes it before the server does. */
async function anyFree(not?: number): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = randomInt(...SERVER_PORTS);
    if (port !== not && (await isFree(port))) return port;
  }
  return listen(0);
}

function listen(port: number): Promise<number> {
  return new Promise((settle, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      const got = typeof address === 'object' && address !== null ? address.port : port;
      server.close(() => settle(got));
    });
  });
}
