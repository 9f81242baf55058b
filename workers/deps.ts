// What activities run on, opened on first use and closed with the worker: store, engines by model, sandboxes by kind.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ActivityDeps } from '../activities/index.js';
import type { EngineConfig, RunConfig } from '../core/schema/config.js';
import { type Containers, containersSchema } from '../core/schema/execution.js';
import { packageRoot, tinyModelPath } from '../data/paths.js';
import { loadProblems } from '../data/problems.js';
import type { Device, Engine, EngineOptions } from '../ml/engine/engine.js';
import { openEngine } from '../ml/engine/ortEngine.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { openFileStore } from '../store/fileStore.js';
import type { Logger } from './logger.js';
import { openSandbox } from './openSandbox.js';
import { renderRunReport } from './report.js';

const PATIENCE_MS = 15_000; // with a Docker daemon that was killed: a service manager has it back by then

export interface DepsOptions {
  store: string;
  /** Goes before what a run's configuration asks for. */
  sandbox?: RunConfig['sandbox'];
  /** Of the engine; the same. */
  threads?: number;
  device?: Device;
  searchAttributes?: boolean;
  log?: Logger;
  say?: (line: string) => void;
}

export interface OpenDeps {
  deps: ActivityDeps;
  close(): Promise<void>;
}

export async function openDeps(options: DepsOptions): Promise<OpenDeps> {
  const { log } = options;
  const engines = once((key: string) => {
    const { path, ...opening } = JSON.parse(key) as EngineOptions & { path: string };
    return openEngine(path, opening);
  });
  const sandboxes = once((key: string) => {
    const { kind, containers } = JSON.parse(key) as { kind: RunConfig['sandbox']; containers: Containers };
    const say = options.say ?? ((line: string) => void log?.warn(line));
    return openSandbox(kind, { ...containers, log: say, patienceMs: PATIENCE_MS });
  });
  const { version } = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  const store = await openFileStore(options.store);
  return {
    deps: {
      store,
      engine: (model, config) => {
        const path = model === 'tiny' ? tinyModelPath() : model;
        return engines.open(JSON.stringify({ path, ...engineOptions(config, options) }));
      },
      sandbox: (config) => {
        const containers = containersSchema.parse(config.containers ?? {});
        return sandboxes.open(JSON.stringify({ kind: options.sandbox ?? config.sandbox, containers }));
      },
      loadProblems,
      codeVersion: version,
      renderReport: (runId) => renderRunReport(store, runId),
      searchAttributes: options.searchAttributes ?? false,
      ...(log ? { log } : {}),
    },
    close: async () => {
      await Promise.all([engines.close(), sandboxes.close()]);
    },
  };
}

/** How a run's base is opened here: the worker knows better which device and how many cores there are. */
export function engineOptions(config: EngineConfig, own: Pick<DepsOptions, 'threads' | 'device'>): EngineOptions {
  const { quantization, groupSize, checkpointing, kvCacheMegabytes, force } = config;
  const cores = own.threads ?? config.threads;
  return {
    device: own.device ?? config.device,
    ...(cores === null ? {} : { cores }),
    ...(quantization === 'none' ? {} : { quantization: { bits: BITS[quantization], groupSize } }),
    ...(checkpointing === null ? {} : { checkpointing }),
    ...(force ? { force } : {}),
    ...(kvCacheMegabytes === null ? {} : { kvCacheBytes: kvCacheMegabytes * 2 ** 20 }),
  };
}

const BITS = { int8: 8, int4: 4 } as const;

/** Opens each key once; one that failed to open is tried again by the next caller. */
function once<K extends string, T extends Engine | Sandbox>(open: (key: K) => Promise<T>) {
  const opened = new Map<K, Promise<T>>();
  return {
    open: (key: K): Promise<T> => {
      const known = opened.get(key);
      if (known) return known;
      const opening = open(key);
      opened.set(key, opening);
      opening.catch(() => opened.delete(key));
      return opening;
    },
    close: async (): Promise<void> => {
      const settled = await Promise.allSettled(opened.values());
      for (const result of settled) if (result.status === 'fulfilled') await result.value.close();
    },
  };
}
