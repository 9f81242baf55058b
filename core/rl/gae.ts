// Generalised advantage estimation (Schulman et al. 2016, "High-dimensional continuous control using generalized
// advantage estimation", eq. 16) over the trained tokens of one sequence: what lies between them (instructions) is no
// decision, and time does not pass there.

/**
 * A_t = Σ_l (γλ)^l·δ_{t+l} with δ_t = r_t + γ·V_{t+1} − V_t, where t + 1 is the next trained token and V is 0 after the
 * last, where the episode ends; the return is A_t + V_t. Arrays are aligned with tokens: `rewards_T[t]` comes with token
 * t, `values_T[t]` is the estimate of the state in which token t was chosen. Without a mask every entry is a time step;
 * entries that are none are not read, and 0 in the result.
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
