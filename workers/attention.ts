// What a worker does when a run begins or ends to need a person.
import type { InjectedSinks } from '@temporalio/worker';
import { needsPerson, type RunProgress } from '../core/schema/run.js';
import { writeAttention } from '../store/runs.js';
import type { Store } from '../store/store.js';
import type { RunSinks } from '../workflows/progress.js';
import type { Logger } from './logger.js';

/** Writes the need to the store and passes it on. The workflow does not wait for that, because a store may not answer. */
export function attentionSinks(
  store: Store,
  log: Logger,
  onAttention: (progress: RunProgress) => void = () => undefined,
): InjectedSinks<RunSinks> {
  let written = Promise.resolve(); // one write after the other, because a run may go on at once
  const tell = (progress: RunProgress): void => {
    const { runId: run, state, failure } = progress;
    const need = needsPerson(progress) ? progress : undefined;
    if (need) {
      log.warn({ run, ...failure }, `the run is ${state}`);
      onAttention(need);
    }
    written = written
      .then(() => writeAttention(store, run, need))
      .catch((error: Error) => log.warn({ run }, `attention.json cannot be written: ${error.message}`));
  };
  return { attention: { tell: { fn: (_, progress) => tell(progress), callDuringReplay: false } } };
}
