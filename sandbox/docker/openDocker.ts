// The backend for real use: a fork server in a long-lived container, a fresh uid for every program.
import os from 'node:os';
import Docker from 'dockerode';
import { GauntletError } from '../../core/errors.js';
import { GuestPool } from '../pool.js';
import type { Sandbox } from '../sandbox.js';
import { runTestJobs } from '../split.js';
import { ContainerGuest } from './container.js';
import { ensureImage } from './image.js';
import { reapContainers } from './reaper.js';

export interface DockerOptions {
  size?: number; // containers; default: one a core
  log?: (line: string) => void;
}

const DEPTH = 2; // jobs ahead
const PING_MS = 3000;

/** A client for the daemon that DOCKER_HOST names (else the usual socket), and its version. @throws SANDBOX_UNAVAILABLE */
export async function connectDocker(): Promise<{ docker: Docker; version: string }> {
  let timer: NodeJS.Timeout | undefined;
  try {
    const docker = new Docker();
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), PING_MS);
    });
    const { Version } = await Promise.race([docker.version(), late]);
    return { docker, version: Version };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'no daemon on this machine' : message.split('\n')[0];
    throw new GauntletError('SANDBOX_UNAVAILABLE', `Docker does not answer (${reason})`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Opens the backend: removes what dead workers left, and makes the image where it is missing. */
export async function openDocker({
  size = os.availableParallelism(),
  log = () => {},
}: DockerOptions = {}): Promise<Sandbox> {
  const { docker, version } = await connectDocker();
  const left = await reapContainers(docker);
  if (left > 0) log(`sandbox: removed ${left} containers of workers that are gone`);
  const image = await ensureImage(docker, log);
  const pool = new GuestPool({
    size,
    depth: DEPTH,
    open: (job) => ContainerGuest.start(docker, image, Math.max(256, job.limits.memoryMb)),
  });
  return {
    info: {
      kind: 'docker',
      description: `docker ${version} · fork server, a uid per program · ${size} ${size === 1 ? 'container' : 'containers'}`,
      boundary: true,
    },
    run: (jobs, options) => pool.run(jobs, options),
    runTests: runTestJobs,
    close: () => pool.close(),
  };
}
