// The scope of an activity has the cancellation and the heartbeat of its attempt. In tests and benchmarks there is no attempt.
import { Context } from '@temporalio/activity';
import { type Deps, openScope, type Scope } from '../chains/scope.js';

export function currentContext(): Context | undefined {
  try {
    return Context.current();
  } catch {
    return undefined;
  }
}

export function attemptScope(deps: Deps): Scope {
  const context = currentContext();
  return openScope(
    deps,
    context && { signal: context.cancellationSignal, heartbeat: (details) => context.heartbeat(details) },
  );
}
