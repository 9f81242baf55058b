// The metrics of gauntlet, recorded with the meter of Temporal's runtime: one endpoint serves them and those of Temporal.
// docs/how-to/monitor.md lists them.
import type { MetricMeter } from '@temporalio/common';
import { Runtime } from '@temporalio/worker';
import type { Deps } from '../chains/scope.js';
import { GauntletError } from '../core/base/errors.js';
import { ALARM_KINDS, ALARMS } from '../core/run/alarms.js';
import type { RunMetrics } from '../core/schema/metrics.js';
import { allocatedMemory, memoryBudget } from '../ml/engine/budget.js';
import { batchOf, type Observer } from './observe.js';

const STEP_SECONDS = 'gauntlet_step_seconds';
export const HISTOGRAM_BUCKETS = { [STEP_SECONDS]: [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000] };
const MAX_RUNS = 100; // the most runs of a process with their own label, because a series cannot be removed

/** Records what activities do, and the memory of this process. `installRuntime` decides whether the metrics are served. */
export function openMetrics(): { onMetrics: NonNullable<Deps['onMetrics']>; observer: Observer } {
  const { metricMeter } = Runtime.instance();
  meterMemory(metricMeter);
  return { onMetrics: stepMeter(metricMeter), observer: sandboxObserver(metricMeter) };
}

const MEMORY_INTERVAL_MS = 10_000;

function meterMemory(meter: MetricMeter): void {
  const gauge = (name: string, help: string) => meter.createGauge(name, 'int', undefined, help);
  const used = gauge('gauntlet_memory_bytes', 'Memory that this process has allocated, without mapped files');
  const budget = gauge('gauntlet_memory_budget_bytes', 'Memory that this process may use');
  const record = (): void => {
    used.set(allocatedMemory() ?? process.memoryUsage.rss());
    budget.set(memoryBudget().bytes);
  };
  record();
  setInterval(record, MEMORY_INTERVAL_MS).unref();
}

function stepMeter(meter: MetricMeter): (runId: string, metrics: RunMetrics) => void {
  const gauge = (name: string, help: string) => meter.createGauge(name, 'float', undefined, help);
  const above = gauge('gauntlet_reward_above_zero', 'Mean reward of the latest step, or 0 if it is negative');
  const below = gauge(
    'gauntlet_reward_below_zero',
    'Mean reward of the latest step without its sign, or 0 if positive',
  );
  const passRate = gauge('gauntlet_pass_rate', 'Mean fraction of tests that the programs of the latest step passed');
  const validity = gauge('gauntlet_test_validity', 'Fraction of valid tests among those generated in the latest step');
  const cut = gauge('gauntlet_answers_cut', 'Fraction of the answers of the role that were cut in the latest step');
  const empty = gauge('gauntlet_answers_empty', 'Fraction of the answers of the role without text in the latest step');
  const unfit = gauge(
    'gauntlet_prompts_unfit',
    'Fraction of the prompts of the role that did not fit in the latest step',
  );
  const alarm = gauge('gauntlet_alarm', '1 while the latest step that can raise the alarm does, else 0');
  const tokens = meter.createCounter('gauntlet_sampled_tokens_total', undefined, 'Tokens sampled for training steps');
  const seconds = meter.createHistogram(STEP_SECONDS, 'float', undefined, 'Seconds of all activities of a step');
  const runs = new Set<string>();
  return (runId, metrics) => {
    if (metrics.kind !== 'step' && metrics.kind !== 'supervised') return;
    if (runs.size < MAX_RUNS) runs.add(runId);
    const tags = { run: runs.has(runId) ? runId : 'other', role: metrics.role };
    seconds.record(metrics.seconds, tags);
    if (metrics.kind === 'supervised') return;
    above.set(Math.max(metrics.reward, 0), tags); // a gauge of the SDK refuses negative values
    below.set(Math.max(-metrics.reward, 0), tags);
    passRate.set(metrics.passRate, tags);
    if (metrics.validity !== undefined) validity.set(metrics.validity, tags);
    tokens.add(metrics.sampledTokens, tags);
    const kinds = new Set((metrics.warnings ?? []).map(({ kind }) => kind));
    for (const kind of ALARM_KINDS) {
      const { role } = ALARMS[kind];
      if (role === undefined || role === metrics.role)
        alarm.set(kinds.has(kind) ? 1 : 0, { run: tags.run, alarm: kind });
    }
    for (const [role, shares] of Object.entries(metrics.answers ?? {})) {
      const own = { ...tags, role }; // its own role, because a step samples answers of both roles
      cut.set(shares.cutRate, own);
      empty.set(shares.emptyRate, own);
      unfit.set(shares.unfitRate, own);
    }
  };
}

function sandboxObserver(meter: MetricMeter): Observer {
  const programs = meter.createCounter('gauntlet_programs_total', undefined, 'Programs that the sandbox executed');
  const faults = meter.createCounter('gauntlet_sandbox_faults_total', undefined, 'Calls that a sandbox fault ended');
  for (const counter of [programs, faults]) counter.add(0); // starts at 0, so that the first fault is an increase
  return (call) => {
    const jobs = call.port === 'sandbox' ? batchOf(call) : undefined;
    return ({ error }) => {
      if (jobs && error === undefined) programs.add(jobs.length);
      if (jobs && error instanceof GauntletError && error.code === 'SANDBOX_FAULT') faults.add(1);
    };
  };
}
