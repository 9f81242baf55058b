// Recomputes the rewards of a past step from its recorded artifacts, without a model. Anyone with the store can check the
// training data of an update.
import { GauntletError } from '../core/errors.js';
import { type StepMetrics, stepMetricsSchema } from '../core/schema/metrics.js';
import { kindOfRow, readRecord } from '../store/memo.js';
import { readMetrics, readRun } from '../store/runs.js';
import type { Digest, Store } from '../store/store.js';
import { computeRewards } from './computeRewards.js';
import { executeSuite } from './executeSuite.js';
import { type ActivityDeps, openScope } from './scope.js';
import type { ExecuteSuiteInput, RunRef } from './types.js';

export interface StepReplay {
  step: number;
  role: StepMetrics['role'];
  reward: number; // recomputed mean
  recorded: number;
  matches: boolean;
  differs: string[]; // the names of differences: verdicts, trajectories or metrics
}

/** The recorded steps of a run. @throws GauntletError NOT_FOUND */
export async function recordedSteps({ store }: Pick<ActivityDeps, 'store'>, runId: string): Promise<StepMetrics[]> {
  await readRun(store, runId);
  const parsed = (await readMetrics(store, runId)).map((record) => stepMetricsSchema.safeParse(record));
  return parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
}

/** The tests of each executed suite, by `suiteKey` of its chains and verdicts. */
export type ExecutedSuites = ReadonlyMap<string, Pick<ExecuteSuiteInput, 'tests'>>;

const suiteKey = (chains: Digest | undefined, verdicts: Digest): string => `${chains ?? ''} ${verdicts}`;

/** Finds the executed suites in the memo records, because records of generator steps do not name generated tests. */
export async function executedSuites(store: Store): Promise<ExecutedSuites> {
  const suites = new Map<string, Pick<ExecuteSuiteInput, 'tests'>>();
  for (const key of await store.memoKeys()) {
    if (kindOfRow(key).kind !== 'result') continue;
    const record = await readRecord(store, key);
    const output = record?.name === 'executeSuite' ? await store.getMemo(key) : undefined;
    if (record === undefined || output === undefined || !(await store.hasBlob(output))) continue;
    const { chains, tests } = record.inputs as ExecuteSuiteInput;
    const { verdicts } = await store.getJson<{ verdicts: Digest }>(output);
    suites.set(suiteKey(chains, verdicts), { tests });
  }
  return suites;
}

/**
 * With `executed`, it also runs the programs again and compares the verdicts.
 * @throws GauntletError NOT_FOUND if an artifact is gone
 */
export async function replayStep(
  deps: ActivityDeps,
  runId: string,
  recorded: StepMetrics,
  executed?: ExecutedSuites,
): Promise<StepReplay> {
  const { artifacts, step, role, stage, phase, epoch } = recorded;
  const scope = openScope(deps, '');
  const { config, problems, verdicts, chains, tests, replayBuffer } = artifacts;
  // rewards and verdicts do not need the bases of the run
  const run = { runId, config, problems } as RunRef;
  const differs: string[] = [];
  if (executed) {
    const suite = { run, per: role === 'generator' ? 'problem' : 'target', suite: 'baseline', chains } as const;
    const judged = tests === undefined ? executed.get(suiteKey(chains, verdicts)) : { tests };
    if (judged === undefined) {
      const reason = 'the record of its tests is missing (gauntlet store gc removes old records)';
      throw new GauntletError('NOT_FOUND', `step ${step} of run ${runId}: ${reason}; replay it without --execute`);
    }
    const again = await executeSuite(scope, { ...suite, ...judged });
    if (again.verdicts !== verdicts) differs.push('verdicts');
  }
  const rewarded = await computeRewards(scope, {
    ...{ run, role, verdicts, chains, tests, replayBuffer },
    position: { stage, phase, epoch, step, role },
  });
  if (rewarded.trajectories !== artifacts.trajectories) differs.push('trajectories');
  const figures = Object.entries(rewarded.metrics).filter(([name, value]) => recorded[name as 'reward'] !== value);
  differs.push(...figures.map(([name]) => name));
  const { reward } = rewarded.metrics;
  return { step, role, reward, recorded: recorded.reward, matches: differs.length === 0, differs };
}
