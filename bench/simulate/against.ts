// Compares a prediction with the records of a run.
import type { RunConfig } from '../../core/schema/config.js';
import { openStore } from '../../store/openStore.js';
import { readInput, readMetrics, readRun } from '../../store/runs.js';
import { BenchError } from '../options.js';
import { type Lengths, predict, type Setting, sampledTokens } from './simulate.js';

export interface MeasuredRun {
  config: RunConfig;
  steps: number;
  sampledTokens: number; // of a mean step
  trained: number; // share of samples in updates
  seconds: number; // of all activities of a mean step, without evaluations
}

/** @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT; BenchError if the run has no steps */
export async function readRunFigures(store: string, runId: string): Promise<MeasuredRun> {
  const opened = await openStore(store);
  const { config: identity } = await readRun(opened, runId);
  const config = (await readInput(opened, runId)) ?? identity; // only the input has the number of shards
  const steps = (await readMetrics(opened, runId)).filter((record) => record.kind === 'step');
  if (steps.length === 0) throw new BenchError(`run ${runId} has no finished step`);
  const mean = (of: (step: (typeof steps)[number]) => number) =>
    steps.reduce((sum, step) => sum + of(step), 0) / steps.length;
  const samplesOf = ({ problems, samples }: { problems: number; samples: number }) => problems * samples;
  return {
    config,
    steps: steps.length,
    sampledTokens: mean((step) => step.sampledTokens),
    trained: mean(({ rows, role }) => rows / samplesOf(config.batch[role])),
    seconds: mean(({ seconds }) => seconds),
  };
}

/** The lengths with which a mean step samples and trains as much as the run did. */
export function lengthsOf(run: MeasuredRun, lengths: Lengths): Lengths {
  const factor = run.sampledTokens / sampledTokens(run.config, lengths);
  return { ...lengths, trained: run.trained, answer: lengths.answer * factor, test: lengths.test * factor };
}

export interface Comparison {
  steps: number;
  predicted: number; // seconds of all activities of a mean step
  measured: number;
  ratio: number; // predicted / measured
}

/**
 * Records count the slowest shard, as if every shard had a worker, and neither evaluations nor what lies between two
 * activities.
 */
export function compare(run: MeasuredRun, given: Omit<Setting, 'workers' | 'shards'>): Comparison {
  const setting = { ...given, workers: run.config.engine.shards };
  const dispatch = setting.parts.activitySeconds.value;
  const predicted = predict(setting)
    .phases.filter(({ name }) => name !== 'evaluate')
    .reduce((sum, { seconds, inRow }) => sum + seconds - inRow * dispatch, 0);
  return { steps: run.steps, predicted, measured: run.seconds, ratio: predicted / run.seconds };
}
