// Chooses the sandbox of a worker. Only this file imports both backends.
import { setTimeout as sleep } from 'node:timers/promises';
import { GauntletError } from '../../core/base/errors.js';
import { SANDBOXES, type SandboxKind } from '../../core/schema/config.js';
import type { Isolation, Packages } from '../../core/schema/execution.js';
import { connectDocker, requireDaemon } from '../../sandbox/docker/daemon.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';

export interface OpenSandboxOptions {
  log?: ((line: string) => void) | undefined;
  size?: number | undefined; // how many programs run at the same time; default: GAUNTLET_CONTAINERS, or else one per core
  /** Whether `auto` may use WebAssembly, which is no security boundary. Default: true. */
  fallback?: boolean | undefined;
  /** The next four options need Docker. */
  isolation?: Isolation | undefined;
  packages?: Packages | undefined;
  image?: string | null | undefined;
  runtime?: string | null | undefined;
  /** How long to wait for a Docker daemon that exists but does not answer, e.g. because it was killed. Default: 0. */
  daemonTimeoutMs?: number | undefined;
}

const RETRY_MS = 500;
const NO_FALLBACK = 'these programs need a security boundary: start Docker, or choose --sandbox wasm if you trust them';
const NO_ANSWER = ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT'];

/**
 * `auto` uses Docker if a daemon answers, otherwise WebAssembly if `fallback` allows it. The log says which one is used.
 * @throws GauntletError BAD_INPUT | SANDBOX_UNAVAILABLE | SANDBOX_FAULT
 */
export async function openSandbox(kind: SandboxKind, options: OpenSandboxOptions = {}): Promise<Sandbox> {
  const { log = () => {} } = options;
  if (!SANDBOXES.includes(kind)) throw new GauntletError('BAD_INPUT', `sandbox: choose ${SANDBOXES.join(', ')}`);
  const sandbox = await choose(kind, options, log);
  log(`sandbox: ${sandbox.info.description}`);
  return sandbox;
}

/**
 * Refuses before a run starts what workers of this machine would refuse later. A Docker daemon that does not answer is not
 * missed, because it may start later.
 * @throws GauntletError SANDBOX_UNAVAILABLE
 */
export async function checkSandbox(kind: SandboxKind, options: OpenSandboxOptions): Promise<void> {
  if (kind === 'wasm') return refuseDockerFeatures(options);
  const daemon = options.runtime ? await connectDocker().catch(() => undefined) : undefined;
  if (daemon) requireDaemon(daemon, options.runtime!);
}

async function choose(
  kind: SandboxKind,
  { size = sizeSet(), daemonTimeoutMs = 0, fallback = true, ...options }: OpenSandboxOptions,
  log: (line: string) => void,
): Promise<Sandbox> {
  const count = size === undefined ? {} : { size };
  if (kind === 'wasm') {
    refuseDockerFeatures(options);
    return openWasm({ ...count, log });
  }
  try {
    return await withRetry(daemonTimeoutMs, () => openDocker({ ...options, ...count, log }), log);
  } catch (error) {
    const absent = error instanceof GauntletError && error.code === 'SANDBOX_UNAVAILABLE';
    const replaceable = kind === 'auto' && absent && !dockerFeature(options);
    if (!replaceable || !fallback) {
      const shown = replaceable ? new GauntletError(error.code, `${error.message}; ${NO_FALLBACK}`) : error;
      if (daemonTimeoutMs === 0 || !isUnanswered(error)) throw shown;
      throw new GauntletError('SANDBOX_FAULT', (shown as GauntletError).message, { cause: shown }); // the daemon may come back
    }
    log(`sandbox: ${error.message}; using WebAssembly`);
    return openWasm({ ...count, log });
  }
}

/** @throws GauntletError BAD_CONFIG */
function sizeSet(): number | undefined {
  const set = process.env.GAUNTLET_CONTAINERS;
  if (!set) return undefined;
  const size = Number(set);
  if (Number.isInteger(size) && size > 0) return size;
  throw new GauntletError('BAD_CONFIG', `GAUNTLET_CONTAINERS must be a positive whole number, is ${set}`);
}

/** Tries again while the daemon does not answer. */
async function withRetry<T>(ms: number, open: () => Promise<T>, log: (line: string) => void): Promise<T> {
  const until = performance.now() + ms;
  for (let attempt = 1; ; attempt++) {
    try {
      return await open();
    } catch (error) {
      if (!isUnanswered(error) || performance.now() >= until) throw error;
      if (attempt === 1) log(`sandbox: ${error.message}; start Docker, waiting up to ${ms / 1000} s`);
      await sleep(RETRY_MS);
    }
  }
}

/** True if the daemon's socket exists but nobody answers. On a machine without Docker there is no socket. */
function isUnanswered(error: unknown): error is GauntletError {
  if (!(error instanceof GauntletError) || error.code !== 'SANDBOX_UNAVAILABLE') return false;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return code !== undefined && NO_ANSWER.includes(code);
}

function refuseDockerFeatures(options: OpenSandboxOptions): void {
  const feature = dockerFeature(options);
  if (feature) throw new GauntletError('SANDBOX_UNAVAILABLE', `${feature} requires --sandbox docker`);
}

/** The requested feature that only Docker has; undefined if there is none. */
function dockerFeature({ isolation, packages, image, runtime }: OpenSandboxOptions): string | undefined {
  if (isolation === 'strict') return "isolation 'strict'";
  if (packages === 'numpy') return "packages 'numpy'";
  if (image) return `image '${image}'`;
  return runtime ? `runtime '${runtime}'` : undefined;
}
