// The artifacts that activities exchange through the store.
import { GauntletError } from '../core/base/errors.js';
import { parseAs } from '../core/base/issues.js';
import type { Role } from '../core/schema/chain.js';
import { type RunConfig, runConfigSchema } from '../core/schema/config.js';
import type { Problem, ProblemSet } from '../core/schema/problem.js';
import type { RunRef } from '../core/schema/runRef.js';
import type { Trajectory } from '../core/schema/trajectory.js';
import type { Adapter, Chat, Engine, OptimizerState } from '../ml/engine/engine.js';
import { ADAPTER_FILES } from '../ml/hf/peft.js';
import type { ServedAdapter } from '../ml/remote/rolloutServer.js';
import { hexOf } from '../store/canonicalJson.js';
import type { Digest, Ref, Store } from '../store/store.js';
import { decodeTensors, encodeTensors } from '../store/tensors.js';
import type { Scope } from './scope.js';

/** Keeps the numbers of trained tokens (`mask` is not 0), rounded to the digits that a 32-bit float has. */
export const ofTrained = (entries: readonly number[], mask: readonly number[]): number[] =>
  entries.filter((_, t) => mask[t] !== 0).map((entry) => Number(entry.toPrecision(7)));

/** Remembers the last value that it read, because consecutive activities usually belong to one run. Do not change the value. */
function lastRead<T, U>(read: (store: Store, ref: Ref<T>) => Promise<U>): typeof read {
  let last: { ref: Ref<T>; value: U } | undefined;
  return async (store, ref) => {
    if (last?.ref !== ref) last = { ref, value: await read(store, ref) };
    return last.value;
  };
}

const configOf = lastRead(async (store, ref: Ref<RunConfig>) =>
  parseAs(runConfigSchema, await store.getJson(ref), 'BAD_CONFIG'),
);

export const readConfig = (store: Store, { config }: Pick<RunRef, 'config'>): Promise<RunConfig> =>
  configOf(store, config);

/** Reads the training rows of an update. Its minibatches read the same rows one after the other. */
export const readTrajectories = lastRead((store, ref: Ref<Trajectory[]>) => store.getJson(ref));

export const readProblems = lastRead(async (store, ref: Ref<ProblemSet>) => {
  const set = await store.getJson(ref);
  const byId = new Map([...set.train, ...set.validation, ...set.test].map((problem) => [problem.id, problem]));
  return { set, byId };
});

export function problemOf(byId: Map<string, Problem>, id: string): Problem {
  const problem = byId.get(id);
  if (!problem) throw new GauntletError('NOT_FOUND', `problem '${id}' is not in the problem set of this run`);
  return problem;
}

/** The model of a role. */
export interface OpenRole {
  config: RunConfig;
  engine: Engine;
  chat: Chat;
  /** Imports an adapter of the role. */
  adapter(weights: Digest): Promise<Adapter>;
  /** An adapter of the role for a rollout server. The name of the adapter contains its digest. */
  served(weights: Digest): Promise<ServedAdapter>;
}

/** @throws GauntletError BAD_MODEL if the worker has a different model than the run started with */
export async function openRole(scope: Scope, run: Omit<RunRef, 'problems'>, role: Role): Promise<OpenRole> {
  const config = await readConfig(scope.store, run);
  const { model, modelDigest, adapterConfig } = run.bases[role];
  const engine = await scope.deps.engine(model, run.engine);
  if (engine.info.digest !== modelDigest) {
    throw new GauntletError(
      'BAD_MODEL',
      `model '${model}' has digest ${engine.info.digest}, but run '${run.runId}' started with ${modelDigest}`,
    );
  }
  const filesOf = (weights: Digest) => readAdapterFiles(scope.store, { config: adapterConfig, weights });
  const adapter: OpenRole['adapter'] = async (weights) => engine.importAdapter(await filesOf(weights));
  const served: OpenRole['served'] = async (weights) => ({
    name: `gauntlet-${hexOf(weights)}-${hexOf(adapterConfig).slice(0, 8)}`,
    files: await filesOf(weights),
  });
  const chat = engine.chat(config.templateArguments);
  return { config, engine, chat, adapter, served };
}

/** Digests for a run's manifest and checkpoints. The discriminator's is present if the discriminator has its own base. */
export function modelDigests({ bases }: RunRef): { modelDigest: Digest; discriminatorModelDigest?: Digest } {
  const [modelDigest, other] = [bases.generator.modelDigest, bases.discriminator.modelDigest];
  return other === modelDigest ? { modelDigest } : { modelDigest, discriminatorModelDigest: other };
}

export const adapterShape = ({ lora: { rank, alpha } }: RunConfig) => ({ rank, alpha });

/** The digests of an adapter's files. */
interface StoredAdapter {
  config: Digest;
  weights: Digest;
}

export async function writeAdapter(store: Store, engine: Engine, adapter: Adapter): Promise<StoredAdapter> {
  const files = engine.exportAdapter(adapter);
  const config = files.get(ADAPTER_FILES.config);
  const weights = files.get(ADAPTER_FILES.weights);
  if (!weights || !config) throw new GauntletError('ENGINE_FAULT', 'the engine exported an incomplete adapter');
  const [configDigest, weightsDigest] = await Promise.all([store.putBlob(config), store.putBlob(weights)]);
  return { config: configDigest, weights: weightsDigest };
}

async function readAdapterFiles(store: Store, stored: StoredAdapter): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const part of ['config', 'weights'] as const) files.set(ADAPTER_FILES[part], await store.getBlob(stored[part]));
  return files;
}

export const encodeOptimizerState = ({ step, m, v }: OptimizerState): Uint8Array => encodeTensors({ m, v }, { step });

export function decodeOptimizerState(bytes: Uint8Array): OptimizerState {
  const { tensors, meta } = decodeTensors(bytes);
  const { m, v } = tensors;
  if (!m || !v || typeof meta.step !== 'number')
    throw new GauntletError('BAD_CHECKPOINT', 'optimizer state without m, v and step');
  return { step: meta.step, m, v };
}
