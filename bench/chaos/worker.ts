// A worker process of one role for the chaos run: the one that users start, over a store whose writes fail at random.
// GAUNTLET_CHAOS_FAULTS is the share of writes that fail, GAUNTLET_CHAOS_SEED their seed.
import { GauntletError } from '../../core/errors.js';
import { RandomStream } from '../../core/random.js';
import type { Store } from '../../store/store.js';
import { openDeps } from '../../workers/deps.js';
import { createLogger } from '../../workers/logger.js';
import { optionsFrom } from '../../workers/main.js';
import { startWorkers } from '../../workers/start.js';

const WRITES = ['putBlob', 'putJson', 'putMemo', 'writeRunFile', 'createRunFile'] as const;

/** Before the write or after it: a caller cannot tell, and must not need to. */
export function failing(store: Store, share: number, seed: string): Store {
  const random = new RandomStream('chaos', seed);
  const broken = Object.create(store) as Store;
  for (const name of WRITES) {
    const write = store[name].bind(store) as (...given: unknown[]) => Promise<unknown>;
    (broken as unknown as Record<string, unknown>)[name] = async (...given: unknown[]) => {
      const fault = new GauntletError('STORE_FAULT', `chaos: ${name} failed`);
      const draw = random.uniform();
      if (draw < share / 2) throw fault;
      const result = await write(...given);
      if (draw < share) throw fault;
      return result;
    };
  }
  return broken;
}

async function main(): Promise<void> {
  const { env } = process;
  const options = optionsFrom(env);
  const log = createLogger(env.GAUNTLET_LOG ?? 'error');
  const workers = await startWorkers({
    ...options,
    log,
    deps: async (searchAttributes) => {
      const opened = await openDeps({ ...options, searchAttributes, log });
      const seed = `${env.GAUNTLET_CHAOS_SEED}:${process.pid}`;
      const store = failing(opened.deps.store, Number(env.GAUNTLET_CHAOS_FAULTS ?? 0), seed);
      return { ...opened, deps: { ...opened.deps, store } };
    },
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void workers.shutdown());
  await workers.run;
}

if (process.argv[1] && import.meta.url === new URL(`file://${process.argv[1]}`).href) await main();
