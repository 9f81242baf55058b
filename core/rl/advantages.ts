// Advantages of whole sequences relative to their group, the samples of one problem.

/** Added to the standard deviation, so that small differences within a group give small advantages. */
const STD_OFFSET = 0.05;

export interface Estimate {
  negativeWeight: number; // multiplies negative advantages
  stdOffset?: number;
}

/**
 * (r − mean) / (std + offset) with the population standard deviation over the G rewards of one group. Weight 0 trains only
 * what was better than the group: "positive sample reinforcement" of Zhu et al. 2025, "The surprising effectiveness of
 * negative reinforcement in LLM reasoning".
 */
export function groupAdvantages(
  rewards_G: readonly number[],
  { negativeWeight, stdOffset = STD_OFFSET }: Estimate,
): number[] {
  if (rewards_G.length === 0) return [];
  const mean = rewards_G.reduce((sum, reward) => sum + reward, 0) / rewards_G.length;
  const variance = rewards_G.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards_G.length;
  const scale = Math.sqrt(variance) + stdOffset;
  return rewards_G.map((reward) => {
    // equal rewards, up to rounding: with offset 0 this would divide by zero
    const advantage = Math.sqrt(variance) < 1e-12 ? 0 : (reward - mean) / scale;
    return advantage < 0 ? negativeWeight * advantage : advantage;
  });
}
