// The artifacts that activities exchange through the store, each read and written in one place.
import { GauntletError } from '../core/errors.js';
import type { BugArchive } from '../core/rewards/archive.js';
import type { SuiteTest, TestPool } from '../core/rewards/suite.js';
import type { Chain, Role, Stage, TestTurn } from '../core/schema/chain.js';
import { type RunConfig, runConfigSchema } from '../core/schema/config.js';
import type { TypeVerdict, Verdict } from '../core/schema/execution.js';
import type { Problem } from '../core/schema/problem.js';
import type { Trajectory } from '../core/schema/trajectory.js';
import type { Value } from '../core/schema/value.js';
import type { ProblemSet } from '../data/problems.js';
import type { Adapter, Engine, OptimizerState } from '../ml/engine/engine.js';
import type { Digest, Store } from '../store/store.js';
import { decodeTensors, encodeTensors } from '../store/tensors.js';
import type { Scope } from './scope.js';
import type { RoleState, RunRef } from './types.js';

/** Chains of a batch, problem by problem, G samples each. */
export type ChainList = Chain[];

/** A chain somewhere in the store, and the stage whose output is to be tested. */
export interface TestTarget {
  problemId: string;
  chain: ChainRef;
  stage: Stage;
}

/** `turns[t * samples + g]` belongs to `targets[t]`. */
export interface TestBatch {
  targets: TestTarget[];
  samples: number;
  turns: TestTurn[];
}

/** A generated test after validation; `suite` is its place in the suite, null where it is invalid. */
export interface ValidatedTest {
  args: Value[];
  expected: Value;
  suite: number | null;
}

export interface ValidatedTurn {
  turn: number; // index in TestBatch.turns
  tests: ValidatedTest[];
  lost: number; // tests that could not be read, or were asked for and not written
}

/** One suite and the candidates judged on it: all samples of a problem, or the one chain of a target. */
export interface Cell {
  problemId: string;
  candidates: { sample: number; empty: boolean }[];
  suite: SuiteTest[]; // given tests (origin 'baseline', hidden ones too), then valid generated ones
  verdicts: Verdict[][]; // candidate × suite
  types?: TypeVerdict[]; // one a candidate, where the configuration asks for a type check
  turns: ValidatedTurn[];
}

/** Names a chain in the store. */
export interface ChainRef {
  chains: Digest;
  index: number; // in that list
}

/** Recent valid tests of problems, and chains that fail some: what the discriminator practises on. */
export interface Memory {
  pool: TestPool;
  archive: BugArchive<ChainRef>;
}

export interface Solution {
  problemId: string;
  sample: number;
  code: string;
  passed: number;
  tests: number;
}

export type TrajectoryList = Trajectory[];

/** What is read of the last digest that was asked for: a worker serves one run at a time. Nobody changes it. */
function lastRead<T>(read: (store: Store, digest: Digest) => Promise<T>): typeof read {
  let last: { digest: Digest; value: T } | undefined;
  return async (store, digest) => {
    if (last?.digest !== digest) last = { digest, value: await read(store, digest) };
    return last.value;
  };
}

/** Of a run that began with an earlier version too: a field that was not there yet has its default. */
const configOf = lastRead(async (store, digest) => runConfigSchema.parse(await store.getJson(digest)));

export const readConfig = (store: Store, { config }: Pick<RunRef, 'config'>): Promise<RunConfig> =>
  configOf(store, config);

export const readProblems = lastRead(async (store, digest) => {
  const set = await store.getJson<ProblemSet>(digest);
  const byId = new Map([...set.train, ...set.validation, ...set.test].map((problem) => [problem.id, problem]));
  return { set, byId };
});

export function problemOf(byId: Map<string, Problem>, id: string): Problem {
  const problem = byId.get(id);
  if (!problem) throw new GauntletError('NOT_FOUND', `problem '${id}' is not in the problem set of this run`);
  return problem;
}

