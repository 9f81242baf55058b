// Recomputes the rewards of a past step from its recorded artifacts, without a model: what an update was trained on can
// be checked by anyone who has the store.
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
  differs: string[]; // names of what is not as recorded: verdicts, trajectories or a figure
}

/** Recorded steps of a run. @throws GauntletError NOT_FOUND */
export async function recordedSteps({ store }: Pick<ActivityDeps, 'store'>, runId: string): Promise<StepMetrics[]> {
  await readRun(store, runId);
  const parsed = (await readMetrics(store, runId)).map((record) => stepMetricsSchema.safeParse(record));
  return parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
}

/** What programs were judged with, by `suiteKey` of their chains and verdicts. */
export type ExecutedSuites = ReadonlyMap<string, Pick<ExecuteSuiteInput, 'tests'>>;

const suiteKey = (chains: Digest | undefined, verdicts: Digest): string => `${chains ?? ''} ${verdicts}`;

/** Reads which suites were executed off the store's records of what was computed: steps do not name generated tests. */
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
 * With `executed` the programs are run again too, and their verdicts compared.
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
  // rewards and verdicts ask for no model: a run's bases are none of theirs
  const run = { runId, config, problems } as RunRef;
  const differs: string[] = [];
  if (executed) {
    const suite = { run, per: role === 'generator' ? 'problem' : 'target', suite: 'baseline', chains } as const;
    const judged = tests === undefined ? executed.get(suiteKey(chains, verdicts)) : { tests };
    if (judged === undefined) {
      const gone = 'the record of the tests that its programs ran on is gone (gauntlet store gc removes old ones)';
      throw new GauntletError('NOT_FOUND', `step ${step} of run ${runId}: ${gone}; replay it without --execute`);
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
