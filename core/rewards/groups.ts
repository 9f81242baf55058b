// Counts groups whose samples all have the same outcome. Their advantages are zero, so they teach nothing.

/** One sample of a group. */
export interface SampleResult {
  right: boolean;
  tests: string; // the sample's results, test by test
}

/** The number of groups in which all samples have one outcome, and in which all samples have the same results in every test. */
export function countGroups(groups: readonly (readonly SampleResult[])[]) {
  const count = (holds: (group: readonly SampleResult[]) => boolean): number => groups.filter(holds).length;
  return {
    groups: groups.length,
    allRightGroups: count((group) => group.every(({ right }) => right)),
    allWrongGroups: count((group) => !group.some(({ right }) => right)),
    allEqualGroups: count((group) => new Set(group.map(({ tests }) => tests)).size <= 1),
  };
}
