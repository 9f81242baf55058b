// The world of a chaos run: a Temporal server and one worker process per role, each started again when it dies, as a
// service manager would, and things that can happen to them.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { interceptorsUntil } from '../../cli/session.js';
import { WORKER_ROLES, type WorkerRole } from '../../core/queues.js';
import { ensureServer, type TemporalServer } from '../../infra/temporalServer.js';

const run = promisify(execFile);
const WORKER = fileURLToPath(new URL('./worker.js', import.meta.url));
const RESTART_MS = 200; // a service manager waits so long
const BALLAST = 'ballast';

export interface WorldOptions {
  folder: string; // of everything, this run's own
  store: string; // on a file system that can be filled, where `tmpfs`
  tmpfs: boolean;
  sandbox: 'wasm' | 'docker';
  storeFaults: number; // share of the store's writes that fail
  seed: number;
  log(line: string): void;
}

export class World {
  private readonly workers = new Map<WorkerRole, ChildProcess>();
  private server!: TemporalServer;
  private connection: Connection | undefined;
  private ending = false;
  starts = 0; // of worker processes

  constructor(readonly options: WorldOptions) {}

  async open(): Promise<void> {
    await mkdir(this.options.store, { recursive: true });
    await this.startServer();
    for (const role of WORKER_ROLES) this.startWorker(role);
  }

  get client(): Promise<Client> {
    return (async () => {
      // of a server that comes back at its port: the channel connects again by itself
      const interceptors = interceptorsUntil(() => this.ending);
      this.connection ??= await Connection.connect({ ...this.server.connection, interceptors });
      return new Client({ connection: this.connection, namespace: this.server.namespace });
    })();
  }

  private async startServer(port = 0): Promise<void> {
    const env = { ...process.env, TEMPORAL_ADDRESS: undefined };
    this.server = await ensureServer({ storeDir: join(this.options.folder, 'server'), port, uiPort: 0, env });
  }

  private startWorker(role: WorkerRole): void {
    const { store, sandbox, seed, storeFaults } = this.options;
    const env = {
      ...process.env,
      TEMPORAL_ADDRESS: this.server.address,
      GAUNTLET_STORE: store,
      GAUNTLET_ROLES: role,
      GAUNTLET_SANDBOX: sandbox,
      GAUNTLET_LOG: 'fatal',
      GAUNTLET_CHAOS_SEED: String(seed),
      GAUNTLET_CHAOS_FAULTS: String(storeFaults),
    };
    const child = spawn(process.execPath, [WORKER], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.starts++;
    this.workers.set(role, child);
    child.stderr!.on('data', (text) => this.options.log(`${role}: ${String(text).trim().split('\n')[0]}`));
    child.once('exit', () => {
      if (!this.ending) setTimeout(() => this.ending || this.startWorker(role), RESTART_MS);
    });
  }

  killWorker(role: WorkerRole): boolean {
    return this.workers.get(role)?.kill('SIGKILL') ?? false;
  }

  async killServer(): Promise<void> {
    const { pid, exited, address } = this.server;
    process.kill(pid!, 'SIGKILL');
    await exited;
    await this.startServer(Number(address.split(':')[1]));
  }

  /** A process or container that runs programs of the sandbox's worker; false where there is none just now. */
  async killSandbox(): Promise<boolean> {
    const { pid } = this.workers.get('sandbox')!;
    if (this.options.sandbox === 'wasm') {
      const guest = childrenOf(pid!)
        .flatMap((child) => [child, ...childrenOf(child)])
        .at(-1);
      if (guest === undefined) return false;
      process.kill(guest, 'SIGKILL');
      return true;
    }
    const [id] = await this.containers(pid!);
    if (id === undefined) return false;
    await run('docker', ['kill', id]).catch(() => undefined); // it ended by itself
    return true;
  }

  /** Containers of worker `pid`, or of any worker of this machine that is gone. */
  async containers(pid?: number): Promise<string[]> {
    const format = '{{.ID}} {{.Label "gauntlet.sandbox.owner"}}';
    const { stdout } = await run('docker', [
      'ps',
      '-a',
      '--filter',
      'label=gauntlet.sandbox.owner',
      '--format',
      format,
    ]);
    const rows = stdout
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => ({ id: line.slice(0, line.indexOf(' ')), owner: line }));
    return rows
      .filter(({ owner }) => {
        const of = Number(/,(\d+),/.exec(owner)?.[1]);
        return pid === undefined ? this.pids.has(of) : of === pid;
      })
      .map(({ id }) => id);
  }
  private readonly pids = new Set<number>();

  /** No byte more fits on the store's disk for a while. */
  async fillDisk(ms: number): Promise<void> {
    const file = join(this.options.store, '..', BALLAST);
    await writeFile(file, Buffer.alloc(1 << 30)).catch(() => undefined); // until it is full
    await sleep(ms);
    await rm(file, { force: true });
  }

  /** Ends everything. */
  async close(): Promise<void> {
    this.ending = true;
    for (const child of this.workers.values()) child.kill('SIGTERM');
    await Promise.all(
      [...this.workers.values()].map(async (child) => {
        for (let waited = 0; child.exitCode === null && child.signalCode === null; waited += 50) {
          if (waited > 15_000) child.kill('SIGKILL');
          await sleep(50);
        }
      }),
    );
    await this.connection?.close().catch(() => undefined);
    await this.server.close();
  }

  /** Processes that still name this run's folder, after everything was ended. */
  orphans(): number[] {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && pid > 0 && pid !== process.pid && names(pid, this.options.folder));
  }
}

function names(pid: number, folder: string): boolean {
  try {
    return ['cmdline', 'environ'].some((file) => readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(folder));
  } catch {
    return false;
  }
}

function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  return readFileSync(file, 'latin1').trim().split(' ').filter(Boolean).map(Number);
}
