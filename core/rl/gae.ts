// Generalised advantage estimation (Schulman et al. 2016, "High-dimensional continuous control using generalized
// advantage estimation", eq. 16) over the trained tokens of one sequence. Instruction tokens are not time steps.

/**
 * A_t = Σ_l (γλ)^l·δ_{t+l} with δ_t = r_t + γ·V_{t+1} − V_t. t + 1 is the next trained token; V is 0 after the last one.
 * The return is A_t + V_t. Arrays are aligned with tokens: `rewards_T[t]` is the reward of token t, `values_T[t]` the
 * value of the state in which token t was sampled. Masked entries are not read and are 0 in the result.
 */
export function generalizedAdvantages(
  rewards_T: readonly number[],
  values_T: readonly number[],
  { gamma, lambda, mask_T }: { gamma: number; lambda: number; mask_T?: readonly number[] },
): { advantages: number[]; returns: number[] } {
  const advantages = values_T.map(() => 0);
  const returns = values_T.map(() => 0);
  let next = { value: 0, advantage: 0 };
  for (let t = values_T.length - 1; t >= 0; t--) {
    if (mask_T?.[t] === 0) continue;
    const value = values_T[t]!;
    const advantage = rewards_T[t]! + gamma * next.value - value + gamma * lambda * next.advantage;
    advantages[t] = advantage;
    returns[t] = advantage + value;
    next = { value, advantage };
  }
  return { advantages, returns };
}
