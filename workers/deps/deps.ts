// The dependencies of activities: store, engines by model, sandboxes by kind. They open on first use. The two engines and
// the two sandboxes that were used last stay open.
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Deps } from '../../chains/scope.js';
import { GauntletError } from '../../core/base/errors.js';
import type { EngineConfig, RolloutsConfig, SandboxKind } from '../../core/schema/config.js';
import { type Containers, containersSchema } from '../../core/schema/execution.js';
import { modelFolder } from '../../data/modelFolder.js';
import { isFamily } from '../../data/paths.js';
import { codeVersion } from '../../infra/codeVersion.mjs';
import { ROOT } from '../../infra/root.mjs';
import { findGpu } from '../../ml/device/gpuMemory.js';
import { ortApi } from '../../ml/device/ortApi.js';
import { resolveDevice, runtimeVersion } from '../../ml/device/providers.js';
import { memoryBudget, sourceOf } from '../../ml/engine/budget.js';
import { describePlan } from '../../ml/engine/cardPlan.js';
import type { Device, Engine, EngineOptions } from '../../ml/engine/engine.js';
import { expectedMemory, expectedOnCard, openEngine } from '../../ml/engine/ortEngine.js';
import { ggufFolder } from '../../ml/gguf/folder.js';
import { GROUP_SIZE } from '../../ml/hf/packed.js';
import { inThread } from '../../ml/pool/inThread.js';
import { RolloutServer } from '../../ml/remote/rolloutServer.js';
import { sandboxEnvironment } from '../../sandbox/environment.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openStore } from '../../store/openStore.js';
import { currentProgress } from '../hangs.js';
import type { Logger } from '../logger.js';
import { loadInThread } from './loadProblems.js';
import { openSandbox } from './openSandbox.js';
import type { ReportAnswer, ReportTask } from './reportThread.js';
import { rolloutTarget } from './rolloutTarget.js';

/** The size of weights up to which every silent call (a run or a compilation of a graph) fits into the usual bound of hangs.ts. */
const CPU_BYTES = 100e6;
const DEVICE_BYTES = 1e9;

const DAEMON_RESTART_MS = 15_000; // time in which a service manager restarts a killed Docker daemon

export interface DepsOptions {
  store: string;
  /** The next three options override the configuration of runs. */
  sandbox?: SandboxKind;
  threads?: number;
  device?: Device;
  searchAttributes?: boolean;
  log?: Logger;
  say?: (line: string) => void;
}

export interface OpenDeps {
  deps: Deps;
  close(): Promise<void>;
}

export async function openDeps(options: DepsOptions): Promise<OpenDeps> {
  const { log } = options;
  const say = options.say ?? ((line: string) => void log?.warn(line));
  const engines = once(async (path: string, opening: EngineOptions) => {
    const provider = await resolveDevice(opening.device);
    say(provider === 'cpu' ? memoryLine(path, opening) : await cardLine(path, opening));
    return openEngine(path, opening);
  });
  const said = new Set<string>(); // an activity that is retried opens its sandbox again and again
  const sayOnce = (line: string): void => {
    if (!said.has(line)) say(line);
    said.add(line);
  };
  const sandboxes = once((kind: SandboxKind, containers: Containers, fallback: boolean) =>
    openSandbox(kind, { ...containers, fallback, log: sayOnce, daemonTimeoutMs: DAEMON_RESTART_MS }),
  );
  const folderOf = async (model: string): Promise<string> => {
    let noted = false;
    const progress = currentProgress();
    const found = await modelFolder(model, ({ total }) => {
      progress?.advance();
      if (!noted) log?.info({ model, bytes: total }, 'downloading a model');
      noted = true;
    });
    return ggufFolder(found);
  };
  const servers = new Map<string, RolloutServer>();
  const rolloutServer = (config: RolloutsConfig): RolloutServer => {
    const target = rolloutTarget(config, options.store, process.env);
    const name = JSON.stringify([target.endpoint, config]);
    const server = servers.get(name) ?? new RolloutServer({ ...config, ...target });
    if (!servers.has(name)) say(`training rollouts come from ${target.endpoint}: their samples cannot be reproduced`);
    servers.set(name, server);
    return server;
  };
  const store = await openStore(options.store);
  const version = codeVersion(ROOT);
  const sandboxOf = (config: Parameters<Deps['sandbox']>[0]): [SandboxKind, Containers, boolean] => {
    const containers = containersSchema.parse(config.containers ?? {});
    const kind = options.sandbox ?? config.sandbox;
    const fallback = config.model === undefined || isFamily(config.model); // shipped models write harmless programs
    return [kind, containers, kind === 'auto' && fallback];
  };
  const seen = new WeakMap<Sandbox, ReturnType<typeof sandboxEnvironment>>();
  const environmentOf = (sandbox: Sandbox) => {
    const known = seen.get(sandbox) ?? sandboxEnvironment(sandbox);
    seen.set(sandbox, known);
    known.catch(() => seen.delete(sandbox)); // the next caller tries again
    return known;
  };
  return {
    deps: {
      store,
      environment: async (part, config, engine) => {
        if (part === 'sandbox') {
          const { facts, details } = await environmentOf(await sandboxes.open(...sandboxOf(config)));
          return { facts, details: { ...details, code: version } };
        }
        const device = await resolveDevice(options.device ?? engine.device);
        const facts = { device, engine: `onnxruntime ${runtimeVersion()}` };
        return device === 'cpu' ? { facts, details: { code: version } } : onCard(facts, version);
      },
      acceptsEnvironment: process.env.GAUNTLET_ACCEPT_ENVIRONMENT === '1',
      engine: async (model, config) => {
        const folder = await folderOf(model);
        const opening = engineOptions(config, options);
        const provider = await resolveDevice(opening.device);
        currentProgress()?.slower((await weightBytes(folder)) / (provider === 'cpu' ? CPU_BYTES : DEVICE_BYTES));
        return engines.open(folder, opening);
      },
      rolloutServer,
      sandbox: (config) => sandboxes.open(...sandboxOf(config)),
      async forgetFallback(config) {
        const [kind, ...rest] = sandboxOf(config);
        const { info } = await sandboxes.open(kind, ...rest);
        if (kind === 'auto' && info.kind === 'wasm') await sandboxes.forget(kind, ...rest);
      },
      loadProblems: (source, signal) => {
        const progress = currentProgress();
        return loadInThread(source, { onProgress: () => progress?.advance(), signal });
      },
      codeVersion: version,
      renderReport: (run, signal) => renderInThread({ store: options.store, run }, signal),
      searchAttributes: options.searchAttributes ?? false,
      log,
    },
    close: async () => {
      await Promise.all([engines.close(), sandboxes.close()]);
    },
  };
}

