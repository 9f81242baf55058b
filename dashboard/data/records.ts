// Reads the records of one run, and summarises them for the list of runs.
import { withRecordedChanges } from '../../core/config/liveConfig.js';
import { mean } from '../../core/rewards/rates.js';
import { PHASES, type Phase, type PlannedStep, planStage, planWarmStart } from '../../core/run/schedule.js';
import type { ChainView } from '../../core/schema/chainView.js';
import type { RunConfig } from '../../core/schema/config.js';
import { type RunMetrics, recordsOf, type StepMetrics } from '../../core/schema/metrics.js';
import type { RunResult } from '../../core/schema/run.js';
import { readPointer } from '../../store/checkpoints.js';
import { listFolder } from '../../store/inventory.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { MANIFEST, RESULT, type RunManifest, readResult, readRun } from '../../store/runs.js';
import type { Band, RunSummary, StepRow } from '../api.js';
import { MetricsReader } from './metricsReader.js';

export interface RunRecords {
  manifest: RunManifest;
  config: RunConfig; // includes all recorded changes
  metrics: RunMetrics[]; // ordered by step
  result?: RunResult;
  chain?: ChainView; // a chain of the best checkpoint
}

/** @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT */
export async function readRunRecords(
  store: ObjectStore,
  runId: string,
  reader = new MetricsReader(store),
): Promise<RunRecords> {
  const manifest = await readRun(store, runId);
  const metrics = await reader.read(runId);
  const config = withRecordedChanges(manifest.config, controlsOf({ metrics }));
  return { manifest, config, metrics, ...(await readResult(store, runId)) };
}

/** Sorts by the index of a request, because the file name of request 10 comes before that of request 9. */
export const controlsOf = ({ metrics }: Pick<RunRecords, 'metrics'>) =>
  recordsOf(metrics, 'control').sort((a, b) => a.index - b.index);

export const stepsOf = ({ metrics }: Pick<RunRecords, 'metrics'>) => recordsOf(metrics, 'step');

export const stepRow = (record: StepMetrics): StepRow => {
  const { step, stage, phase, epoch, role, reward, passRate, validity, bugCatchRate, outcomes, rows } = record;
  return { step, stage, phase, epoch, role, reward, passRate, rows, validity, bugCatchRate, outcomes };
};

const supervisedOf = ({ metrics }: Pick<RunRecords, 'metrics'>) => recordsOf(metrics, 'supervised');

/**
 * The phases of the run in their order. The length of a finished phase is the number of its recorded updates, because the
 * planned number may have changed during the run; the length of a later phase is the planned number. A fork begins with the
 * epoch of its first update; if its origin was stopped in that epoch, the whole epoch counts until the phase is over.
 */
export function bandsOf(records: Pick<RunRecords, 'config' | 'metrics' | 'result'>): Band[] {
  const { config, result } = records;
  const recorded = [
    ...supervisedOf(records).map(({ step }) => ({ step, stage: 0, phase: 'warm-start' as const, epoch: 1 })),
    ...stepsOf(records),
  ];
  const first = recorded[0] ?? { step: 1, stage: 0, phase: 'warm-start', epoch: 1 };
  const latest = recorded.at(-1) ?? first;
  const positionOf = ({ stage, phase }: { stage: number; phase: Phase }) => 10 * stage + PHASES.indexOf(phase);
  const bands: Band[] = [];
  for (const stage of [0, ...config.schedule.stages]) {
    const plan = stage === 0 ? planWarmStart(config) : planStage(config);
    for (const phase of PHASES) {
      const position = positionOf({ stage, phase });
      if (position < positionOf(first)) continue;
      const isAhead = ({ step, epoch }: PlannedStep): boolean =>
        position > positionOf(first) || (stage === 0 ? step >= first.step : epoch >= first.epoch);
      const done = recorded.filter((step) => step.stage === stage && step.phase === phase).length;
      const planned = plan.filter((step) => step.phase === phase && isAhead(step)).length;
      const isOver = result !== undefined || position < positionOf(latest);
      const length = isOver ? done : Math.max(done, planned);
      const start = bands.at(-1)?.end ?? first.step - 1;
      if (length > 0) bands.push({ stage, phase, start, end: start + length, done });
    }
  }
  return bands;
}

/** @param recordedAt the time of the latest record of the run */
export async function summarise(
  store: ObjectStore,
  id: string,
  records: RunRecords,
  recordedAt: number,
): Promise<RunSummary> {
  const { config, result } = records;
  const [steps, supervised] = [stepsOf(records), supervisedOf(records)];
  const last = steps.at(-1);
  const latest = last ?? supervised.at(-1);
  const step = latest?.step ?? 0;
  const totalSteps = bandsOf(records).at(-1)?.end ?? step;
  const best = await readPointer(store, id, 'checkpoint_best');
  const recent = [...supervised, ...steps].slice(-20);
  const secondsPerStep = sum(recent.map(({ seconds }) => seconds)) / recent.length;
  return {
    id,
    state: result === undefined ? 'unfinished' : result.stopped === undefined ? 'finished' : 'stopped',
    model: config.model,
    ...(latest && { stage: last?.stage ?? 0, phase: last?.phase ?? 'warm-start' }),
    step,
    totalSteps,
    best: best?.name,
    bestScore: best?.score,
    sampledTokens: sum(steps.map(({ sampledTokens }) => sampledTokens)),
    seconds: sum([...supervised, ...steps].map(({ seconds }) => seconds)),
    ...(result === undefined && recent.length > 0 && { secondsLeft: secondsPerStep * (totalSteps - step) }),
    recordedAt,
    curves: {
      passRate: curveOf(steps.filter(({ role }) => role === 'generator').map(({ passRate }) => passRate)),
      validity: curveOf(steps.flatMap(({ validity = [] }) => validity)),
    },
  };
}

const CURVE = 40; // points

/** Divides the values into at most `CURVE` groups of neighbours and returns the mean of each group. */
function curveOf(values: readonly number[]): number[] {
  const size = Math.ceil(values.length / CURVE);
  const starts = values.map((_, i) => i).filter((i) => i % size === 0);
  return starts.map((i) => mean(values.slice(i, i + size)));
}

/** The time of a run's latest record, and a text that changes with every record. */
export async function lastRecord(store: ObjectStore, runId: string): Promise<{ at: number; version: string }> {
  const metrics = await listFolder(store, `runs/${runId}/metrics`);
  const ends = await Promise.all([MANIFEST, RESULT].map((path) => store.runFileUsedAt(runId, path)));
  const times = [...metrics.map(({ usedAt }) => usedAt), ...ends.map((usedAt) => usedAt ?? 0)];
  const at = Math.max(...times);
  return { at, version: `${at} ${times.filter((time) => time > 0).length}` };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
