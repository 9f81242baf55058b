// PPO on fixed trajectories: epochs of shuffled minibatches, with one AdamW step each. Progress is saved under the memo
// key, so that the next attempt resumes after a crash and produces the same bytes.
import { deriveKey } from '../core/random.js';
import { planMinibatches } from '../core/rl/schedules.js';
import type { RunConfig } from '../core/schema/config.js';
import type { PolicyStats } from '../core/schema/trajectory.js';
import type { Adapter, Engine, LossConfig, OptimizerState } from '../ml/engine/engine.js';
import { progressKey, unlessLost } from '../store/memo.js';
import {
  decodeOptimizerState,
  encodeOptimizerState,
  type OpenRole,
  ofTrained,
  openRole,
  roleState,
  type TokenNumbers,
  type TrajectoryList,
  writeAdapter,
} from './artifacts.js';
import { trainingTemperature } from './sampling.js';
import type { Scope } from './scope.js';
import type { RoleState, UpdatePolicyInput, UpdatePolicyOutput } from './types.js';

const NO_UPDATE: PolicyStats = { loss: 0, ratio: 1, approxKl: 0, clipFraction: 0, entropy: 0, gradNorm: 0, tokens: 0 };

interface Progress {
  done: number; // minibatches
  adapter: Adapter;
  optimizer: OptimizerState;
  stats: PolicyStats[];
  ratios: TokenNumbers; // of the last epoch, as far as it is done
  seconds: number; // of all attempts
}

export async function updatePolicy(scope: Scope, input: UpdatePolicyInput): Promise<UpdatePolicyOutput> {
  const rows = await scope.store.getJson<TrajectoryList>(input.trajectories);
  if (rows.length === 0) return { state: input.state, stats: NO_UPDATE };
  const opened = await openRole(scope, input.run, input.role);
  const { config, engine } = opened;
  const { ppo } = config;
  const { role, position } = input;
  const isSupervised = position.phase === 'warm-start';
  const { epochs, minibatch } = isSupervised ? { epochs: 1, minibatch: config.warmStart.minibatch } : ppo;
  const path = (draw: string) => [config.seed, draw, role, position.stage, position.step];
  const minibatches = planMinibatches([...rows.keys()], epochs, minibatch, path('minibatches'));
  const anEpoch = minibatches.length / epochs;
  const started = performance.now();
  let progress: Progress = (await resume(scope, opened, minibatches.length)) ?? {
    done: 0,
    adapter: await opened.adapter(input.state.adapter, input.state.valueHead),
    optimizer: decodeOptimizerState(await scope.store.getBlob(input.state.optimizer)),
    stats: [],
    ratios: rows.map(() => []),
    seconds: 0,
  };
  scope.earlierSeconds = progress.seconds;
  let saved = performance.now();
  while (progress.done < minibatches.length) {
    const at = progress.done;
    const dropoutKey = deriveKey(...path('dropout'), Math.floor(at / anEpoch), at % anEpoch);
    const indices = minibatches[at]!;
    const minibatch = indices.map((i) => rows[i]!);
    const sums = await engine.gradients(minibatch, {
      adapter: progress.adapter,
      loss: isSupervised ? supervisedLoss(config, dropoutKey) : lossOf(config, dropoutKey),
      signal: scope.signal,
    });
    const next = await engine.applyUpdate(progress.adapter, progress.optimizer, sums, {
      ...ppo,
      learningRate: input.learningRate,
    });
    const done = at + 1;
    const stats = [...progress.stats, next.stats];
    const ratios = [...progress.ratios];
    if (at >= minibatches.length - anEpoch)
      indices.forEach((row, i) => {
        ratios[row] = ofTrained(sums.ratios?.[i] ?? [], minibatch[i]!.mask);
      });
    const seconds = scope.earlierSeconds + (performance.now() - started) / 1000;
    progress = { done, adapter: next.adapter, optimizer: next.state, stats, ratios, seconds };
    scope.heartbeat({ done, of: minibatches.length });
    if (done < minibatches.length && performance.now() - saved >= scope.saveEveryMs) {
      await saveProgress(scope, engine, progress);
      saved = performance.now();
    }
  }
  const [state, ratios] = await Promise.all([
    writeState(scope, engine, progress),
    isSupervised ? undefined : scope.store.putJson(progress.ratios),
  ]);
  return { state, stats: meanStats(progress.stats), ...(ratios && { ratios }) };
}

