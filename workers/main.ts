// A worker process that is configured by the environment. An image or a service manager runs it.

import { GauntletError } from '../core/errors.js';
import { WORKER_ROLES, type WorkerRole } from '../core/queues.js';
import { temporalTarget } from '../infra/temporalTarget.js';
import { DEVICES } from '../ml/engine/engine.js';
import { createLogger } from './logger.js';
import { type StartOptions, startWorkers } from './start.js';
import { closeTracing } from './telemetry.js';

/** Reads the server as in infra/temporalTarget.ts (default: 127.0.0.1:7233), GAUNTLET_STORE, GAUNTLET_ROLES, GAUNTLET_SANDBOX, GAUNTLET_DEVICE, GAUNTLET_THREADS and GAUNTLET_BUILD_ID. */
export function optionsFrom(env: NodeJS.ProcessEnv): StartOptions {
  const target = temporalTarget(env);
  const options: StartOptions = {
    connection: target?.connection ?? { address: '127.0.0.1:7233' },
    namespace: target?.namespace ?? (env.TEMPORAL_NAMESPACE || 'default'),
    store: env.GAUNTLET_STORE ?? '.gauntlet',
    roles: rolesFrom(env.GAUNTLET_ROLES),
  };
  const kind = env.GAUNTLET_SANDBOX;
  if (kind !== undefined) {
    if (kind !== 'auto' && kind !== 'docker' && kind !== 'wasm') {
      throw new GauntletError('BAD_CONFIG', `GAUNTLET_SANDBOX=${kind}: expected one of auto, docker, wasm`);
    }
    options.sandbox = kind;
  }
  if (env.GAUNTLET_DEVICE !== undefined) {
    const device = DEVICES.find((known) => known === env.GAUNTLET_DEVICE);
    if (!device)
      throw new GauntletError(
        'BAD_CONFIG',
        `GAUNTLET_DEVICE=${env.GAUNTLET_DEVICE}: expected one of ${DEVICES.join(', ')}`,
      );
    options.device = device;
  }
  if (env.GAUNTLET_THREADS !== undefined) {
    const threads = Number(env.GAUNTLET_THREADS);
    if (!Number.isInteger(threads) || threads < 1) {
      throw new GauntletError(
        'BAD_CONFIG',
        `GAUNTLET_THREADS=${env.GAUNTLET_THREADS}: expected a whole number of at least 1`,
      );
    }
    options.threads = threads;
  }
  if (env.GAUNTLET_BUILD_ID) options.buildId = env.GAUNTLET_BUILD_ID;
  return options;
}

function rolesFrom(text = 'all'): WorkerRole[] {
  if (text === 'all') return [...WORKER_ROLES];
  return text.split(',').map((part) => {
    const role = WORKER_ROLES.find((known) => known === part.trim());
    if (!role)
      throw new GauntletError(
        'BAD_CONFIG',
        `GAUNTLET_ROLES=${text}: expected a list of ${WORKER_ROLES.join(', ')}, or all`,
      );
    return role;
  });
}

async function main(): Promise<void> {
  const options = optionsFrom(process.env);
  const log = createLogger(process.env.GAUNTLET_LOG ?? 'info');
  const workers = await startWorkers({ ...options, log });
  log.info({ roles: options.roles, address: options.connection.address }, 'serving');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void workers.shutdown());
  await workers.run;
  await closeTracing();
}

if (process.argv[1] && import.meta.url === new URL(`file://${process.argv[1]}`).href) {
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof GauntletError ? error.message : (error as Error).stack}\n`);
    process.exitCode = 1;
  });
}
