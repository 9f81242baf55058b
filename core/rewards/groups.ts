// How many groups have samples with one outcome only: their advantages are zero, so they teach nothing.

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
