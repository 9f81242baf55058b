// What a run writes down for people.
import type { Ref } from '../core/base/ref.js';
import type { ChainView } from '../core/schema/chainView.js';
import type { RunMetrics } from '../core/schema/metrics.js';
import type { RunResult } from '../core/schema/run.js';
import type { RunRef } from '../core/schema/runRef.js';
import { effect } from './activity.js';

export interface RecordMetricsInput {
  run: RunRef;
  metrics: RunMetrics;
}

export const recordMetrics = effect<RecordMetricsInput, { file: string }>('recordMetrics', {
  queue: 'cpu',
  summary: ({ metrics }) => `${metrics.kind} at step ${metrics.step}`,
});

export interface RenderReportInput {
  runId: string;
  result: RunResult;
  example?: Ref<ChainView[]>; // the first is shown
}

export interface RenderReportOutput {
  path?: string; // of the report; absent if no renderer is installed
}

export const renderReport = effect<RenderReportInput, RenderReportOutput>('renderReport', { queue: 'cpu' });
