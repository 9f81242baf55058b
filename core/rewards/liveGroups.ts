// Groups whose samples all have one outcome. Their advantages are zero, so they teach nothing: a batch can draw further problems
// in their place (`batch.refill`). Only outcomes decide. A shaped reward differs within a group that is all wrong, too, and an
// update on such differences can ruin a policy.
import type { Role } from '../schema/chain.js';
import type { RunConfig } from '../schema/config.js';
import type { SuiteVerdicts } from '../schema/verdicts.js';
import { passesAll } from './rule.js';

/** Problems to sample, by their places in the step's own order. */
export interface Draw {
  from: number;
  count: number;
}

type Batch = Pick<RunConfig, 'batch'>;
type Judged = Pick<SuiteVerdicts, 'verdicts'>;

/** Whether a generator step replaces groups that are not live. */
export const refills = ({ batch }: Batch): boolean => (batch.refill ?? 0) > 0;

/** Whether some programs of a problem pass their whole suite and others do not. */
export function isLive({ verdicts }: Judged): boolean {
  const right = verdicts.filter(passesAll).length;
  return right > 0 && right < verdicts.length;
}

/**
 * What a generator step draws after `draws` draws; undefined if it has its live groups, has done its rounds, or has no
 * further problem.
 * @param judged all groups so far
 * @param available the number of problems in the training split
 */
export function nextDraw(
  judged: readonly Judged[],
  draws: number,
  available: number,
  { batch }: Batch,
): Draw | undefined {
  const from = judged.length;
  const missing = batch.generator.problems - judged.filter(isLive).length;
  const count = Math.min(missing, available - from);
  return count > 0 && draws <= (batch.refill ?? 0) ? { from, count } : undefined;
}

/** Whether an update trains on a group. Without refill, it drops what has no advantage, and nothing else. */
export const isTrained = (group: Judged, role: Role, config: Batch): boolean =>
  role === 'discriminator' || !refills(config) || isLive(group);

/** The groups that a step without refill would have: figures of them compare between runs. */
export const firstDraw = <T>(groups: T[], role: Role, { batch }: Batch): T[] =>
  role === 'generator' && refills({ batch }) ? groups.slice(0, batch.generator.problems) : groups;

/** One sample of a group. */
export interface SampleResult {
  right: boolean;
  tests: string; // its results, test by test
}

/** How many groups have one outcome only, and how many have the same results in every test. */
export function countGroups(groups: readonly (readonly SampleResult[])[]) {
  const count = (holds: (group: readonly SampleResult[]) => boolean): number => groups.filter(holds).length;
  return {
    groups: groups.length,
    allRightGroups: count((group) => group.every(({ right }) => right)),
    allWrongGroups: count((group) => !group.some(({ right }) => right)),
    allEqualGroups: count((group) => new Set(group.map(({ tests }) => tests)).size <= 1),
  };
}
