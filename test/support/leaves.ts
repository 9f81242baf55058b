// Activities of one test, inside the layers of a worker.
import { openAttempt } from '../../activities/attempt.js';
import { type Implementation, openLeaves } from '../../activities/layers.js';
import type { Deps, Scope } from '../../chains/scope.js';
import { result, type Timed } from '../../method/activity.js';

/** Activities whose results are stored. They can compute each other's lost artifacts again. */
export function memoisedBy(deps: Deps) {
  const leaf = openLeaves(deps);
  return <I, O extends object>(name: string, version: number, run: (scope: Scope, input: I) => Promise<O>) => {
    const activity = result<I, O>(name, version, { queue: 'cpu' });
    const work = leaf(activity, run as Implementation<I, Timed<O>>);
    return (input: I) => work(openAttempt(deps, activity as never, input)) as Promise<Timed<O>>;
  };
}
