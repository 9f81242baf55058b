// Connects to the Docker daemon and reads its features. DOCKER_HOST may name a socket, tcp:// or ssh://;
// DOCKER_TLS_VERIFY and DOCKER_CERT_PATH work as for the docker client.
import Docker from 'dockerode';
import { GauntletError } from '../../core/base/errors.js';

export interface Daemon {
  docker: Docker;
  version: string;
  cgroup: '1' | '2' | 'none';
  runtimes: string[];
  runtime: string; // the default runtime
  rootless: boolean;
  security: string[]; // the security features that it uses, e.g. seccomp, apparmor, selinux, cgroupns, userns
  remapped: boolean; // containers have only few uids, because the daemon is rootless or uses userns-remap
  limits: { memory: boolean; swap: boolean; pids: boolean; cpu: boolean };
}

const PING_MS = 5000;
const PODMAN = 'Podman answers, which accepts neither a seccomp profile nor a limit of files';

/** Waits for the promise, and rejects after so many ms. The work behind the promise is not cancelled. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = () => Object.assign(new Error(`${what}: no answer in time`), { code: 'ETIMEDOUT' });
    timer = setTimeout(() => reject(error()), ms);
  });
  promise.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Lists the containers with a label, in every state. The daemon may list a removed container as dead until it restarts; a
 * request to inspect this container fails with 404.
 */
export async function listContainers(docker: Docker, label?: string): Promise<Docker.ContainerInfo[]> {
  const listed = await docker.listContainers({ all: true, ...(label && { filters: { label: [label] } }) });
  const exists = async ({ Id, State }: Docker.ContainerInfo) => {
    if (State !== 'dead') return true;
    const inspection = docker.getContainer(Id).inspect();
    return inspection.then(
      () => true,
      ({ statusCode }: { statusCode?: number }) => statusCode !== 404,
    );
  };
  const existing = await Promise.all(listed.map(exists));
  return listed.filter((_, i) => existing[i]);
}

interface Info {
  CgroupVersion?: string;
  CgroupDriver?: string;
  Runtimes?: Record<string, unknown>;
  DefaultRuntime?: string;
  SecurityOptions?: string[];
  MemoryLimit?: boolean;
  SwapLimit?: boolean;
  PidsLimit?: boolean;
  CpuCfsQuota?: boolean;
  CPUCfsQuota?: boolean;
}

/** Connects to DOCKER_HOST, else to the default socket. @throws GauntletError SANDBOX_UNAVAILABLE in one line */
export async function connectDocker(): Promise<Daemon> {
  try {
    const docker = new Docker();
    const { Version, Components = [] } = await within(PING_MS, 'version', docker.version());
    if (Components.some(({ Name }) => Name.startsWith('Podman'))) throw new Error(PODMAN);
    const info: Info = await within(PING_MS, 'info', docker.info());
    return { docker, version: Version, ...readInfo(info) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const host = process.env.DOCKER_HOST;
    const reason = code === 'ENOENT' ? 'no daemon on this machine' : message.split('\n')[0] || code;
    throw new GauntletError('SANDBOX_UNAVAILABLE', `Docker does not answer${host ? ` at ${host}` : ''} (${reason})`, {
      cause: error,
    });
  }
}

export function readInfo(info: Info): Omit<Daemon, 'docker' | 'version'> {
  const security = info.SecurityOptions ?? [];
  const names = security.map((option) => option.split(',')[0]!.replace('name=', '')).sort();
  const rootless = names.includes('rootless');
  return {
    cgroup: info.CgroupDriver === 'none' ? 'none' : info.CgroupVersion === '2' ? '2' : '1',
    runtimes: Object.keys(info.Runtimes ?? {}).sort(),
    runtime: info.DefaultRuntime ?? 'runc',
    rootless,
    security: names,
    remapped: rootless || names.includes('userns'),
    limits: {
      memory: info.MemoryLimit === true,
      swap: info.SwapLimit === true,
      pids: info.PidsLimit === true,
      cpu: (info.CpuCfsQuota ?? info.CPUCfsQuota) === true,
    },
  };
}

/** @throws GauntletError SANDBOX_UNAVAILABLE if the daemon cannot enforce the limits, or lacks the runtime */
export function requireDaemon({ limits, cgroup, rootless, runtimes }: Daemon, runtime: string | null): void {
  const lacks = (['memory', 'pids', 'cpu'] as const).filter((limit) => !limits[limit]);
  if (lacks.length > 0) {
    const why = rootless
      ? `it is rootless on cgroup ${cgroup}; delegate these controllers on cgroup 2`
      : `cgroup ${cgroup}`;
    throw new GauntletError('SANDBOX_UNAVAILABLE', `this Docker daemon cannot limit ${lacks.join(', ')} (${why})`);
  }
  if (runtime !== null && !runtimes.includes(runtime)) {
    throw new GauntletError(
      'SANDBOX_UNAVAILABLE',
      `this Docker daemon has no runtime '${runtime}' (installed: ${runtimes.join(', ')}); add it to the daemon's configuration`,
    );
  }
}

/** Says how the daemon confines containers, and which means it lacks. */
export function describeBoundary({ security, rootless, remapped, limits }: Daemon): string[] {
  return [
    ...(rootless ? ['rootless'] : remapped ? ['userns-remap'] : []),
    ...(security.includes('seccomp') ? [] : ['no seccomp']),
    ...(limits.swap ? [] : ['swap is not limited']),
  ];
}

/** Describes the daemon in one line. */
export function describeDaemon(daemon: Daemon): string {
  const { version, cgroup, runtimes, security } = daemon;
  const parts = [`docker ${version}`, `cgroup ${cgroup}`, `runtimes ${runtimes.join(', ')}`];
  return [...parts, `security ${security.join(', ') || 'none'}`, ...describeBoundary(daemon)].join(' · ');
}
