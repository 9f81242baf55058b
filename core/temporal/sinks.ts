// What a run tells the worker that serves it, outside of its history.
import type { RunProgress } from '../schema/run.js';

export type RunSinks = {
  attention: {
    /** Called when the run begins or ends to wait for a decision, and when it fails. */
    tell(progress: RunProgress): void;
  };
};

/** Whether a person must do something, so that the run goes on. */
export const needsPerson = ({ state }: Pick<RunProgress, 'state'>): boolean =>
  state === 'waiting' || state === 'failed';
