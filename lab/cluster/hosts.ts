// The hosts of a simulated cluster. Each host has its own network, host name, pid namespace and boot id, and a service manager
// that restarts its worker. A bridge in the network namespace of this process connects the hosts, so the kernel removes
// everything when this process ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf } from '../chaos/world.js';
import { run } from './programs.js';

const BRIDGE = 'bridge0';
const NETWORK = '10.77.0'; // exists only in the namespaces of this run
export const SERVICES = `${NETWORK}.1`; // the address of Postgres, Temporal and S3

export async function openNetwork(): Promise<void> {
  await run('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
  await run('ip', ['addr', 'add', `${SERVICES}/24`, 'dev', BRIDGE]);
  for (const link of ['lo', BRIDGE]) await run('ip', ['link', 'set', link, 'up']);
}

// Arguments: $1 host name, $2 address, $3 file with the boot id, $4… the worker. Waits until the link exists.
const INIT = `
hostname "$1"; address=$2; mount --bind "$3" /proc/sys/kernel/random/boot_id; shift 3
echo ready; read -r linked
ip addr add "$address/24" dev eth0; ip link set lo up; ip link set eth0 up
while :; do "$@" </dev/null >&2; sleep 1; done`;

export interface HostOptions {
  name: string;
  number: number; // the last part of the address, from 2
  folder: string; // contains the host's home, its work and its log
  command: readonly string[]; // starts the worker of the host
  env: Record<string, string>;
}

export class Host {
  private init: ChildProcess | undefined;
  private readonly link: string;

  constructor(readonly options: HostOptions) {
    this.link = `veth${options.number}`;
    for (const name of ['home', 'tmp', 'work']) mkdirSync(join(options.folder, name), { recursive: true });
  }

  /** Turns the host on. Its disk is unchanged. */
  async boot(): Promise<void> {
    const { name, number, folder, command, env } = this.options;
    const bootId = join(folder, 'boot_id');
    writeFileSync(bootId, `${randomUUID()}\n`);
    const log = openSync(join(folder, 'worker.log'), 'a');
    const namespaces = ['--net', '--uts', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const script = ['sh', '-c', INIT, 'init', name, `${NETWORK}.${number}`, bootId, ...command];
    const init = spawn('unshare', [...namespaces, ...script], {
      cwd: join(folder, 'work'),
      env: { PATH: process.env.PATH, HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp'), ...env },
      stdio: ['pipe', 'pipe', log],
    });
    this.init = init;
    await once(init.stdout!, 'data'); // from now on, its network namespace exists
    init.stdout!.resume();
    await run('ip', ['link', 'add', this.link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(init.pid)]);
    await run('ip', ['link', 'set', this.link, 'master', BRIDGE, 'up']);
    init.stdin!.write('linked\n');
  }

  /** Unplugs the network. */
  cut(): Promise<void> {
    return run('ip', ['link', 'set', this.link, 'down']);
  }

  reconnect(): Promise<void> {
    return run('ip', ['link', 'set', this.link, 'up']);
  }

  /** Kills the worker, which the service manager restarts. Returns false if the worker does not run. */
  killWorker(): boolean {
    const init = childrenOf(this.init!.pid!)[0];
    const worker = init === undefined ? undefined : childrenOf(init).find((pid) => nameOf(pid) !== 'sleep');
    if (worker !== undefined) process.kill(worker, 'SIGKILL');
    return worker !== undefined;
  }

  /** Turns the host off without warning. */
  async crash(): Promise<void> {
    const exited = once(this.init!, 'exit');
    this.init!.kill('SIGKILL'); // because of --kill-child, this ends its pid namespace and thereby its network
    await exited;
    await run('ip', ['link', 'delete', this.link]).catch(() => undefined); // the kernel may have removed it already
  }
}

const nameOf = (pid: number): string => readFileSync(`/proc/${pid}/comm`, 'latin1').trim();