/** Disabled terms are absent, so that the engine does not compute them. */
export function lossOf(config: RunConfig, dropoutKey: readonly [number, number]): LossConfig {
  const { ppo, advantage, lora } = config;
  return {
    clip: ppo.clip,
    temperature: trainingTemperature(config),
    ...(ppo.clipHigh === null ? {} : { clipHigh: ppo.clipHigh }),
    ...(ppo.average === 'token' ? {} : { average: ppo.average }),
    ...(ppo.entropyBonus > 0 ? { entropyBonus: ppo.entropyBonus } : {}),
    ...(ppo.klCoefficient > 0 ? { klCoefficient: ppo.klCoefficient } : {}),
    ...(advantage.estimator === 'gae' ? { valueCoefficient: advantage.valueCoefficient } : {}),
    ...(advantage.estimator === 'gae' && advantage.valueClip !== null ? { valueClip: advantage.valueClip } : {}),
    ...(lora.dropout > 0 ? { dropout: { rate: lora.dropout, key: dropoutKey } } : {}),
  };
}

function supervisedLoss({ ppo, lora }: RunConfig, key: readonly [number, number]): LossConfig {
  const dropout = lora.dropout > 0 ? { dropout: { rate: lora.dropout, key } } : {};
  return { supervised: true, clip: ppo.clip, temperature: 1, ...dropout };
}

/** Means over the minibatches that have the statistic, weighted by trained tokens. Tokens are summed. */
export function meanStats(stats: PolicyStats[]): PolicyStats {
  const names = new Set(stats.flatMap((s) => Object.keys(s) as (keyof PolicyStats)[]));
  const means = [...names].map((name) => {
    const present = stats.filter((s) => s[name] !== undefined);
    const sum = present.reduce((total, s) => total + s[name]! * s.tokens, 0);
    return [name, sum / Math.max(tokensOf(present), 1)];
  });
  return { ...NO_UPDATE, ...Object.fromEntries(means), tokens: tokensOf(stats) };
}

const tokensOf = (stats: PolicyStats[]): number => stats.reduce((total, s) => total + s.tokens, 0);

interface SavedProgress extends RoleState {
  done: number;
  stats: PolicyStats[];
  ratios: TokenNumbers;
  seconds: number;
}

async function writeState(scope: Scope, engine: Engine, progress: Progress): Promise<RoleState> {
  const [stored, optimizer] = await Promise.all([
    writeAdapter(scope.store, engine, progress.adapter),
    scope.store.putBlob(encodeOptimizerState(progress.optimizer)),
  ]);
  return roleState(stored, optimizer);
}

/** All attempts save the same state after n minibatches, except for the seconds, so the first writer wins. */
async function saveProgress(scope: Scope, engine: Engine, progress: Progress): Promise<void> {
  const saved: SavedProgress = {
    done: progress.done,
    ...(await writeState(scope, engine, progress)),
    stats: progress.stats,
    ratios: progress.ratios,
    seconds: progress.seconds,
  };
  await scope.store.putMemo(progressKey(scope.memoKey, progress.done), await scope.store.putJson(saved));
}

/** The latest undamaged save. */
async function resume(scope: Scope, opened: OpenRole, minibatches: number): Promise<Progress | undefined> {
  for (let done = minibatches - 1; done > 0; done--) {
    const saved = await unlessLost(() => readProgress(scope, opened, done));
    if (saved !== undefined) return saved;
  }
  return undefined;
}

async function readProgress(
  { store, memoKey }: Scope,
  { adapter }: OpenRole,
  done: number,
): Promise<Progress | undefined> {
  const digest = await store.getMemo(progressKey(memoKey, done));
  if (digest === undefined) return undefined;
  const saved = await store.getJson<SavedProgress>(digest);
  return {
    done,
    adapter: await adapter(saved.adapter, saved.valueHead),
    optimizer: decodeOptimizerState(await store.getBlob(saved.optimizer)),
    stats: saved.stats,
    ratios: saved.ratios,
    seconds: saved.seconds,
  };
}