/** What a role of a run computes with. */
export interface OpenRole {
  config: RunConfig;
  engine: Engine;
  /** Of the role, at some point of its training; sampling needs no value head. */
  adapter(weights: Digest, valueHead?: Digest): Promise<Adapter>;
}

/** A worker with another model than the run began with is refused. */
export async function openRole(scope: Scope, run: RunRef, role: Role): Promise<OpenRole> {
  const config = await readConfig(scope.store, run);
  const { model, modelDigest, adapterConfig } = run.bases[role];
  const engine = await scope.deps.engine(model, run.engine);
  if (engine.info.digest !== modelDigest) {
    throw new GauntletError(
      'BAD_MODEL',
      `model '${model}' has digest ${engine.info.digest}, but run '${run.runId}' began with ${modelDigest}`,
    );
  }
  const adapter: OpenRole['adapter'] = (weights, valueHead) =>
    readAdapter(scope.store, engine, { config: adapterConfig, weights, ...(valueHead && { valueHead }) });
  return { config, engine, adapter };
}

/** Of a run's manifest and checkpoints; the discriminator's only where it has a base of its own. */
export function modelDigests({ bases }: RunRef): { modelDigest: Digest; discriminatorModelDigest?: Digest } {
  const [modelDigest, other] = [bases.generator.modelDigest, bases.discriminator.modelDigest];
  return other === modelDigest ? { modelDigest } : { modelDigest, discriminatorModelDigest: other };
}

/** GAE needs an estimate of values: a head that is trained along with the LoRA tensors. */
export function adapterShape({ lora, advantage }: RunConfig): Parameters<Engine['initAdapter']>[0] {
  const { rank, alpha } = lora;
  return { rank, alpha, ...(advantage.estimator === 'gae' ? { valueHead: true } : {}) };
}

const ADAPTER_FILES = {
  config: 'adapter_config.json',
  weights: 'adapter_model.safetensors',
  valueHead: 'value_head.safetensors',
} as const;

/** The files of an adapter's folder, each by digest. */
export interface StoredAdapter {
  config: Digest;
  weights: Digest;
  valueHead?: Digest;
}

export async function writeAdapter(store: Store, engine: Engine, adapter: Adapter): Promise<StoredAdapter> {
  const files = engine.exportAdapter(adapter);
  const config = files.get(ADAPTER_FILES.config);
  const weights = files.get(ADAPTER_FILES.weights);
  const valueHead = files.get(ADAPTER_FILES.valueHead);
  if (!weights || !config) throw new GauntletError('ENGINE_FAULT', 'the engine exported an incomplete adapter');
  const [configDigest, weightsDigest, headDigest] = await Promise.all([
    store.putBlob(config),
    store.putBlob(weights),
    valueHead && store.putBlob(valueHead),
  ]);
  return { config: configDigest, weights: weightsDigest, ...(headDigest && { valueHead: headDigest }) };
}

export function roleState({ weights, valueHead }: Omit<StoredAdapter, 'config'>, optimizer: Digest): RoleState {
  return { adapter: weights, ...(valueHead && { valueHead }), optimizer };
}

async function readAdapter(store: Store, engine: Engine, stored: StoredAdapter): Promise<Adapter> {
  const files = new Map<string, Uint8Array>();
  for (const [part, digest] of Object.entries(stored))
    files.set(ADAPTER_FILES[part as keyof StoredAdapter], await store.getBlob(digest));
  return engine.importAdapter(files);
}

export const encodeOptimizerState = ({ step, m, v }: OptimizerState): Uint8Array => encodeTensors({ m, v }, { step });

export function decodeOptimizerState(bytes: Uint8Array): OptimizerState {
  const { tensors, meta } = decodeTensors(bytes);
  const { m, v } = tensors;
  if (!m || !v || typeof meta.step !== 'number')
    throw new GauntletError('BAD_CHECKPOINT', 'optimizer state without m, v and step');
  return { step: meta.step, m, v };
}
