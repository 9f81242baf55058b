// PPO on fixed trajectories: epochs of shuffled minibatches, with one AdamW step each. Progress is saved under the memo
// key, so that the next attempt resumes after a crash and produces the same bytes.
import type { PolicyStats } from '../core/schema/trajectory.js';
import type { Engine } from '../ml/engine/engine.js';
import { progressKey, unlessLost } from '../store/memo.js';
import type { Digest } from '../store/store.js';
import {
  decodeOptimizerState,
  encodeOptimizerState,
  type OpenRole,
  roleState,
  type TokenNumbers,
  writeAdapter,
} from './artifacts.js';
import type { Scope } from './scope.js';
import type { RoleState, UpdatePolicyInput, UpdatePolicyOutput } from './types.js';
import { applyMinibatch, openUpdate, type Progress } from './update.js';
import { latestState } from './updateShards.js';

const NO_UPDATE: PolicyStats = { loss: 0, ratio: 1, approxKl: 0, clipFraction: 0, entropy: 0, gradNorm: 0, tokens: 0 };

export async function updatePolicy(scope: Scope, input: UpdatePolicyInput): Promise<UpdatePolicyOutput> {
  const update = await openUpdate(scope, input);
  if (update === undefined) return { state: input.state, stats: NO_UPDATE };
  const { minibatches, opened, isSupervised } = update;
  const { engine } = opened;
  const started = performance.now();
  let progress: Progress =
    (await latestState(scope, update)) ?? (await resume(scope, opened, minibatches.length)) ?? (await update.start());
  scope.earlierSeconds = progress.seconds;
  let saved = performance.now();
  while (progress.done < minibatches.length) {
    const { sequences, loss } = update.minibatch(progress.done);
    const sums = await engine.gradients(sequences, { adapter: progress.adapter, loss, signal: scope.signal });
    const seconds = scope.earlierSeconds + (performance.now() - started) / 1000;
    progress = await applyMinibatch(update, progress, sums, seconds);
    scope.heartbeat({ done: progress.done, of: minibatches.length });
    if (progress.done < minibatches.length && performance.now() - saved >= scope.saveEveryMs) {
      await saveProgress(scope, engine, progress);
      saved = performance.now();
    }
  }
  const [state, ratios] = await Promise.all([
    writeState(scope, engine, progress),
    isSupervised ? undefined : scope.store.putJson(progress.ratios),
  ]);
  return { state, stats: meanStats(progress.stats), ratios };
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
  const counts = Array.from({ length: minibatches - 1 }, (_, i) => minibatches - 1 - i);
  const rows = await Promise.all(
    counts.map((done) => unlessLost(() => scope.store.getMemo(progressKey(scope.memoKey, done)))),
  );
  for (const [i, digest] of rows.entries()) {
    const saved = digest && (await unlessLost(() => readProgress(scope, opened, counts[i]!, digest)));
    if (saved) return saved;
  }
  return undefined;
}

async function readProgress({ store }: Scope, { adapter }: OpenRole, done: number, digest: Digest): Promise<Progress> {
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
