// A worker process over doubles, for tests that kill a worker: node modelWorkerProcess.js ADDRESS FOLDER ROLES [HANG_AT].
// It appends a line with its process id to FOLDER/calls for each call of the model. From generation HANG_AT on, calls
// hang until the process receives SIGUSR2. The process ends with status 1 if its workers end with an error.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkerRole } from '../../core/temporal/queues.js';
import { openStore } from '../../store/openStore.js';
import { createLogger } from '../../workers/logger.js';
import { startWorkers } from '../../workers/start.js';
import { FakeEngine, FakeSandbox, problemSet } from '../support/doubles.js';

const [address, folder, roles, hangAt] = process.argv.slice(2) as [string, string, string, string?];
let hangs = hangAt !== undefined;
process.on('SIGUSR2', () => {
  hangs = false;
});
const said = (what: string): void => appendFileSync(join(folder, 'calls'), `${process.pid} ${what}\n`);

class Watched extends FakeEngine {
  private generations = 0;
  override async generate(...given: Parameters<FakeEngine['generate']>) {
    said('generate');
    if (++this.generations >= Number(hangAt) && hangs) await new Promise(() => undefined);
    return super.generate(...given);
  }
  override async gradients(...given: Parameters<FakeEngine['gradients']>) {
    said('gradients');
    return super.gradients(...given);
  }
}

let engine: Watched | undefined;
const sandbox = new FakeSandbox();
const workers = await startWorkers({
  connection: { address },
  namespace: process.env.TEMPORAL_NAMESPACE ?? 'default',
  store: folder,
  roles: roles.split(',') as WorkerRole[],
  log: createLogger('error', join(folder, `log-${process.pid}`)),
  deps: async (searchAttributes) => ({
    deps: {
      store: await openStore(join(folder, 'store')),
      codeVersion: 'test',
      searchAttributes,
      engine: async () => {
        if (engine === undefined) said('open');
        engine ??= new Watched();
        return engine;
      },
      sandbox: async () => sandbox,
      loadProblems: async () => problemSet(),
    },
    close: async () => undefined,
  }),
});
process.stdout.write('serving\n');
workers.run.catch(() => process.exit(1));
