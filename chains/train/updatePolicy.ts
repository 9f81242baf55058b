// PPO on fixed trajectories: epochs of shuffled minibatches, with one AdamW step each. Progress is saved in a file of the
// run, so that the next attempt resumes after a crash and produces the same bytes: at intervals, when the worker begins to
// stop, and when the attempt fails.
import type { PolicyStats } from '../../core/schema/trajectory.js';
import type { UpdatePolicyInput, UpdatePolicyOutput } from '../../method/train.js';
import { encodeOptimizerState, writeAdapter } from '../artifacts.js';
import type { Scope } from '../scope.js';
import { applyMinibatch, openUpdate, type Progress } from './update.js';
import { filesOf, latestState, saveState } from './updateFiles.js';

const NO_UPDATE: PolicyStats = { loss: 0, ratio: 1, approxKl: 0, clipFraction: 0, entropy: 0, gradNorm: 0, tokens: 0 };

export async function updatePolicy(
  scope: Scope,
  input: UpdatePolicyInput,
): Promise<UpdatePolicyOutput & { earlierSeconds?: number }> {
  const update = await openUpdate(scope, input);
  if (update === undefined) return { state: input.state, stats: NO_UPDATE };
  const { minibatches, opened, isSupervised } = update;
  const { engine } = opened;
  const started = performance.now();
  const files = filesOf(scope.store, input);
  let progress = await latestState(files, update);
  const earlierSeconds = progress.seconds;
  const saves = openSaves(progress.done, (state) => saveState(files, state));
  const saveNow = (): void => void saves.save(progress).catch(() => undefined); // if this fails, the loop saves later
  const { stopping } = scope.deps;
  stopping?.addEventListener('abort', saveNow);
  try {
    while (progress.done < minibatches.length) {
      const { sequences, loss } = update.minibatch(progress.done);
      const sums = await engine.gradients(sequences, { adapter: progress.adapter, loss, signal: scope.signal });
      const seconds = earlierSeconds + (performance.now() - started) / 1000;
      progress = await applyMinibatch(update, progress, sums, seconds);
      scope.heartbeat({ done: progress.done, of: minibatches.length });
      const isDue = stopping?.aborted || performance.now() - saves.savedAt >= scope.saveEveryMs;
      if (progress.done < minibatches.length && isDue) await saves.save(progress);
    }
  } catch (error) {
    await saves.save(progress).catch(() => undefined); // the error of the update is more important
    throw error;
  } finally {
    stopping?.removeEventListener('abort', saveNow);
  }
  const [{ weights: adapter }, optimizer, ratios] = await Promise.all([
    writeAdapter(scope.store, engine, progress.adapter),
    scope.store.putBlob(encodeOptimizerState(progress.optimizer)),
    isSupervised ? undefined : scope.store.putJson(progress.ratios),
  ]);
  return { state: { adapter, optimizer }, stats: meanStats(progress.stats), ratios, earlierSeconds };
}

/** Saves states one after another, each only once. @param done the number of minibatches that are already saved */
function openSaves(done: number, write: (progress: Progress) => Promise<void>) {
  let last = Promise.resolve();
  const saves = {
    savedAt: performance.now(),
    save(progress: Progress): Promise<void> {
      const own = last.then(async () => {
        if (progress.done <= done) return;
        await write(progress);
        done = progress.done;
        saves.savedAt = performance.now();
      });
      last = own.catch(() => undefined);
      return own;
    },
  };
  return saves;
}

/** For each statistic, the mean over the minibatches that have it, weighted by trained tokens. Numbers of tokens are added up. */
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
