// Decides when the warm start of a role ends, and which adapter it keeps. A role stops when its validation loss stops falling,
// and keeps its best adapter. If the validation split gives no example, it keeps the latest one.
import type { Digest, Ref } from '../base/ref.js';
import type { FreshTests } from '../inputs/freshInputs.js';
import type { Role } from '../schema/chain.js';
import type { RunConfig } from '../schema/config.js';
import type { EvaluationRates } from '../schema/run.js';
import { planOf, type SchedulePosition } from './schedule.js';

/** The state of the warm start between two steps. */
export interface WarmStart {
  tests?: Ref<FreshTests> | undefined;
  steps: number; // how many are done
  best: Partial<Record<Role, BestAdapter>>;
  rates?: EvaluationRates; // measured on the test split after the warm start
}

interface BestAdapter {
  loss?: number | undefined; // measured on the validation split
  adapter: Digest;
  stale: number; // the number of steps since the lowest loss
}

/** Counts a step of a role. If its validation loss has not fallen for `patience` steps, the role has no further steps. */
export function countWarmStartStep(
  position: SchedulePosition & { config: Pick<RunConfig, 'warmStart'> },
  warmStart: WarmStart,
  role: Role,
  trained: Pick<BestAdapter, 'loss' | 'adapter'>,
): { warmStart: WarmStart; plan: SchedulePosition['plan'] } {
  const { plan, next, config } = position;
  const before = warmStart.best[role];
  const isBetter = before?.loss === undefined || trained.loss === undefined || trained.loss < before.loss;
  const best = isBetter ? { ...trained, stale: 0 } : { ...before, stale: before.stale + 1 };
  const isOver = best.stale >= config.warmStart.patience && hasStepsLeft(position, role);
  return {
    warmStart: { ...warmStart, steps: warmStart.steps + 1, best: { ...warmStart.best, [role]: best } },
    plan: isOver ? planOf(position).filter((each, i) => i <= next || each.role !== role) : plan,
  };
}

/** The best adapter of a role after its last warm-start step. Undefined if the role has steps left, or was not trained. */
export function warmStartResult(
  position: SchedulePosition & { warmStart?: WarmStart },
  role: Role,
): BestAdapter | undefined {
  return position.stage === 0 && !hasStepsLeft(position, role) ? position.warmStart?.best[role] : undefined;
}

const hasStepsLeft = (position: SchedulePosition, role: Role): boolean =>
  planOf(position).some((each, i) => i > position.next && each.role === role);
