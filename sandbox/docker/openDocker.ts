// The Docker backend: pools of containers, one image for programs and one for test source and type checks.
import os from 'node:os';
import { GauntletError } from '../../core/errors.js';
import { type Isolation, type Language, limitsSchema, type Packages } from '../../core/schema/execution.js';
import { GuestPool } from '../pool.js';
import type { Sandbox } from '../sandbox.js';
import { TestPool } from '../testSource/testPool.js';
import { TypePool } from '../typeCheck/typePool.js';
import { ContainerGuest } from './container.js';
import { connectDocker, describeBoundary, requireDaemon } from './daemon.js';
import { Fleet } from './fleet.js';
import { ensureImage, ensureNodeImage, ensureOwnImage } from './image.js';
import type { ContainerSpec } from './options.js';
import { reapContainers } from './reaper.js';

export interface DockerOptions {
  size?: number | undefined; // containers at work; default: one per core
  isolation?: Isolation | undefined;
  packages?: Packages | undefined; // that programs may import
  image?: string | null | undefined; // for programs, instead of the one with these packages
  language?: Language | undefined; // javascript always runs in strict isolation
  runtime?: string | null | undefined; // default: the daemon's own
  log?: ((line: string) => void) | undefined;
}

const DEPTH = 2; // jobs per container
/** Modules that pytest imports when it runs. pid 1 imports them once instead of every process of tests. */
const PYTEST_PARTS = ['_pytest.helpconfig', '_pytest.skipping', '_pytest.unittest', '_pytest.warnings'];
const PATIENCE_MS = 60_000; // with a daemon that went away; then Temporal retries the activity

/** Opens the backend. Removes the containers of dead workers and makes the image if it is missing. */
export async function openDocker(options: DockerOptions = {}): Promise<Sandbox> {
  const { size = os.availableParallelism(), language = 'python', packages = 'none', runtime = null } = options;
  const isolation = language === 'javascript' ? 'strict' : (options.isolation ?? 'uid');
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
  const pools = new Map<Packages, GuestPool>();
  let image = '';
  const programImage = (packages: Packages): Promise<string> =>
    ownImage === null ? ensureImage(docker, packages, log) : ensureOwnImage(docker, ownImage, log);
  const makePool = async (packages: Packages): Promise<GuestPool> => {
    image = language === 'javascript' ? await ensureNodeImage(docker, log) : await programImage(packages);
    const preload = packages === 'numpy' ? ['numpy'] : [];
    const known = pools.get(packages); // another caller may have made it meanwhile
    if (known) return known;
    const pool = new GuestPool({
      size,
      depth: isolation === 'strict' ? 1 : DEPTH,
      takeTurns: true,
      spares: isolation === 'strict' ? size : 0,
      patienceMs: PATIENCE_MS,
      open: (job) => {
        const memoryMb = Math.max(256, job.limits.memoryMb);
        return ContainerGuest.start(fleet, {
          image,
          language,
          isolation,
          runtime,
          seccomp,
          remapped,
          memoryMb,
          preload,
          valuesOnly: true,
        });
      },
    });
    pools.set(packages, pool);
    return pool;
  };
  let closed = false;
  /** The pool of an image, opened when first needed. */
  const poolOf = async (packages: Packages): Promise<GuestPool> => {
    if (closed) throw new GauntletError('SANDBOX_FAULT', 'the sandbox is closed');
    return pools.get(packages) ?? (await makePool(packages));
  };
  type Spec = Pick<ContainerSpec, 'memoryMb' | 'preload' | 'guest'>;
  const start = async (image: Promise<string>, spec: Spec): Promise<ContainerGuest> =>
    ContainerGuest.start(fleet, { image: await image, isolation, runtime, seccomp, remapped, ...spec });
  try {
    const pool = await poolOf(packages);
    if (ownImage !== null) await tryImage(ownImage, () => start(programImage(packages), { memoryMb: 256 }));
    if (language === 'python') await checkIsolation(pool, runtime ?? daemon.runtime, isolation);
  } catch (error) {
    await Promise.all([...pools.values()].map((pool) => pool.close()));
    await fleet.close();
    throw error;
  }

  const tests = new TestPool({
    size,
    patienceMs: PATIENCE_MS,
    guests: {
      program: ({ memoryMb }) =>
        start(programImage(packages), {
          memoryMb: Math.max(256, memoryMb),
          preload: packages === 'numpy' ? ['numpy'] : [],
        }),
      tests: ({ memoryMb }) =>
        start(ensureImage(docker, 'numpy', log), {
          memoryMb,
          preload: ['pytest', ...PYTEST_PARTS, 'numpy'],
          guest: 'tester',
        }),
    },
  });

  const types = new TypePool({
    size,
    spares: isolation === 'strict' ? size : 0,
    patienceMs: PATIENCE_MS,
    open: ({ memoryMb }) => start(ensureImage(docker, 'numpy', log), { memoryMb, guest: 'checker' }),
  });

  const what = isolation === 'uid' ? 'fork server, a uid per program' : 'strict, a container per program';
  const details = [
    `docker ${version}`,
    ...(language === 'python' ? [] : [language]),
    what,
    ...(packages === 'none' ? [] : [packages]),
    ...(runtime ? [runtime] : []),
    ...describeBoundary(daemon),
    `${size} ${size === 1 ? 'container' : 'containers'}`,
  ];
  return {
    info: { kind: 'docker', description: details.join(' · '), image, boundary: seccomp },
    run: async (jobs, options) => (await poolOf(packages)).run(jobs, options),
    runTests: async (jobs, options) => {
      if (language !== 'python')
        throw new GauntletError('SANDBOX_UNAVAILABLE', `test source needs Python programs, not ${language}`);
      return tests.run(jobs, options);
    },
    checkTypes: async (jobs, options) => {
      if (language !== 'python')
        throw new GauntletError('SANDBOX_UNAVAILABLE', `type checks need Python programs, not ${language}`);
      await ensureImage(docker, 'numpy', log);
      return types.run(jobs, options);
    },
    close: async () => {
      closed = true;
      await Promise.all([...pools.values(), tests, types].map((pool) => pool.close()));
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
 * Runs a program that tries to open the memory and the streams of pid 1. Some runtimes ignore that pid 1 is not dumpable,
 * so only its uid protects it. @throws GauntletError SANDBOX_UNAVAILABLE
 */
async function checkIsolation(pool: GuestPool, runtime: string, isolation: Isolation): Promise<void> {
  const limits = limitsSchema.parse({ wallSeconds: 60 });
  const [result] = await pool.run([{ id: 'probe', code: PROBE, entry: 'probe', inputs: [[]], limits }]);
  const [call] = result!.calls;
  if (call?.kind !== 'value') throw new GauntletError('SANDBOX_FAULT', `a first program ended with ${call?.kind}`);
  if (call.value === '') return;
  throw new GauntletError(
    'SANDBOX_UNAVAILABLE',
    `runtime '${runtime}' does not isolate programs: with isolation '${isolation}' a program opens ${call.value} of pid 1, where it could forge answers; use isolation 'uid' or another runtime`,
  );
}

/** Starts one container, since an image of the user's may lack Python. @throws GauntletError SANDBOX_UNAVAILABLE */
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
