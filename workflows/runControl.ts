// How people control a run: updates with validators. decisions.ts waits for decisions about activities that failed.
import { defineUpdate, setHandler } from '@temporalio/workflow';
import type { Decision, Request, RequestQueue } from '../core/run/control.js';
import type { Decisions } from './decisions.js';
import type { RunMonitor } from './progress.js';

/** Each update returns one line that says what will happen. */
const EFFECTS: Record<Request['kind'], string> = {
  pause: 'pauses after the current step',
  resume: 'continues',
  stop: 'stops after the current step',
  change: 'takes effect from the next step on',
};

/** Handles updates, also those that have arrived already. */
export function handleUpdates(monitor: RunMonitor, queue: RequestQueue, decisions: Decisions): void {
  const accept = (request: Pick<Request, 'kind'>): string => {
    queue.accept({ ...request, at: new Date().toISOString() } as Request);
    monitor.update({});
    return `${EFFECTS[request.kind]} (steps done: ${monitor.progress.step})`;
  };
  for (const kind of ['pause', 'resume', 'stop'] as const) {
    setHandler(defineUpdate<string>(kind), () => accept({ kind }), { validator: () => queue.validate(kind) });
  }
  const changeUpdate = defineUpdate<string, [Record<string, unknown>]>('change'); // e.g. {ppo: {learningRate: 0.001}}
  setHandler(changeUpdate, (fields) => accept({ kind: 'change', fields } as Request), {
    validator: (fields) => queue.validate('change', fields),
  });
  setHandler(defineUpdate<string, [Decision]>('decide'), (decision) => decisions.accept(decision), {
    validator: (decision) => decisions.validate(decision),
  });
}
