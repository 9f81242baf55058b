// The activities that write the records of a run for people.
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
  example?: Ref<ChainView[]>; // the report shows the first one
}

/** The output has the path of the report, unless no renderer is installed. */
export const renderReport = effect<RenderReportInput, { path?: string }>('renderReport', { queue: 'cpu' });
