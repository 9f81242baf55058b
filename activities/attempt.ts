// One attempt of an activity, as the layers around it see it (layers.ts).
import { Context } from '@temporalio/activity';
import { type Deps, openScope, type Scope } from '../chains/scope.js';
import type { Environment } from '../core/schema/environment.js';
import type { Activity } from '../method/activity.js';

/** One call of an activity. A layer that changes something passes on a changed copy. */
export interface Attempt {
  activity: Activity<unknown, unknown>;
  input: unknown;
  scope: Scope;
  /** What Temporal says about the attempt. Absent in a process without Temporal. */
  info?: Context['info'] | undefined;
  /** The facts of the environment in which the activity runs. Absent if the activity does not depend on them. */
  facts?: Environment['facts'] | undefined;
}

export type Work = (attempt: Attempt) => Promise<object & { earlierSeconds?: number }>;
export type Layer = (next: Work) => Work;

export function openAttempt(deps: Deps, activity: Activity<unknown, unknown>, input: unknown): Attempt {
  const context = currentContext();
  const scope = openScope(
    deps,
    context && { signal: context.cancellationSignal, heartbeat: (details) => context.heartbeat(details) },
  );
  return { activity, input, scope, info: context?.info };
}

function currentContext(): Context | undefined {
  try {
    return Context.current();
  } catch {
    return undefined;
  }
}
