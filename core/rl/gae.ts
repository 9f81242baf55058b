// Generalised advantage estimation (Schulman et al. 2016, eqs. 11 and 16) over the trained tokens of one sequence: what
// lies between them (instructions) is no decision, and time does not pass there.

/**
 * `values[t]`: the value head's estimate of the state in which token t was chosen. The reward comes with the last
 * trained token, where the episode ends. Entries of other tokens are 0.
 * δ = r + γ·V' − V, A = δ + γλ·A', return = A + V; the primes are those of the next trained token.
 */
export function generalizedAdvantages(
  { mask, values, reward }: { mask: readonly number[]; values: readonly number[]; reward: number },
  { gamma, lambda }: { gamma: number; lambda: number },
): { advantages: number[]; returns: number[] } {
  const advantages = mask.map(() => 0);
  const returns = mask.map(() => 0);
  let next: { value: number; advantage: number } | undefined;
  for (let t = mask.length - 1; t >= 0; t--) {
    if (mask[t] !== 1) continue;
    const value = values[t]!;
    const delta = next === undefined ? reward - value : gamma * next.value - value;
    const advantage = delta + gamma * lambda * (next?.advantage ?? 0);
    advantages[t] = advantage;
    returns[t] = advantage + value;
    next = { value, advantage };
  }
  return { advantages, returns };
}
