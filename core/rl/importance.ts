// Measures and corrects the mismatch between the server that samples and the engine that trains. Both have the same weights,
// but round differently, so the samples are slightly off-policy. Truncated importance sampling multiplies the policy loss
// of a token by min(C, π_engine / π_server) (Yao et al. 2025, "Your Efficient RL Framework Secretly Brings You Off-Policy
// RL Training", https://fengyao.notion.site/off-policy-rl).

/** Statistics over tokens that the server sampled. */
export interface Mismatch {
  rolloutKl: number; // mean of r − 1 − log r with r = π_engine / π_server: k3 estimate of KL(server ‖ engine), never negative
  rolloutDifference: number; // mean |log r|
  truncatedFraction: number; // tokens with r > C
}

/** Log-probs of the same tokens according to the engine and to the server. Tokens with mask 0 do not count. */
export interface ScoredTokens {
  engine_T: readonly number[];
  server_T: readonly number[];
  mask_T: readonly number[];
}

export const MAX_WEIGHT = 2; // the bound C above

export const importanceWeight = (engine: number, server: number): number =>
  Math.min(MAX_WEIGHT, Math.exp(engine - server));

/** Averages over all tokens that count. Without such a token, all statistics are 0. */
export function measureMismatch(rows: readonly ScoredTokens[]): Mismatch {
  const sums = { kl: 0, difference: 0, truncated: 0, tokens: 0 };
  for (const { engine_T, server_T, mask_T } of rows) {
    mask_T.forEach((mask, t) => {
      if (mask === 0) return;
      const logRatio = engine_T[t]! - server_T[t]!;
      sums.kl += Math.expm1(logRatio) - logRatio;
      sums.difference += Math.abs(logRatio);
      sums.truncated += Math.exp(logRatio) > MAX_WEIGHT ? 1 : 0;
      sums.tokens++;
    });
  }
  const mean = (sum: number): number => sum / Math.max(sums.tokens, 1);
  return {
    rolloutKl: mean(sums.kl),
    rolloutDifference: mean(sums.difference),
    truncatedFraction: mean(sums.truncated),
  };
}

/** Multiplies advantages by importance weights. This weights the policy loss, which is always proportional to the advantage. */
export function weightedAdvantages(
  advantages_T: readonly number[],
  { engine_T, server_T, mask_T }: ScoredTokens,
): number[] {
  return advantages_T.map((advantage, t) =>
    mask_T[t] === 0 ? advantage : advantage * importanceWeight(engine_T[t]!, server_T[t]!),
  );
}
