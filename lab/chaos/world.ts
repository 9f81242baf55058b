// The components of a chaos run: a Temporal server, one worker process per role, and for Docker a daemon. Restarts a component
// that dies, as a service manager would, and carries out the strikes.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { ENDED, interceptorsUntil } from '../../cli/run/session.js';
import { WORKER_ROLES, type WorkerRole } from '../../core/temporal/queues.js';
import { forClient } from '../../infra/proxy.js';
import { scriptArguments } from '../../infra/scripts.js';
import { ensureServer, type TemporalServer } from '../../infra/temporalServer.js';
import { SILENCE_SECONDS } from '../../sandbox/docker/options.js';
import { isAlive, stop } from '../commands.js';
import type { Notice } from './instrument.js';
import { leftContainers, leftProcesses, settled } from './leftovers.js';
import type { OwnDocker } from './ownDocker.js';
import type { DeathAtWrite, Strike } from './plan.js';

const WORKER = scriptArguments(new URL('./worker.js', import.meta.url));
const RESTART_MS = 200; // the delay before a restart, as with a service manager
const DEATH_MS = 5000; // a worker that has made no write after this time is killed anyway
const GUEST_MS = 60_000; // the longest wait for running programs
const STOP_MS = 30_000;
const SILENT_MS = 1000 * (SILENCE_SECONDS + 15); // a guest without a host ends within this time
const EXPECTED = /no Temporal server answers|Docker does not answer/; // expected errors after a strike; a later start succeeds
const UNREF = { ref: false }; // with it, a timer does not keep this process alive
const CHUNK = Buffer.alloc(2 ** 20);

export interface Left {
  processes: string[];
  containers: string[];
}

export interface WorldOptions {
  folder: string; // the folder for all files of this chaos run
  store: string; // with the victim `disk`, it is on a file system that can be filled
  sandbox: 'wasm' | 'docker';
  docker?: OwnDocker;
  storeFaults: number; // the share of the store's writes that fail
  seed: number;
  log(line: string): void;
}

export class World {
  private readonly workers = new Map<WorkerRole, ChildProcess>();
  private readonly sessions = new Set<number>(); // the pids of all workers, including dead ones
  private server!: TemporalServer;
  private connection: Connection | undefined;
  private ending = false;
  private programsRun = false;
  private readonly waiting: (() => void)[] = []; // callbacks that the next running program calls
  private closed: Promise<Left> | undefined;
  tokens = 0; // the number of tokens that all workers sampled
  faults = 0; // the number of failed writes to the store
  atWrite = 0; // the number of workers that died during a write

  constructor(readonly options: WorldOptions) {}

  get workersStarted(): number {
    return this.sessions.size;
  }

  async open(): Promise<void> {
    await mkdir(this.options.store, { recursive: true });
    await this.startServer();
    for (const role of WORKER_ROLES) this.startWorker(role);
  }

  /** Restarts the server at the same port. The channel reconnects by itself. */
  async client(): Promise<Client> {
    const interceptors = interceptorsUntil(() => (this.ending ? ENDED : undefined));
    this.connection ??= await Connection.connect({ ...forClient(this.server.connection), interceptors });
    return new Client({ connection: this.connection, namespace: this.server.namespace });
  }

  private async startServer(port = 0): Promise<void> {
    const env = { ...process.env, TEMPORAL_ADDRESS: undefined };
    this.server = await ensureServer({ storeDir: join(this.options.folder, 'server'), port, uiPort: 0, env });
  }

