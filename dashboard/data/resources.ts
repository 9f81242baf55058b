// The read-only API of the server: maps a path to the JSON of a resource (api.ts). A report embeds some of these resources.
import { GauntletError } from '../../core/base/errors.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { readRun } from '../../store/runs.js';
import { CachedStore } from './cachedStore.js';
import { readDiff } from './diff.js';
import { History } from './history.js';
import { MetricsReader } from './metricsReader.js';
import { stepsOf } from './records.js';
import { readGroup, readRollouts, stepView } from './rollouts.js';
import { readRunView } from './run.js';
import { RunLister } from './runs.js';
import { readTokens, ScoredRows } from './tokens.js';

export interface Resources {
  /** @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT | BAD_INPUT */
  read(path: string): Promise<unknown>;
}

export function openResources(files: ObjectStore): Resources {
  const store = new CachedStore(files);
  const metrics = new MetricsReader(store);
  const lister = new RunLister(store, metrics);
  const scored = new ScoredRows(store);
  const history = new History(store);

  async function read(path: string): Promise<unknown> {
    const [collection, run, part, step, of, group, detail, ...rest] = path.split('/').map(decoded);
    if (path === 'versions') return lister.versions();
    if (collection === 'diff' && run !== undefined && part !== undefined && step === undefined)
      return readDiff(store, metrics, history, [run, part]);
    if (collection !== 'runs' || rest.length > 0) throw unknown(path);
    if (run === undefined) return lister.list();
    if (part === undefined) return readRunView(store, run, metrics);
    await readRun(store, run); // reports an unknown run
    const steps = stepsOf({ metrics: await metrics.read(run) });
    if (part === 'problems' && step === undefined) return history.problems(steps);
    if (part === 'stages' && step === undefined) return history.stages(steps);
    if (part !== 'steps' || step === undefined) throw unknown(path);
    const record = steps.find((each) => String(each.step) === step);
    if (record === undefined) throw new GauntletError('NOT_FOUND', `no step ${step} of run '${run}' is recorded`);
    const rollouts = await readRollouts(store, record);
    if (of === undefined) return stepView(run, steps, rollouts);
    if (of === 'groups' && group !== undefined) {
      if (detail === undefined) return readGroup(store, run, rollouts, Number(group));
      if (detail === 'tokens') {
        const recordedAt = (await store.runFileUsedAt(run, `metrics/${record.step}.json`)) ?? 0;
        return readTokens(store, scored, rollouts, Number(group), recordedAt);
      }
    }
    throw unknown(path);
  }

  return { read };
}

const unknown = (path: string): GauntletError => new GauntletError('NOT_FOUND', `no resource '${path}'`);

/** @throws GauntletError BAD_INPUT */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new GauntletError('BAD_INPUT', `'${part}' is not a valid part of a path`);
  }
}
