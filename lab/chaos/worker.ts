// A worker process for one role of a chaos run: the usual worker with instrumented dependencies. Reports to its parent and
// dies on command. Arguments: role, sandbox. GAUNTLET_CHAOS_FAULTS is the share of failing writes; GAUNTLET_CHAOS_SEED the seed.

import type { RunConfig } from '../../core/schema/config.js';
import type { WorkerRole } from '../../core/temporal/queues.js';
import { temporalTarget } from '../../infra/temporalTarget.js';
import { openDeps } from '../../workers/deps/deps.js';
import { createLogger } from '../../workers/logger.js';
import { startWorkers } from '../../workers/start.js';
import { instrumented, type Notice } from './instrument.js';
import type { DeathAtWrite } from './plan.js';

const { env } = process;
let death: DeathAtWrite | undefined;
process.on('message', (sentence: DeathAtWrite) => {
  death = sentence;
});
const orphaned = (): void => process.exit(1);
process.once('disconnect', orphaned); // the parent has ended

const [role, sandbox] = process.argv.slice(2) as [WorkerRole, RunConfig['sandbox']];
const { connection, namespace } = temporalTarget(env)!;
const options = { connection, namespace, store: env.GAUNTLET_STORE!, roles: [role], sandbox };
const log = createLogger(env.GAUNTLET_LOG ?? 'error');
const workers = await startWorkers({
  ...options,
  log,
  deps: async (searchAttributes) => {
    const opened = await openDeps({ ...options, searchAttributes, log });
    const tell = (notice: Notice): void => void (process.connected && process.send!(notice, () => undefined));
    const deps = instrumented(opened.deps, tell, {
      share: Number(env.GAUNTLET_CHAOS_FAULTS ?? 0),
      seed: `${env.GAUNTLET_CHAOS_SEED}:${process.pid}`,
      death: () => death,
      die: () => process.kill(process.pid, 'SIGKILL'),
    });
    return { ...opened, deps };
  },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void workers.shutdown());
await workers.run;
process.off('disconnect', orphaned);
process.disconnect(); // the open channel would keep this process alive
