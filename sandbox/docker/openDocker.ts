// The backend for real use: containers of a pool, one image for programs, one for test source and type checks.
import os from 'node:os';
import { GauntletError } from '../../core/errors.js';
import type { Isolation, Language, Packages } from '../../core/schema/execution.js';
import { GuestPool } from '../pool.js';
import type { Sandbox } from '../sandbox.js';
import { TestPool } from '../testSource/testPool.js';
import { TypePool } from '../typeCheck/typePool.js';
import { ContainerGuest } from './container.js';
import { connectDocker, requireDaemon } from './daemon.js';
import { Fleet } from './fleet.js';
import { ensureImage, ensureNodeImage } from './image.js';
import { reapContainers } from './reaper.js';

export interface DockerOptions {
  size?: number | undefined; // containers at work; default: one a core
  isolation?: Isolation | undefined;
  packages?: Packages | undefined; // that programs may import
  language?: Language | undefined; // javascript: in strict isolation always
  runtime?: string | null | undefined; // of the daemon; default: its own
  log?: ((line: string) => void) | undefined;
}

const DEPTH = 2; // jobs ahead
/** What pytest imports only when it runs: in pid 1 it is imported once, not in every process of tests. */
const PYTEST_PARTS = ['_pytest.helpconfig', '_pytest.skipping', '_pytest.unittest', '_pytest.warnings'];
const PATIENCE_MS = 60_000; // with a daemon that went away; then the fault is Temporal's to retry

/** Opens the backend: removes what dead workers left, and makes the image where it is missing. */
export async function openDocker(options: DockerOptions = {}): Promise<Sandbox> {
  const { size = os.availableParallelism(), language = 'python', packages = 'none', runtime = null } = options;
  const isolation = language === 'javascript' ? 'strict' : (options.isolation ?? 'uid');
  const { log = () => {} } = options;
  const daemon = await connectDocker();
  const { docker, version, remapped } = daemon;
  requireDaemon(daemon, runtime);
  const left = await reapContainers(docker);
  if (left > 0) log(`sandbox: removed ${left} containers of workers that are gone`);

  const fleet = new Fleet(docker);
  await fleet.open();
  const pools = new Map<Packages, GuestPool>();
  const makePool = async (packages: Packages): Promise<GuestPool> => {
    const image =
      language === 'javascript' ? await ensureNodeImage(docker, log) : await ensureImage(docker, packages, log);
    const preload = packages === 'numpy' ? ['numpy'] : [];
    const known = pools.get(packages); // made by another caller meanwhile
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
          remapped,
          memoryMb,
          preload,
          plain: true,
        });
      },
    });
    pools.set(packages, pool);
    return pool;
  };
  let closed = false;
  /** The pool of an image, opened when it is first needed. Test source always runs in 'numpy'. */
  const poolOf = async (packages: Packages): Promise<GuestPool> => {
    if (closed) throw new GauntletError('SANDBOX_FAULT', 'the sandbox is closed');
    return pools.get(packages) ?? (await makePool(packages));
  };
  try {
    await poolOf(packages);
  } catch (error) {
    await fleet.close();
    throw error;
  }

  const start = async (spec: {
    packages: Packages;
    memoryMb: number;
    preload: string[];
    guest?: 'tester' | 'checker';
  }) => {
    const image = await ensureImage(docker, spec.packages, log);
    return ContainerGuest.start(fleet, { image, isolation, runtime, remapped, ...spec });
  };
  const tests = new TestPool({
    size,
    patienceMs: PATIENCE_MS,
    guests: {
      program: ({ memoryMb }) =>
        start({
          packages,
          memoryMb: Math.max(256, memoryMb),
          preload: packages === 'numpy' ? ['numpy'] : [],
        }),
      tests: ({ memoryMb }) =>
        start({ packages: 'numpy', memoryMb, preload: ['pytest', ...PYTEST_PARTS, 'numpy'], guest: 'tester' }),
    },
  });

  const types = new TypePool({
    size,
    spares: isolation === 'strict' ? size : 0,
    patienceMs: PATIENCE_MS,
    open: ({ memoryMb }) => start({ packages: 'numpy', memoryMb, preload: [], guest: 'checker' }),
  });

  const what = isolation === 'uid' ? 'fork server, a uid per program' : 'strict, a container per program';
  const details = [
    `docker ${version}`,
    ...(language === 'python' ? [] : [language]),
    what,
    ...(packages === 'none' ? [] : [packages]),
    ...(runtime ? [runtime] : []),
    `${size} ${size === 1 ? 'container' : 'containers'}`,
  ];
  return {
    info: { kind: 'docker', description: details.join(' · '), boundary: true },
    run: async (jobs, options) => (await poolOf(packages)).run(jobs, options),
    runTests: async (jobs, options) => {
      if (language !== 'python')
        throw new GauntletError('SANDBOX_UNAVAILABLE', `test source runs Python, not ${language}`);
      return tests.run(jobs, options);
    },
    checkTypes: async (jobs, options) => {
      if (language !== 'python')
        throw new GauntletError('SANDBOX_UNAVAILABLE', `a type check reads Python, not ${language}`);
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
