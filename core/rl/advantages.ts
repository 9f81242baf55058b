// Advantages relative to a group: samples for one problem, judged on one suite.

/**
 * (r − mean) / (std + offset) with the population's standard deviation over the G rewards of one group. The offset
 * keeps a group that differs by little from being blown up to the size of one that differs by much.
 */
export function groupAdvantages(rewards_G: readonly number[], { stdOffset }: { stdOffset: number }): number[] {
  if (rewards_G.length === 0) return [];
  const mean = rewards_G.reduce((sum, reward) => sum + reward, 0) / rewards_G.length;
  const variance = rewards_G.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards_G.length;
  const scale = Math.sqrt(variance) + stdOffset;
  // a group of equal rewards, up to rounding, says nothing; with offset 0 it would divide by it
  return rewards_G.map((reward) => (Math.sqrt(variance) < 1e-12 ? 0 : (reward - mean) / scale));
}