  private startWorker(role: WorkerRole): void {
    const { store, sandbox, docker, seed, storeFaults, log } = this.options;
    const env = {
      ...process.env,
      ...(docker && { DOCKER_HOST: docker.host }),
      TEMPORAL_ADDRESS: this.server.address,
      GAUNTLET_STORE: store,
      GAUNTLET_LOG: 'fatal',
      GAUNTLET_CHAOS_SEED: String(seed),
      GAUNTLET_CHAOS_FAULTS: String(storeFaults),
    };
    // A session per worker identifies its children, even after the worker's death.
    const child = spawn(process.execPath, [...WORKER, role, sandbox], {
      env,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    if (child.pid !== undefined) this.sessions.add(child.pid);
    this.workers.set(role, child);
    child.stderr!.on('data', (text) => {
      const line = /^.*Error\b.*$/m.exec(String(text))?.[0];
      if (line && !EXPECTED.test(line)) log(`${role}: ${line}`);
    });
    child.on('message', (notice: Notice) => this.hear(notice));
    child.once('exit', () => {
      if (role === 'sandbox') this.programsRun = false;
      if (!this.ending) setTimeout(() => this.ending || this.startWorker(role), RESTART_MS);
    });
  }

  private hear(notice: Notice): void {
    if (notice.kind === 'tokens') this.tokens += notice.amount;
    else if (notice.kind === 'fault') this.faults++;
    else {
      this.programsRun = notice.busy;
      if (notice.busy) for (const notify of this.waiting.splice(0)) notify();
    }
  }

  private untilProgramsRun(): Promise<void> {
    return new Promise((resolve) => (this.programsRun ? resolve() : this.waiting.push(resolve)));
  }

  /** @returns the time, in milliseconds since 1970, from which the run can recover; undefined if there was no victim */
  async strike({ victim, draw, atWrite }: Strike): Promise<number | undefined> {
    if (victim === 'server') return this.killServer();
    if (victim === 'everything') return this.killEverything(draw);
    if (victim === 'guest' || victim === 'container') return this.killGuest(victim, draw);
    if (victim === 'daemon') return this.killDaemon(draw);
    if (victim === 'disk') return this.fillDisk(500 + 3000 * draw);
    return this.killWorker(victim, atWrite);
  }

  private async killWorker(role: WorkerRole, atWrite?: DeathAtWrite): Promise<number | undefined> {
    for (let waited = 0; !isAlive(this.workers.get(role)) && waited < GUEST_MS; waited += 20) await sleep(20);
    const worker = this.workers.get(role)!;
    if (!isAlive(worker)) return undefined;
    const exited = new Promise<boolean>((resolve) => worker.once('exit', () => resolve(true)));
    if (atWrite) {
      worker.send(atWrite, () => undefined);
      if (await Promise.race([exited, sleep(DEATH_MS, false, UNREF)])) {
        this.atWrite++;
        return Date.now();
      }
    }
    const at = Date.now();
    worker.kill('SIGKILL');
    await exited;
    return at;
  }

  private async killServer(): Promise<number> {
    const { pid, exited, address } = this.server;
    const at = Date.now();
    process.kill(pid!, 'SIGKILL');
    await exited;
    await this.startServer(Number(address.split(':')[1]));
    return at;
  }

  private async killEverything(draw: number): Promise<number> {
    for (const worker of this.workers.values()) worker.kill('SIGKILL');
    const at = Date.now();
    await Promise.all([this.killServer(), this.options.docker && this.killDaemon(draw)]);
    return at;
  }

  /** Kills a process that runs programs, or stops its container through the daemon. */
  private async killGuest(victim: 'guest' | 'container', draw: number): Promise<number | undefined> {
    const { docker } = this.options;
    const deadline = Date.now() + GUEST_MS;
    await Promise.race([this.untilProgramsRun(), sleep(GUEST_MS, undefined, UNREF)]);
    for (; Date.now() < deadline && !this.ending; await sleep(5)) {
      const some = await (docker ? docker.running().catch(() => []) : descendants(this.workers.get('sandbox')?.pid));
      const one = some[Math.floor(draw * some.length)];
      if (one === undefined) continue;
      try {
        if (typeof one === 'number') process.kill(one, 'SIGKILL');
        else if (victim === 'container') await docker!.docker.getContainer(one).kill();
        else process.kill(await processOf(docker!, one), 'SIGKILL');
        return Date.now();
      } catch {
        // the process has ended: try another one
      }
    }
    return undefined;
  }

  private async killDaemon(draw: number): Promise<number> {
    const at = Date.now();
    await this.options.docker!.end('SIGKILL');
    await sleep(2000 * draw);
    await this.options.docker!.start();
    return at;
  }

  /** Fills the store's disk for a while. The run can recover once there is space again. */
  private async fillDisk(ms: number): Promise<number> {
    const path = join(this.options.store, '..', 'ballast');
    const deadline = Date.now() + ms;
    const file = await open(path, 'w');
    try {
      do {
        // also fills space that becomes free later
        for (let size = CHUNK.length; size >= 1; ) {
          const written = await file.write(CHUNK, 0, size).catch(() => ({ bytesWritten: 0 }));
          if (written.bytesWritten < size) size >>= 1;
        }
        await sleep(20);
      } while (Date.now() < deadline);
    } finally {
      await file.close();
      await rm(path, { force: true });
    }
    return Date.now();
  }

  get forgotten(): number {
    return this.options.docker?.forgotten ?? 0;
  }

  /** Ends everything. @returns what is left */
  close(): Promise<Left> {
    this.ending = true;
    this.closed ??= this.end();
    return this.closed;
  }

  private async end(): Promise<Left> {
    const { folder, docker } = this.options;
    await Promise.all([...this.workers.values()].map(stop));
    await this.connection?.close().catch(() => undefined);
    await this.server?.close();
    const containers = docker ? await settled(() => leftContainers(docker.docker, this.sessions), STOP_MS) : [];
    await docker?.close();
    return { containers, processes: await settled(() => leftProcesses(folder, this.sessions), SILENT_MS) };
  }
}

async function processOf(docker: OwnDocker, container: string): Promise<number> {
  const pid = await docker.processOf(container);
  if (pid <= 0) throw new Error(`container ${container} has exited`); // kill(0) would hit this process group
  return pid;
}

/** The leaves of the process tree, which are interpreters. */
function descendants(pid: number | undefined): number[] {
  const children = pid === undefined ? [] : childrenOf(pid);
  return children.flatMap((child) => {
    const own = descendants(child);
    return own.length === 0 ? [child] : own;
  });
}

export function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  return readFileSync(file, 'latin1').trim().split(' ').filter(Boolean).map(Number);
}
