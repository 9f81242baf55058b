// What a worker does when a run begins or ends to need a person.
import { type InjectedSinks, Runtime } from '@temporalio/worker';
import type { RunProgress } from '../core/schema/run.js';
import { writeAttention } from '../store/runs.js';
import type { Store } from '../store/store.js';
import type { RunSinks } from '../workflows/progress.js';
import type { Logger } from './logger.js';

/** Shows the need as a metric, passes it on, and writes it to the store. The workflow waits for none of that. */
export function attentionSinks(store: Store, log: Logger, onAttention?: (need: RunProgress) => void) {
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
