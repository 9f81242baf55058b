// PPO on fixed trajectories: epochs of shuffled minibatches, each one AdamW step. Progress is saved under the key of
// the work, so that an attempt that follows a killed one goes on where it stopped, with the same bytes.
import { createHash } from 'node:crypto';
import { planMinibatches } from '../core/rl/schedules.js';
import type { PolicyStats } from '../core/schema/trajectory.js';
import type { Adapter, Engine, OptimizerState } from '../ml/session/engine.js';
import type { Digest } from '../store/store.js';
import {
  decodeOptimizerState,
  encodeOptimizerState,
  openRun,
  readAdapter,
  type TrajectoryList,
  writeAdapter,
} from './artifacts.js';
import type { Scope } from './scope.js';
import type { RunRef, UpdatePolicyInput, UpdatePolicyOutput } from './types.js';

const NO_UPDATE: PolicyStats = { loss: 0, ratio: 1, approxKl: 0, clipFraction: 0, entropy: 0, gradNorm: 0, tokens: 0 };

interface Progress {
  done: number; // minibatches
  adapter: Adapter;
  optimizer: OptimizerState;
  stats: PolicyStats[];
}

export async function updatePolicy(scope: Scope, input: UpdatePolicyInput): Promise<UpdatePolicyOutput> {
  const rows = await scope.store.getJson<TrajectoryList>(input.trajectories);
  if (rows.length === 0) return { state: input.state, stats: NO_UPDATE };
  const { config, engine } = await openRun(scope, input.run);
  const { ppo } = config;
  const path = [config.seed, 'minibatches', input.role, input.position.stage, input.position.step];
  const minibatches = planMinibatches(rows, ppo.epochs, ppo.minibatch, path);
  let progress = (await resume(scope, engine, input.run, minibatches.length)) ?? {
    done: 0,
    adapter: await readAdapter(scope.store, engine, input.run, input.state.adapter),
    optimizer: decodeOptimizerState(await scope.store.getBlob(input.state.optimizer)),
    stats: [],
  };
  let saved = performance.now();
  while (progress.done < minibatches.length) {
    const sums = await engine.gradients(minibatches[progress.done]!, {
      adapter: progress.adapter,
      loss: { clip: ppo.clip, temperature: config.sampling.temperature },
      signal: scope.signal,
    });
    const next = await engine.applyUpdate(progress.adapter, progress.optimizer, sums, {
      ...ppo,
      learningRate: input.learningRate,
    });
    const done = progress.done + 1;
    progress = { done, adapter: next.adapter, optimizer: next.state, stats: [...progress.stats, next.stats] };
    scope.heartbeat({ done, of: minibatches.length });
    if (done < minibatches.length && performance.now() - saved >= scope.saveEveryMs) {
      await saveProgress(scope, engine, progress);
      saved = performance.now();
    }
  }
  const { weights } = await writeAdapter(scope.store, engine, progress.adapter);
  const optimizer = await scope.store.putBlob(encodeOptimizerState(progress.optimizer));
  return { state: { adapter: weights, optimizer }, stats: meanStats(progress.stats) };
}

/** Means weighted by trained tokens; tokens are summed. */
export function meanStats(stats: PolicyStats[]): PolicyStats {
  const tokens = stats.reduce((sum, s) => sum + s.tokens, 0);
  const weighted = (pick: (s: PolicyStats) => number): number =>
    stats.reduce((sum, s) => sum + pick(s) * s.tokens, 0) / Math.max(tokens, 1);
  return {
    loss: weighted((s) => s.loss),
    ratio: weighted((s) => s.ratio),
    approxKl: weighted((s) => s.approxKl),
    clipFraction: weighted((s) => s.clipFraction),
    entropy: weighted((s) => s.entropy),
    gradNorm: weighted((s) => s.gradNorm),
    tokens,
  };
}

interface SavedProgress {
  done: number;
  adapter: Digest;
  optimizer: Digest;
  stats: PolicyStats[];
}

const progressKey = (scope: Scope, done: number): string =>
  createHash('sha256').update(`progress:${scope.memoKey}:${done}`).digest('hex');

/** What is saved after n minibatches is the same whichever attempt saves it, so the first writer may win. */
export async function saveProgress(scope: Scope, engine: Engine, progress: Progress): Promise<void> {
  const saved: SavedProgress = {
    done: progress.done,
    adapter: (await writeAdapter(scope.store, engine, progress.adapter)).weights,
    optimizer: await scope.store.putBlob(encodeOptimizerState(progress.optimizer)),
    stats: progress.stats,
  };
  await scope.store.putMemo(progressKey(scope, progress.done), await scope.store.putJson(saved));
}

async function resume(scope: Scope, engine: Engine, run: RunRef, minibatches: number): Promise<Progress | undefined> {
  for (let done = minibatches - 1; done > 0; done--) {
    const digest = await scope.store.getMemo(progressKey(scope, done));
    if (digest === undefined) continue;
    const saved = await scope.store.getJson<SavedProgress>(digest);
    return {
      done,
      adapter: await readAdapter(scope.store, engine, run, saved.adapter),
      optimizer: decodeOptimizerState(await scope.store.getBlob(saved.optimizer)),
      stats: saved.stats,
    };
  }
  return undefined;
}
