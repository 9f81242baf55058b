// Finds or starts a Temporal server: the one at TEMPORAL_ADDRESS, else an embedded dev server with a SQLite file in the
// store.
import type { ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@temporalio/client';
import { GauntletError } from '../core/base/errors.js';
import type { Listener } from './httpServer.js';
import { isAlive, withLock } from './lock.mjs';
import { isHere, PLACE } from './place.mjs';
import { choosePorts, hiddenPorts } from './ports.js';
import { grpcProxy, proxiedFetch, throughProxy } from './proxy.js';
import { claimFolder, refuseNetworkFolder } from './sharedFolder.js';
import { provideTemporalCli } from './temporal-cli.mjs';
import { connect, prepareNamespace } from './temporalNamespace.js';
import { databaseName, launch, serverArguments } from './temporalProcess.js';
import { type ConnectionSettings, type TemporalTarget, temporalTarget } from './temporalTarget.js';
import { startWebUi } from './webUi.js';

export interface TemporalServer {
  address: string; // host:port of the frontend
  connection: ConnectionSettings; // address and credentials
  namespace: string;
  uiUrl: string | null; // null if no Web UI of an external server was found
  owned: boolean; // whether this process started the server and ends it
  pid?: number; // set if the server is embedded
  exited?: Promise<void>; // owned servers: settles when the server process exits
  close(): Promise<void>; // ends the server if this process owns it
}

export interface ServerOptions {
  storeDir: string;
  port?: number; // must be free; 0 takes any free port; default: 7233 or the next free port
  uiPort?: number; // must be free; 0 takes any free port; default: port + 1000 or the next free port
  log?: (line: string) => void;
  env?: Record<string, string | undefined>;
  dynamicConfig?: Record<string, string | number>; // further settings of an embedded server
}

type Launch = Required<Pick<ServerOptions, 'storeDir' | 'log' | 'env'>> & ServerOptions & { namespace: string };

interface ServerState {
  pid: number;
  place: string; // where the pid names this server (place.mjs)
  port: number;
  uiPort: number;
  database: string;
}

const READY_MS = 60_000;
const STOP_MS = 10_000;
const STARTS = 3; // how often to start a server that loses a port to another program
const LOST_PORT = /address already in use|EADDRINUSE|free port|ephemeral port/;
const REFUSED = [7, 16]; // PERMISSION_DENIED and UNAUTHENTICATED of gRPC

/** Returns a server that is ready for workflows. @throws GauntletError SERVER_UNAVAILABLE | PORT_TAKEN */
export async function ensureServer(options: ServerOptions): Promise<TemporalServer> {
  const env = options.env ?? process.env;
  const log = options.log ?? (() => {});
  const target = temporalTarget(env);
  if (target !== undefined) return external(target, log);
  const namespace = env.TEMPORAL_NAMESPACE || 'default';
  const storeDir = resolve(options.storeDir);
  await refuseNetworkFolder(storeDir);
  mkdirSync(storeDir, { recursive: true });
  // If two processes start at the same time, one waits and then finds the server of the other.
  const waiting = (pid: number) => log(`process ${pid} starts a Temporal server for this store: waiting for it`);
  const provide = async (): Promise<TemporalServer> => {
    const running = await findRunning(storeDir, namespace);
    if (running) {
      const otherPort = options.port && !running.address.endsWith(`:${options.port}`);
      log(`using the Temporal server at ${running.address}${otherPort ? ': it serves this store already' : ''}`);
      return running;
    }
    return startEmbedded({ ...options, storeDir, namespace, env, log });
  };
  return withLock(join(storeDir, 'temporal.lock'), provide, waiting);
}

async function external(
  { connection: settings, namespace, from }: TemporalTarget,
  log: (line: string) => void,
): Promise<TemporalServer> {
  const { address } = settings;
  const proxy = grpcProxy(address);
  const isOpen = proxy !== undefined || (await accepts(address));
  const answer = isOpen ? connect(settings, 5_000) : Promise.reject(new Error('connection refused'));
  const connection = await answer.catch((error: unknown) => {
    const unset = `unset ${from.startsWith('profile') ? 'TEMPORAL_PROFILE' : from} to use the embedded one`;
    const check =
      proxy === undefined
        ? 'the port is open: check TLS (TEMPORAL_TLS, certificates, server name) and the API key'
        : 'check the proxy, or name the host in no_proxy';
    const way = `${isOpen ? check : 'start it'}, or ${unset}`;
    throw new GauntletError(
      'SERVER_UNAVAILABLE',
      `no Temporal server answers at ${address} (${from}${reasonOf(error)})${throughProxy(proxy)}: ${way}`,
      { cause: error },
    );
  });
  try {
    await prepareNamespace(connection, namespace, { retention: false, log });
  } finally {
    await connection.close();
  }
  log(`using the Temporal server at ${address} (${from})`);
  const host = address.slice(0, address.lastIndexOf(':'));
  const uiUrl = `http://${host}:${Number(address.slice(address.lastIndexOf(':') + 1)) + 1000}`;
  const answers = await proxiedFetch(uiUrl, { signal: AbortSignal.timeout(1_000) }).then(
    (response) => response.ok,
    () => false,
  );
  return {
    address,
    connection: settings,
    namespace,
    uiUrl: answers ? uiUrl : null,
    owned: false,
    close: async () => {},
  };
}

/** Returns the reason that the server gives for refusing the connection, such as an unknown API key. */
function reasonOf(error: unknown): string {
  type Refusal = { code?: number; details?: string };
  const { code = 0, details = '' } = ((error as { cause?: unknown }).cause ?? error) as Refusal;
  return REFUSED.includes(code) ? `, ${details.split('\n')[0]}` : '';
}

/** Returns the server that an earlier command started for this store, if it still runs. */
async function findRunning(storeDir: string, namespace: string): Promise<TemporalServer | undefined> {
  const state = readState(storeDir);
  if (state === undefined || !isOurs(state)) return undefined;
  const address = `127.0.0.1:${state.port}`;
  const deadline = Date.now() + STOP_MS;
  let connection: Connection | undefined;
  while (connection === undefined) {
    if (await accepts(address)) connection = await connect({ address }, 2_000).catch(() => undefined);
    if (!isOurs(state)) return undefined; // the server has exited
    if (connection === undefined && Date.now() > deadline) {
      const who = `the Temporal server of this store (process ${state.pid}, ${address})`;
      throw new GauntletError('SERVER_UNAVAILABLE', `${who} does not answer: end that process and try again`);
    }
    if (connection === undefined) await sleep(100);
  }
  await connection.close();
  const uiUrl = `http://127.0.0.1:${state.uiPort}`;
  return { address, connection: { address }, namespace, uiUrl, owned: false, pid: state.pid, close: async () => {} };
}

async function startEmbedded(options: Launch): Promise<TemporalServer> {
  const { env, log } = options;
  const cli = await provideTemporalCli({ env, log }).catch((error: Error) => {
    throw new GauntletError('SERVER_UNAVAILABLE', error.message, { cause: error });
  });
  // If servers for two stores start at the same time, one must not choose the port that the other is about to take.
  return withLock(join(tmpdir(), `gauntlet-${process.getuid?.() ?? ''}`, 'ports.lock'), async () => {
    // The server also chooses some ports itself, which another program may take first.
    for (let start = 1; ; start++) {
      try {
        return await launchEmbedded(cli.path, options);
      } catch (error) {
        if (start === STARTS || !(error instanceof Error && LOST_PORT.test(error.message))) throw error;
      }
    }
  });
}

async function launchEmbedded(program: string, options: Launch): Promise<TemporalServer> {
  const { storeDir, namespace, log } = options;
  const { port, uiPort } = await choosePorts(options.port, options.uiPort);
  const hidden = await hiddenPorts();
  if (options.port === undefined && port !== 7233) {
    log(
      `port 7233 is taken by another program: the server takes ${port} (for the Temporal CLI: export TEMPORAL_ADDRESS=127.0.0.1:${port})`,
    );
  }
  const database = join(storeDir, 'temporal.db');
  const logFile = join(storeDir, 'temporal.log');
  const logStart = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  const claim = await claimFolder(storeDir, { server: true });
  let webUi: Listener | undefined;
  const release = async () => {
    await webUi?.close();
    await claim.release();
  };
  const start = async () => {
    webUi = await startWebUi(uiPort, hidden.ui);
    const args = serverArguments(port, hidden, database, namespace, options.dynamicConfig);
    return launch(program, args, logFile, options.env);
  };
  const { child, pid } = await start().catch(async (error: unknown) => {
    await release();
    throw error;
  });
  const exited = new Promise<void>((settle) => child.once('exit', () => settle()));
  const close = () => stop(child, pid, exited, storeDir).finally(release);
  claim.lost.catch(close); // another machine uses the database
  const address = `127.0.0.1:${port}`;
  try {
    const connection = await untilReady(address, exited, logFile, logStart);
    try {
      await prepareNamespace(connection, namespace, { retention: true, log });
    } finally {
      await connection.close();
    }
  } catch (error) {
    await close();
    throw error;
  }
  writeState(storeDir, { pid, place: PLACE, port, uiPort, database });
  const uiUrl = `http://127.0.0.1:${uiPort}`;
  log(`started a Temporal server at ${address} (Web UI ${uiUrl})`);
  return { address, connection: { address }, namespace, uiUrl, owned: true, pid, exited, close };
}

async function untilReady(
  address: string,
  exited: Promise<void>,
  logFile: string,
  logStart: number,
): Promise<Connection> {
  const deadline = Date.now() + READY_MS;
  let ended = false;
  void exited.then(() => {
    ended = true;
  });
  while (!ended && Date.now() < deadline) {
    if (await accepts(address)) {
      const connection = await connect({ address }, 5_000).catch(() => undefined);
      if (connection && !ended) return connection;
    }
    await sleep(50);
  }
  const what = ended ? 'ended at once' : `did not answer within ${READY_MS / 1000} s`;
  throw new GauntletError(
    'SERVER_UNAVAILABLE',
    `the Temporal server ${what}: ${lastError(logFile, logStart)} (see ${logFile})`,
  );
}

/** Finds the cause in a log that may end with a stack trace. `from`: how many bytes earlier servers wrote into it. */
function lastError(logFile: string, from: number): string {
  const lines = readFileSync(logFile).subarray(from).toString().trim().split('\n');
  return (lines.findLast((line) => /fatal|panic:/i.test(line)) ?? lines.at(-1) ?? '').slice(-300); // the cause comes last
}

function accepts(address: string): Promise<boolean> {
  const [, host, port] = /^([^:\s]+):(\d{1,5})$/.exec(address) ?? [];
  if (host === undefined || Number(port) > 65535) return Promise.resolve(false);
  return new Promise((settle) => {
    const socket = createConnection({ host, port: Number(port) });
    const answer = (value: boolean) => {
      socket.destroy();
      settle(value);
    };
    socket.setTimeout(1_000, () => answer(false));
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}

async function stop(child: ChildProcess, pid: number, exited: Promise<void>, storeDir: string): Promise<void> {
  child.ref(); // the wait below must keep this program alive
  if (child.stdin) child.stdin.end('stop\n');
  else if (isAlive(pid)) process.kill(pid, 'SIGTERM');
  const ended = await Promise.race([exited.then(() => true), sleep(STOP_MS, false, { ref: false })]);
  if (!ended && isAlive(pid)) process.kill(pid, 'SIGKILL');
  if (readState(storeDir)?.pid === pid) rmSync(stateFile(storeDir), { force: true });
}

/** Returns the address of a store's server, if one is running. */
export function runningAddress(storeDir: string): string | undefined {
  const state = readState(resolve(storeDir));
  return state !== undefined && isOurs(state) ? `127.0.0.1:${state.port}` : undefined;
}

const stateFile = (storeDir: string): string => join(storeDir, 'temporal.json');

function readState(storeDir: string): ServerState | undefined {
  try {
    return JSON.parse(readFileSync(stateFile(storeDir), 'utf8')) as ServerState;
  } catch {
    return undefined;
  }
}

function writeState(storeDir: string, state: ServerState): void {
  const part = `${stateFile(storeDir)}.${process.pid}`;
  writeFileSync(part, `${JSON.stringify(state)}\n`);
  renameSync(part, stateFile(storeDir));
}

/** Whether the server still runs. Another program may have its pid now; on Linux, the command line shows that. */
function isOurs(state: ServerState): boolean {
  if (!isHere(state.place) || !isAlive(state.pid)) return false;
  try {
    const commandLine = readFileSync(`/proc/${state.pid}/cmdline`, 'utf8');
    const name = databaseName(state.database);
    const isThere = name === state.database || readlinkSync(`/proc/${state.pid}/cwd`) === dirname(state.database);
    return commandLine.includes(name) && isThere;
  } catch {
    return !existsSync('/proc/self');
  }
}
