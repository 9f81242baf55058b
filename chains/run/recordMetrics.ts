// Writes one record of a run: a policy update, an evaluation or a control request. Writing it again is idempotent.
import type { RunMetrics } from '../../core/schema/metrics.js';
import type { RecordMetricsInput } from '../../method/records.js';
import { writeMetrics } from '../../store/runs.js';
import type { Scope } from '../scope.js';

export async function recordMetrics(scope: Scope, { run, metrics }: RecordMetricsInput): Promise<{ file: string }> {
  const name = fileName(metrics);
  await writeMetrics(scope.store, run.runId, name, metrics);
  scope.deps.log?.info({ run: run.runId, ...brief(metrics) }, metrics.kind);
  if ('warnings' in metrics)
    for (const { message, ...warning } of metrics.warnings ?? [])
      scope.deps.log?.warn({ run: run.runId, step: metrics.step, ...warning }, message);
  scope.deps.onMetrics?.(run.runId, metrics);
  return { file: `metrics/${name}.json` };
}

function fileName(metrics: RunMetrics): string | number {
  if (metrics.kind === 'step' || metrics.kind === 'supervised') return metrics.step;
  return `${metrics.step}-${metrics.kind === 'control' ? `control-${metrics.index}` : metrics.split}`;
}

function brief(metrics: RunMetrics): object {
  if (metrics.kind === 'control') return metrics;
  if (metrics.kind === 'evaluation') return { step: metrics.step, split: metrics.split, ...metrics.rates };
  if (metrics.kind === 'supervised') {
    const { step, role, loss, validationLoss, seconds } = metrics;
    return { step, role, loss, validationLoss, seconds };
  }
  const { step, stage, phase, role, reward, passRate, validity, tokensPerSecond, seconds } = metrics;
  return { step, stage, phase, role, reward, passRate, validity, tokensPerSecond, seconds };
}
