// The log-probs that PPO's ratio divides by: those of the tempered policy that sampled, from the scoring graph, taken
// once before any update and stored with the trajectories.
import { openRun, readAdapter, type TrajectoryList } from './artifacts.js';
import type { Scope } from './scope.js';
import type { ScoreOldPolicyInput, ScoreOldPolicyOutput } from './types.js';

export async function scoreOldPolicy(scope: Scope, input: ScoreOldPolicyInput): Promise<ScoreOldPolicyOutput> {
  const rows = await scope.store.getJson<TrajectoryList>(input.trajectories);
  if (rows.length === 0) return { trajectories: input.trajectories };
  const { config, engine } = await openRun(scope, input.run);
  const scored = await engine.logprobs(rows, {
    adapter: await readAdapter(scope.store, engine, input.run, input.adapter),
    temperature: config.sampling.temperature,
    signal: scope.signal,
  });
  const trajectories: TrajectoryList = rows.map((row, i) => ({
    ...row,
    oldLogprobs: row.mask.map((trained, t) => (trained ? scored[i]![t]! : 0)),
  }));
  return { trajectories: await scope.store.putJson(trajectories) };
}
