// createActivities: the only door from workflows to the world.
import { composites } from './composites.js';
import type { ActivityDeps } from './scope.js';
import { createUnits } from './units.js';

export type { ActivityDeps, ActivityLog } from './scope.js';

/** What a worker serves: the units, and the rows of them that workflows call. */
export function createActivities(deps: ActivityDeps) {
  const units = createUnits(deps);
  return { ...units, ...composites(units) };
}

export type Activities = ReturnType<typeof createActivities>;
