// Advantages of whole sequences, relative to others: to the samples for one problem judged on one suite, or to the batch.
import { assertNever } from '../errors.js';
import type { RunConfig } from '../schema/config.js';

export type Estimator = RunConfig['advantage']['estimator'];

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

/** Group by group; undefined for GAE, which estimates them token by token once a value head has spoken. */
export function sequenceAdvantages(
  rewards_P_G: readonly (readonly number[])[],
  { estimator, stdOffset }: { estimator: Estimator; stdOffset: number },
): number[][] | undefined {
  switch (estimator) {
    case 'group':
      return rewards_P_G.map((rewards_G) => groupAdvantages(rewards_G, { stdOffset }));
    case 'batch': {
      const all = groupAdvantages(rewards_P_G.flat(), { stdOffset });
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
 * Token advantages of a batch, moved to mean 0 and divided by (std + offset) over the trained tokens; others stay 0.
 * What a value head does not know yet would else be credited to every token alike.
 */
export function whitenAdvantages(
  rows: readonly { mask: readonly number[]; advantages: readonly number[] }[],
  { stdOffset }: { stdOffset: number },
): number[][] {
  const trained = rows.flatMap(({ mask, advantages }) => advantages.filter((_, t) => mask[t] === 1));
  const whitened = groupAdvantages(trained, { stdOffset });
  let next = 0;
  return rows.map(({ mask }) => mask.map((bit) => (bit === 1 ? whitened[next++]! : 0)));
}