/** The facts that decide how a GPU rounds, beside the version of the engine. */
async function onCard(facts: Record<string, string>, code: string) {
  const { name = 'unknown', capability = 'unknown', driver = 'unknown' } = (await findGpu()) ?? {};
  const card = { card: name, 'compute capability': capability, cublas: ortApi().cuda().cublasVersion(), cudnn: 'none' };
  return { facts: { ...facts, ...card }, details: { code, driver } };
}

async function renderInThread(task: ReportTask, signal?: AbortSignal): Promise<string> {
  const answer = await inThread<ReportAnswer>(new URL('./reportThread.js', import.meta.url), task, signal);
  if ('page' in answer) return answer.page;
  throw new GauntletError(answer.code, answer.message, { artifact: answer.artifact });
}

/** The size of the weights; 0 if the folder is no model, because opening it will report what is wrong. */
async function weightBytes(folder: string): Promise<number> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.safetensors'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** A line such as 'memory: tiny needs up to 1.2 GB for rows of 512 tokens; this process may use 11.8 GB (half of the machine)'. */
function memoryLine(path: string, opening: EngineOptions): string {
  const { bytes, length } = expectedMemory(path, opening);
  const budget = memoryBudget();
  const gb = (count: number): string => `${(count / 1e9).toFixed(1)} GB`;
  return `memory: ${basename(path)} needs up to ${gb(bytes)} for rows of ${length} tokens; this process may use ${gb(budget.bytes)} (${sourceOf(budget)})`;
}

/** A line such as 'memory of the GPU: model needs 15.2 GiB: weights 2.9, keys and values 3.6, training 7.8, other 0.9'. */
const cardLine = async (path: string, opening: EngineOptions): Promise<string> =>
  `memory of the GPU: ${basename(path)} ${describePlan(await expectedOnCard(path, opening))}`;

/** Engine options of a run. The settings of the worker come first: it knows its device and its cores. */
export function engineOptions(config: EngineConfig, own: Pick<DepsOptions, 'threads' | 'device'>): EngineOptions {
  const { quantization, precision, checkpointing, activationMegabytes, decoderRows } = config;
  return {
    device: own.device ?? config.device,
    ...(own.threads === undefined ? {} : { cores: own.threads }),
    ...(quantization === 'none' ? {} : { quantization: { bits: BITS[quantization], groupSize: GROUP_SIZE } }),
    ...(precision === undefined ? {} : { precision }),
    ...(checkpointing === null ? {} : { checkpointing }),
    ...(activationMegabytes === undefined ? {} : { activationBytes: activationMegabytes * 2 ** 20 }),
    ...(decoderRows === undefined ? {} : { decoderRows }),
  };
}

const BITS = { int8: 8, int4: 4 } as const;

const KEPT = 2; // the most open ones, because a run may have a model for each role

/**
 * Opens an engine or sandbox once for equal arguments. Before it opens a third, it closes the least recently used. This one is not
 * in use, because a worker does one model activity at a time (modelTurns.ts) and one batch of programs. The exception is an
 * activity that computes a lost artifact of another role again; a call that fails because of it is retried. If opening
 * failed, the next caller tries again.
 */
function once<A extends unknown[], T extends Engine | Sandbox>(open: (...args: A) => Promise<T>) {
  const opened = new Map<string, Promise<T>>(); // the least recently used one first
  const close = (opening: Promise<T>): Promise<void> =>
    opening.then(
      (one) => one.close(),
      () => undefined,
    );
  const openAfter = async (closing: Promise<void> | undefined, args: A): Promise<T> => {
    await closing; // closing comes first, because it frees memory
    return open(...args);
  };
  return {
    open: (...args: A): Promise<T> => {
      const key = JSON.stringify(args);
      const known = opened.get(key);
      opened.delete(key);
      const [oldest] = opened.size < KEPT ? [] : opened;
      if (oldest) opened.delete(oldest[0]);
      const opening = known ?? openAfter(oldest && close(oldest[1]), args);
      opened.set(key, opening);
      opening.catch(() => opened.delete(key));
      return opening;
    },
    /** Forgets what was opened for these arguments, so that the next call opens it again. */
    forget: async (...args: A): Promise<void> => {
      const known = opened.get(JSON.stringify(args));
      opened.delete(JSON.stringify(args));
      if (known) await close(known);
    },
    close: async (): Promise<void> => {
      await Promise.all([...opened.values()].map(close));
    },
  };
}
