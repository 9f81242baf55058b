// Chooses the sandbox of a worker. The only place that knows both backends.
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
}

/** `auto` takes Docker where a daemon answers, else WebAssembly, and says which. @throws SANDBOX_UNAVAILABLE */
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
  { size, ...options }: OpenSandboxOptions,
  log: (line: string) => void,
): Promise<Sandbox> {
  const count = size === null || size === undefined ? {} : { size };
  const wish = needsDocker(options);
  if (kind === 'wasm') {
    if (wish) throw new GauntletError('SANDBOX_UNAVAILABLE', `${wish} is not there in WebAssembly: take docker`);
    return openWasm({ ...count, log });
  }
  try {
    return await openDocker({ ...options, ...count, log });
  } catch (error) {
    const absent = error instanceof GauntletError && error.code === 'SANDBOX_UNAVAILABLE';
    if (kind === 'docker' || wish || !absent) throw error;
    log(`sandbox: ${error.message}; taking WebAssembly`);
    return openWasm({ ...count, log });
  }
}

/** The option, in words, that only Docker can meet. */
function needsDocker({ isolation, packages, language, runtime }: OpenSandboxOptions): string | undefined {
  if (isolation === 'strict') return "isolation 'strict'";
  if (language === 'javascript') return 'JavaScript';
  if (packages === 'numpy') return "packages 'numpy'";
  return runtime ? `runtime '${runtime}'` : undefined;
}
