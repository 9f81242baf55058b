// The data of the charts: points over policy updates, bands of stages, and the run without a discriminator.
import { planStage } from '../core/schedule.js';
import type { Role } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import { type EvaluationMetrics, recordsOf, type StepMetrics, type SupervisedMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates } from '../core/schema/run.js';
import type { ReportData } from './data.js';

export type Point = [step: number, value: number];
export type RateName = keyof EvaluationRates;

/** The part of the axis of a stage: its updates are start + 1 … end. */
export interface StageBand {
  stage: number; // 0: the warm start
  start: number;
  end: number;
}

/**
 * Finished stages as recorded, because N and K may have been changed and the run may have been stopped. Other stages, and
 * those before the start of a fork, as planned.
 */
export function stageBands(data: Pick<ReportData, 'config' | 'metrics' | 'result'>): StageBand[] {
  const length = planStage(data.config).length;
  const recorded = steps(data);
  const [first, latest] = [recorded[0], recorded.at(-1)];
  const warmStart = supervisedSteps(data).at(-1)?.step ?? 0;
  const bands: StageBand[] = warmStart > 0 ? [{ stage: 0, start: 0, end: warmStart }] : [];
  for (const stage of data.config.schedule.stages) {
    const start = bands.at(-1)?.end ?? 0;
    const last = recorded.findLast((record) => record.stage === stage)?.step;
    const isOver = data.result !== undefined || stage < (latest?.stage ?? 0);
    const isBefore = first !== undefined && stage < first.stage;
    const planned = isBefore ? Math.min(start + length, first.step - 1) : start + length;
    const end = isBefore || !isOver ? Math.max(planned, last ?? 0) : (last ?? start);
    if (end > start) bands.push({ stage, start, end });
  }
  return bands;
}

function validations(data: ReportData): EvaluationMetrics[] {
  return recordsOf(data.metrics, 'evaluation').filter(({ split }) => split === 'validation');
}

export function steps(data: Pick<ReportData, 'metrics'>, role?: Role): StepMetrics[] {
  return recordsOf(data.metrics, 'step').filter((record) => role === undefined || record.role === role);
}

/** Of the warm start. */
export function supervisedSteps({ metrics }: Pick<ReportData, 'metrics'>, role?: Role): SupervisedMetrics[] {
  return recordsOf(metrics, 'supervised').filter((record) => role === undefined || record.role === role);
}

export function validationCurve(data: ReportData, rate: RateName): Point[] {
  return validations(data).flatMap(({ step, rates }): Point[] =>
    rates[rate] === undefined ? [] : [[step, rates[rate]]],
  );
}

export function stepCurve(data: ReportData, role: Role, value: (metrics: StepMetrics) => number | undefined): Point[] {
  return steps(data, role).flatMap((metrics): Point[] => {
    const y = value(metrics);
    return y === undefined ? [] : [[metrics.step, y]];
  });
}

/**
 * The run without a discriminator has generator updates only. The point after its nth generator update is drawn at the
 * nth generator update of this run, so that the curves compare generators with equally many updates.
 */
export function controlCurve(data: ReportData, rate: RateName): Point[] {
  if (!data.control) return [];
  const own = generatorSteps(data.config);
  const theirs = generatorSteps(data.control.config);
  return [...data.control.points]
    .sort((a, b) => a.step - b.step)
    .flatMap(({ step, rates }): Point[] => {
      const value = rates[rate];
      const updates = theirs.filter((at) => at <= step).length;
      const x = updates === 0 ? 0 : own[updates - 1];
      return value === undefined || x === undefined ? [] : [[x, value]];
    });
}

/** The policy updates (1-based, in the whole run) that are the generator's. */
function generatorSteps(config: RunConfig): number[] {
  const plan = planStage(config);
  return config.schedule.stages.flatMap((_, index) =>
    plan.filter(({ role }) => role === 'generator').map(({ step }) => index * plan.length + step),
  );
}
