// Makes one cluster run: the run on one machine, then the same run on four hosts with faults at seeded moments. Compares
// everything that both wrote.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunConfigInput } from '../../core/schema/config.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { ROOT } from '../../infra/root.mjs';
import { kindOfRow } from '../../store/memo.js';
import { openStore } from '../../store/openStore.js';
import { readResult } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { spreadOf } from '../chaos/figures.js';
import { executionsOf, recovery, repeatedWork } from '../chaos/histories.js';
import { damageOf, differences, outcomeOf } from '../chaos/outcome.js';
import { RUN, Run, undisturbed } from '../chaos/run.js';
import type { ClusterFigures } from './figures.js';
import { Host, openNetwork, SERVICES } from './hosts.js';
import { type Fault, planFaults } from './plan.js';
import { type Services, startServices } from './services.js';

/** Host name → roles of its worker. */
const HOSTS = {
  orchestrator: 'orchestrator,cpu',
  gpu1: 'gpu',
  gpu2: 'gpu',
  sandbox: 'sandbox',
} as const;
const POLL_MS = 500;

export interface ClusterOptions {
  folder: string; // the folder for all files of this run
  machine: string; // the folder with the store of the run on one machine; existing results are reused
  seed: number; // the seed of the faults
  faults: number;
  storeFaults: number; // the share of requests to S3 that fail
  config: RunConfigInput;
  log(line: string): void;
}

export async function cluster(options: ClusterOptions): Promise<ClusterFigures> {
  const { folder, machine, seed, faults, config, log } = options;
  const single = await undisturbed(machine, { config, sandbox: 'wasm' });
  const { results } = single;
  log(`one machine: ${single.seconds.toFixed(0)} s, ${results} results`);

  await openNetwork();
  const services = await startServices(folder, SERVICES, options.storeFaults, log);
  const hosts = await startHosts(folder, services);
  log(`Temporal at ${services.temporal}, store ${services.store}, ${hosts.size} hosts`);
  const started = performance.now();
  const { client } = services;
  const store = await openStore(services.store);
  const args = [config];
  const plan = planFaults({ faults, seed, results, hosts: Object.keys(HOSTS) });
  await client.workflow.start('trainFullPipeline', { taskQueue: TASK_QUEUES.orchestrator, workflowId: RUN, args });
  const run = new Run(
    async () => client,
    () => sleep(POLL_MS).then(() => countResults(store)),
  );
  const struck: { kind: Fault['kind']; at: number }[] = [];
  const outages = new Map<string, Promise<void>>(); // host → its outage
  for (const fault of plan) {
    await run.until(fault.after);
    await Promise.race([run.ended, sleep(fault.delay)]);
    if (run.over) break;
    await outages.get(fault.host);
    const outage = await strike(hosts.get(fault.host)!, fault);
    outages.set(fault.host, outage());
    struck.push({ kind: fault.kind, at: Date.now() });
    log(`${struck.length}/${faults} ${fault.kind} ${fault.host} after ${fault.after} of ${results} results`);
  }
  await Promise.all(outages.values());
  await run.until(Number.POSITIVE_INFINITY);
  const endedAt = Date.now();
  const seconds = (performance.now() - started) / 1000;
  const executions = await executionsOf(client, RUN);
  const { attempts } = repeatedWork(executions);
  const [expected, actual] = [await outcomeOf(machine, RUN), await outcomeOf(services.store, RUN)];
  const { result } = await readResult(store, RUN);
  return {
    seed,
    asked: faults,
    faults: struck.map(({ kind }) => kind),
    compared: expected.size,
    differences: differences(expected, actual),
    damaged: await damageOf(services.store),
    adapters: result?.digests ?? { generator: 'none', discriminator: 'none' },
    activities: executions.length,
    attempts,
    recovery: spreadOf(struck.map(({ at }) => recovery(at, executions, endedAt))),
    seconds,
  };
}

async function startHosts(folder: string, { temporal, store }: Services): Promise<Map<string, Host>> {
  const gauntlet = [process.execPath, join(ROOT, 'bin', 'gauntlet.mjs')];
  const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env;
  const env = { TEMPORAL_ADDRESS: temporal, GAUNTLET_STORE: store, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
  const hosts = new Map<string, Host>();
  for (const [index, [name, roles]] of Object.entries(HOSTS).entries()) {
    const command = [...gauntlet, 'worker', '--role', roles, '--sandbox', 'wasm'];
    const host = new Host({ name, number: index + 2, folder: join(folder, name), command, env });
    await host.boot();
    hosts.set(name, host);
  }
  return hosts;
}

/** @returns a function that waits until the host is back. Other hosts may be struck meanwhile. */
async function strike(host: Host, { kind, outage }: Fault): Promise<() => Promise<void>> {
  if (kind === 'kill') {
    while (!host.killWorker()) await sleep(100); // the worker is being started
    return async () => undefined;
  }
  await (kind === 'cut' ? host.cut() : host.crash());
  return async () => {
    await sleep(outage);
    await (kind === 'cut' ? host.reconnect() : host.boot());
  };
}

const countResults = async (store: Store): Promise<number> =>
  (await store.memoKeys()).filter((key) => kindOfRow(key).kind === 'result').length;
