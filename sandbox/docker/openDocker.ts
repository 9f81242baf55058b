// The Docker backend: a pool of containers for programs, and another one, with another image, for test source.
import os from 'node:os';
import { GauntletError } from '../../core/base/errors.js';
import { type Isolation, limitsSchema, type Packages } from '../../core/schema/execution.js';
import { GuestPool } from '../pool.js';
import type { Sandbox } from '../sandbox.js';
import { TestPool } from '../testSource/testPool.js';
import { ContainerGuest } from './container.js';
import { connectDocker, describeBoundary, requireDaemon } from './daemon.js';
import { Fleet } from './fleet.js';
import { ensureImage, ensureOwnImage, testImage } from './image.js';
import type { ContainerSpec } from './options.js';
import { reapContainers } from './reaper.js';

export interface DockerOptions {
  size?: number | undefined; // how many containers work at the same time; default: one per core
  isolation?: Isolation | undefined;
  packages?: Packages | undefined; // the packages that programs may import
  image?: string | null | undefined; // the user's own image, instead of the one with these packages
  runtime?: string | null | undefined; // default: the default runtime of the daemon
  log?: ((line: string) => void) | undefined;
}

const DEPTH = 2; // how many jobs a container has at the same time
/** Modules that pytest imports when it runs. pid 1 imports them once, so that not every process must. */
const PYTEST_PARTS = ['_pytest.helpconfig', '_pytest.skipping', '_pytest.unittest', '_pytest.warnings'];
const PATIENCE_MS = 60_000; // how long to wait for a daemon that went away; then Temporal retries the activity

/** Opens the backend. Removes the containers of dead workers and makes the image if it is missing. */
export async function openDocker(options: DockerOptions = {}): Promise<Sandbox> {
  const { size = os.availableParallelism(), isolation = 'uid', packages = 'none', runtime = null } = options;
  const { log = () => {}, image: ownImage = null } = options;
  const daemon = await connectDocker();
  const { docker, version, remapped } = daemon;
  const seccomp = daemon.security.includes('seccomp');
  requireDaemon(daemon, runtime);
  if (!seccomp) log('sandbox: this Docker daemon has no seccomp, so programs may use every system call of the kernel');
  const left = await reapContainers(docker);
  if (left > 0) log(`sandbox: removed ${left} containers of dead workers`);

  const fleet = new Fleet(docker);
  await fleet.open();
  const start = (spec: Omit<ContainerSpec, 'isolation'>): Promise<ContainerGuest> =>
    ContainerGuest.start(fleet, { isolation, runtime, seccomp, remapped, ...spec });
  const preload = packages === 'numpy' ? ['numpy'] : [];
  let image = '';
  const built = { isolation, runtime: runtime ?? daemon.runtime, tests: '' };
  const pool = new GuestPool({
    size,
    depth: isolation === 'strict' ? 1 : DEPTH,
    takeTurns: true,
    spares: isolation === 'strict' ? size : 0,
    patienceMs: PATIENCE_MS,
    open: ({ limits }) => start({ image, memoryMb: Math.max(256, limits.memoryMb), preload, guest: 'values' }),
  });
  try {
    if (ownImage === null) image = await ensureImage(docker, packages, log);
    else {
      image = await ensureOwnImage(docker, ownImage, log);
      await tryImage(ownImage, () => start({ image, memoryMb: 256 }));
    }
    built.tests = await testImage(docker);
    await checkIsolation(pool, built.runtime, isolation);
  } catch (error) {
    await pool.close();
    await fleet.close();
    throw error;
  }

  const tests = new TestPool({
    size,
    patienceMs: PATIENCE_MS,
    guests: {
      program: ({ memoryMb }) => start({ image, memoryMb: Math.max(256, memoryMb), preload }),
      tests: async ({ memoryMb }) =>
        start({
          image: await ensureImage(docker, 'numpy', log),
          memoryMb,
          preload: ['pytest', ...PYTEST_PARTS, 'numpy'],
          guest: 'tests',
        }),
    },
  });

  const what = isolation === 'uid' ? 'fork server, a uid per program' : 'strict, a container per program';
  const details = [
    `docker ${version}`,
    what,
    ...(packages === 'none' ? [] : [packages]),
    ...(runtime ? [runtime] : []),
    ...describeBoundary(daemon),
    `${size} ${size === 1 ? 'container' : 'containers'}`,
  ];
  return {
    info: {
      kind: 'docker',
      description: details.join(' · '),
      boundary: seccomp,
      // the digest of a user's image is a fact: it is the same on every machine, unless the image has other content
      ...(ownImage === null ? { details: { image, ...built } } : { facts: { image }, details: built }),
    },
    run: (jobs, options) => pool.run(jobs, options),
    runTests: (jobs, options) => tests.run(jobs, options),
    close: async () => {
      await Promise.all([pool.close(), tests.close()]);
      await fleet.close();
    },
  };
}

const PROBE = `
import os
def probe():
  for name in ('mem', 'fd/0', 'fd/1'):
    for mode in (os.O_RDONLY, os.O_WRONLY):
      try:
        os.close(os.open('/proc/1/' + name, mode | os.O_NONBLOCK))
        return name
      except OSError:
        pass
  return ''
`;

/**
 * Runs a program that tries to open the memory and the streams of pid 1. With some runtimes only the uid protects pid 1,
 * because they ignore that it is not dumpable. @throws GauntletError SANDBOX_UNAVAILABLE
 */
async function checkIsolation(pool: GuestPool, runtime: string, isolation: Isolation): Promise<void> {
  const limits = limitsSchema.parse({ wallSeconds: 60 });
  const [result] = await pool.run([{ id: 'probe', code: PROBE, entry: 'probe', inputs: [[]], limits }]);
  const [call] = result!.calls;
  if (call?.kind !== 'value') throw new GauntletError('SANDBOX_FAULT', `a trial program gave no value: ${call?.kind}`);
  if (call.value === '') return;
  throw new GauntletError(
    'SANDBOX_UNAVAILABLE',
    `runtime '${runtime}' does not isolate programs: with isolation '${isolation}' a program opens ${call.value} of pid 1, where it could forge answers; use isolation 'uid' or another runtime`,
  );
}

/** Starts one container, because the user's image may lack Python. @throws GauntletError SANDBOX_UNAVAILABLE */
async function tryImage(image: string, start: () => Promise<ContainerGuest>): Promise<void> {
  try {
    await (await start()).close();
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    throw new GauntletError(
      'SANDBOX_UNAVAILABLE',
      `containers.image: ${image} cannot run programs (${reason}): it needs Python 3.11 or later as python3`,
      { cause: error },
    );
  }
}
