// Advantages of whole sequences relative to their group (the samples of one problem) or to the batch.
import { assertNever } from '../errors.js';
import type { RunConfig } from '../schema/config.js';

export type Estimator = RunConfig['advantage']['estimator'];

/**
 * (r − mean) / (std + offset) with the population standard deviation over the G rewards of one group. The offset keeps
 * small differences within a group small.
 */
export function groupAdvantages(rewards_G: readonly number[], { stdOffset }: { stdOffset: number }): number[] {
  if (rewards_G.length === 0) return [];
  const mean = rewards_G.reduce((sum, reward) => sum + reward, 0) / rewards_G.length;
  const variance = rewards_G.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards_G.length;
  const scale = Math.sqrt(variance) + stdOffset;
  // equal rewards, up to rounding: with offset 0 this would divide by zero
  return rewards_G.map((reward) => (Math.sqrt(variance) < 1e-12 ? 0 : (reward - mean) / scale));
}

/** r − the mean of the other samples (Ahmadian et al. 2024, "Back to basics", eq. 7). A sample alone has advantage 0. */
function leaveOneOut(rewards_G: readonly number[]): number[] {
  const sum = rewards_G.reduce((total, reward) => total + reward, 0);
  const others = rewards_G.length - 1;
  return rewards_G.map((reward) => (others === 0 ? 0 : reward - (sum - reward) / others));
}

type Scale = Pick<RunConfig['advantage'], 'stdOffset' | 'negativeWeight'>;

/**
 * Multiplies negative advantages. Weight 0 trains only what was better than expected: "positive sample reinforcement" of
 * Zhu et al. 2025, "The surprising effectiveness of negative reinforcement in LLM reasoning".
 */
const weighNegative = (advantages: number[], weight: number): number[] =>
  advantages.map((advantage) => (advantage < 0 ? weight * advantage : advantage));

/** Advantages of all groups. Undefined for GAE, which estimates token advantages from the value head later. */
export function sequenceAdvantages(
  rewards_P_G: readonly (readonly number[])[],
  { estimator, stdOffset, negativeWeight }: Scale & { estimator: Estimator },
): number[][] | undefined {
  switch (estimator) {
    case 'group':
      return rewards_P_G.map((rewards_G) => weighNegative(groupAdvantages(rewards_G, { stdOffset }), negativeWeight));
    case 'leave-one-out':
      return rewards_P_G.map((rewards_G) => weighNegative(leaveOneOut(rewards_G), negativeWeight));
    case 'batch': {
      const all = weighNegative(groupAdvantages(rewards_P_G.flat(), { stdOffset }), negativeWeight);
      let next = 0;
      return rewards_P_G.map((rewards_G) => rewards_G.map(() => all[next++]!));
    }
    case 'gae':
      return undefined;
    default:
      return assertNever(estimator);
  }
}

/**
 * Normalises token advantages of a batch to mean 0 and divides by (std + offset), over the trained tokens, and weighs
 * negative ones. Others stay 0. Without this, the error of an untrained value head would be credited to every token.
 */
export function whitenAdvantages(
  rows: readonly { mask: readonly number[]; advantages: readonly number[] }[],
  { stdOffset, negativeWeight }: Scale,
): number[][] {
  const trained = rows.flatMap(({ mask, advantages }) => advantages.filter((_, t) => mask[t] === 1));
  const whitened = weighNegative(groupAdvantages(trained, { stdOffset }), negativeWeight);
  let next = 0;
  return rows.map(({ mask }) => mask.map((bit) => (bit === 1 ? whitened[next++]! : 0)));
}
