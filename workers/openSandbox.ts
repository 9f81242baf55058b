// Chooses the sandbox of a worker. The only place that knows both backends.
import { GauntletError } from '../core/errors.js';
import { openDocker } from '../sandbox/docker/openDocker.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { openWasm } from '../sandbox/wasm/openWasm.js';

export interface OpenSandboxOptions {
  log?: (line: string) => void;
  size?: number; // guests; default: one a core
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

async function choose(kind: 'auto' | 'docker' | 'wasm', options: OpenSandboxOptions, log: (line: string) => void) {
  if (kind === 'wasm') return openWasm(options);
  try {
    return await openDocker(options);
  } catch (error) {
    if (kind === 'docker' || !(error instanceof GauntletError) || error.code !== 'SANDBOX_UNAVAILABLE') throw error;
    log(`sandbox: ${error.message}; taking WebAssembly`);
    return openWasm(options);
  }
}
