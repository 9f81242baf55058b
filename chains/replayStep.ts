// Recomputes the rewards of a past step from its recorded artifacts, without a model. Anyone with the store can check the
// training data of an update.
import { recordsOf, type StepMetrics } from '../core/schema/metrics.js';
import type { RunRef } from '../core/schema/runRef.js';
import { canonicalJson } from '../store/canonicalJson.js';
import { readMetrics, readRun } from '../store/runs.js';
import { executeSuite } from './judge/executeSuite.js';
import { type Deps, openScope } from './scope.js';
import { computeRewards } from './train/computeRewards.js';
import { measureStep } from './train/measureStep.js';

export interface StepReplay {
  step: number;
  role: StepMetrics['role'];
  reward: number; // the recomputed mean
  recorded: number; // the recorded mean
  matches: boolean;
  differs: string[]; // the names of differences: verdicts, trajectories or metrics
}

/** The recorded steps of a run. @throws GauntletError NOT_FOUND */
export async function recordedSteps({ store }: Pick<Deps, 'store'>, runId: string): Promise<StepMetrics[]> {
  await readRun(store, runId);
  return recordsOf(await readMetrics(store, runId), 'step');
}

/** With `execute`, it also runs the programs again and compares the verdicts. */
export async function replayStep(
  deps: Deps,
  runId: string,
  recorded: StepMetrics,
  execute = false,
): Promise<StepReplay> {
  const { artifacts, step, role, stage, phase, epoch } = recorded;
  const scope = openScope(deps);
  const { config, problems, verdicts, chains, tests, replayBuffer } = artifacts;
  // computing rewards and verdicts does not need the base models of the run
  const run = { runId, config, problems } as RunRef;
  const differs: string[] = [];
  if (execute) {
    const per = role === 'generator' ? 'problem' : 'target';
    const again = await executeSuite(scope, { run, per, suite: 'baseline', chains, tests, replayBuffer });
    if (again.verdicts !== verdicts) differs.push('verdicts');
  }
  const position = { stage, phase, epoch, step, role };
  const input = { run, role, verdicts, chains, tests, replayBuffer, position };
  const rewarded = await computeRewards(scope, input);
  if (rewarded.trajectories !== artifacts.trajectories) differs.push('trajectories');
  // records of earlier versions have no counts of groups
  const measured = recorded.groups === undefined ? {} : await measureStep(scope, { run, role, verdicts, chains });
  const figures = Object.entries({ ...rewarded.metrics, ...measured }).filter(
    ([name, value]) => canonicalJson({ value: recorded[name as 'reward'] }) !== canonicalJson({ value }),
  );
  differs.push(...figures.map(([name]) => name));
  const { reward } = rewarded.metrics;
  return { step, role, reward, recorded: recorded.reward, matches: differs.length === 0, differs };
}
