// What a worker does when a run begins or ends to need a person.
import { ApplicationFailure } from '@temporalio/common';
import { type ActivityInterceptorsFactory, type InjectedSinks, Runtime } from '@temporalio/worker';
import type { RunProgress } from '../core/schema/run.js';
import { writeAttention } from '../store/runs.js';
import type { Store } from '../store/store.js';
import type { RunSinks } from '../workflows/progress.js';
import type { Logger } from './logger.js';

/** A run, and why it waits, has failed, or is retried again and again. */
export type Need = Pick<RunProgress, 'runId' | 'failure' | 'requested'> & { state: RunProgress['state'] | 'retrying' };

const [TOLD_AT, TOLD_EVERY] = [6, 120]; // attempts: half a minute after the first one, and every hour

/** Tells of an activity of a training run that fails again and again, since it is retried for as long as its fault lasts. */
export const retryTeller =
  (tell: (need: Need) => void): ActivityInterceptorsFactory =>
  ({ info }) => ({
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          const isDue = info.attempt >= TOLD_AT && (info.attempt - TOLD_AT) % TOLD_EVERY === 0;
          if (isDue && info.workflowType === 'trainFullPipeline' && isRetried(error)) {
            const { message, type } = error;
            const failure = { activity: info.activityType, code: type ?? 'FAULT', message, inStep: false };
            tell({ runId: info.workflowExecution?.workflowId ?? '', state: 'retrying', failure });
          }
          throw error;
        }
      },
    },
  });

const isRetried = (error: unknown): error is ApplicationFailure =>
  error instanceof ApplicationFailure && !error.nonRetryable && error.type !== 'BUSY';

/** Shows the need as a metric, passes it on, and writes it to the store. The workflow waits for none of that. */
export function attentionSinks(store: Store, log: Logger, onAttention?: (need: Need) => void) {
  const help = 'A run waits for a decision (0 or 1)';
  const gauge = Runtime.instance().metricMeter.createGauge('gauntlet_run_waiting', 'int', undefined, help);
  const measured = new Set<string>(); // the runs that have waited: others have no series
  let written = Promise.resolve(); // one write after the other, because a run may go on at once
  const tell = (run: string, need: RunProgress | undefined): void => {
    const waits = need?.state === 'waiting';
    if (waits) measured.add(run);
    if (measured.has(run)) gauge.set(Number(waits), { run });
    if (need) {
      log.warn({ run, ...need.failure }, `the run is ${need.state}`);
      onAttention?.(need);
    }
    written = written
      .then(() => writeAttention(store, run, need))
      .catch((error: Error) => log.warn({ run }, `attention.json cannot be written: ${error.message}`));
  };
  const fn: InjectedSinks<RunSinks>['attention']['tell']['fn'] = ({ workflowId }, need) => tell(workflowId, need);
  return { attention: { tell: { fn, callDuringReplay: false } } };
}
