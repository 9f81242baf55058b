// Chooses the sandbox of a worker. The only place that knows both backends.
import { setTimeout as sleep } from 'node:timers/promises';
import { GauntletError } from '../core/errors.js';
import type { Isolation, Language, Packages } from '../core/schema/execution.js';
import { openDocker } from '../sandbox/docker/openDocker.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { openWasm } from '../sandbox/wasm/openWasm.js';

export interface OpenSandboxOptions {
  log?: ((line: string) => void) | undefined;
  size?: number | null | undefined; // guests; default: one a core
  /** Of Docker alone; WebAssembly is refused where they are asked for. */
  isolation?: Isolation | undefined;
  packages?: Packages | undefined;
  language?: Language | undefined;
  runtime?: string | null | undefined;
  /** Of a worker with runs under way: how long a daemon is waited for that is there and silent, as one that was killed. */
  patienceMs?: number | undefined;
}

const AGAIN_MS = 500;
const SILENT = ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT'];

/** `auto` takes Docker where a daemon answers, else WebAssembly, and says which. @throws SANDBOX_UNAVAILABLE, SANDBOX_FAULT */
export async function openSandbox(
  kind: 'auto' | 'docker' | 'wasm',
  options: OpenSandboxOptions = {},
): Promise<Sandbox> {
  const { log = () => {} } = options;
  const sandbox = await choose(kind, options, log);
  log(`sandbox: ${sandbox.info.description}`);
  return sandbox;
}

async function choose(
  kind: 'auto' | 'docker' | 'wasm',
  { size, patienceMs = 0, ...options }: OpenSandboxOptions,
  log: (line: string) => void,
): Promise<Sandbox> {
  const count = size === null || size === undefined ? {} : { size };
  const wish = needsDocker(options);
  if (kind === 'wasm') {
    if (wish) throw new GauntletError('SANDBOX_UNAVAILABLE', `${wish} is not there in WebAssembly: take docker`);
    return openWasm({ ...count, log });
  }
  try {
    return await patiently(patienceMs, () => openDocker({ ...options, ...count, log }), log);
  } catch (error) {
    const absent = error instanceof GauntletError && error.code === 'SANDBOX_UNAVAILABLE';
    if (kind === 'docker' || wish || !absent) throw patienceMs > 0 && isSilent(error) ? retryable(error) : error;
    log(`sandbox: ${error.message}; taking WebAssembly`);
    return openWasm({ ...count, log });
  }
}

/** Opens again for so long as a daemon is there and silent. */
async function patiently<T>(ms: number, open: () => Promise<T>, log: (line: string) => void): Promise<T> {
  const until = performance.now() + ms;
  for (let attempt = 1; ; attempt++) {
    try {
      return await open();
    } catch (error) {
      if (!isSilent(error) || performance.now() >= until) throw error;
      if (attempt === 1) log(`sandbox: ${error.message}; waiting up to ${ms / 1000} s for it`);
      await sleep(AGAIN_MS);
    }
  }
}

/** Whether somebody had opened the daemon's socket, unlike on a machine without Docker. */
function isSilent(error: unknown): error is GauntletError {
  if (!(error instanceof GauntletError) || error.code !== 'SANDBOX_UNAVAILABLE') return false;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return code !== undefined && SILENT.includes(code);
}

/** The run asks for Docker alone: the daemon may come back. */
const retryable = (error: GauntletError): GauntletError =>
  new GauntletError('SANDBOX_FAULT', error.message, { cause: error });

/** The option, in words, that only Docker can meet. */
function needsDocker({ isolation, packages, language, runtime }: OpenSandboxOptions): string | undefined {
  if (isolation === 'strict') return "isolation 'strict'";
  if (language === 'javascript') return 'JavaScript';
  if (packages === 'numpy') return "packages 'numpy'";
  return runtime ? `runtime '${runtime}'` : undefined;
}
