// Workers over doubles that serve metrics. They run in their own process, because a process installs Temporal's runtime once.
// Arguments: the server, its namespace, the address of the metrics, and the hook of --on-waiting: with it, the store is a folder,
// which the first line names, and lines like those of `gauntlet up` follow. The first call of the sandbox ends with a fault.
// The adapter of a run with a learning rate of 0.5 is damaged.
import { tellNeed } from '../../cli/run/onWaiting.js';
import { GauntletError } from '../../core/base/errors.js';
import { workersOver } from '../workflows/server.js';
import { doubles, memoryDoubles } from './doubles.js';

const [address = '', namespace = '', metrics = '', hook] = process.argv.slice(2);
const world = hook === undefined ? await memoryDoubles() : await doubles();
const note = (line: string): void => void process.stdout.write(`${line}\n`);
const run = world.sandbox.run.bind(world.sandbox);
world.sandbox.run = async () => {
  world.sandbox.run = run;
  throw new GauntletError('SANDBOX_FAULT', 'the daemon did not answer');
};
const { applyUpdate } = world.engine;
world.engine.applyUpdate = async (...args) => {
  if (args[3].learningRate === 0.5) throw new GauntletError('BAD_ADAPTER', 'the adapter is damaged');
  return applyUpdate.apply(world.engine, args);
};
const server = { address, connection: { address }, namespace, uiUrl: null, owned: false, close: async () => undefined };
const workers = await workersOver(server, world, { metrics, ...(hook && { onAttention: tellNeed({ note }, hook) }) });
process.once('SIGTERM', () => void workers.shutdown());
note(world.folder);
await workers.run;
