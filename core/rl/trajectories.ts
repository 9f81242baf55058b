// Converts rewarded chains to PPO training rows: one sequence each, with a mask over the tokens that get credit.
import { assertNever } from '../errors.js';
import type { Stage, Turn } from '../schema/chain.js';
import type { RunConfig } from '../schema/config.js';
import type { Trajectory } from '../schema/trajectory.js';
import { type Estimator, sequenceAdvantages } from './advantages.js';

export type Credit = RunConfig['credit'];
export type TokenTurn = Pick<Turn, 'stage' | 'promptTokens' | 'answerTokens'>;

/** A smaller advantage counts as zero. */
const MIN_ADVANTAGE = 1e-6;

function isTrained(stage: Stage, trained: Stage, credit: Credit): boolean {
  switch (credit) {
    case 'stage':
      return stage === trained;
    case 'suffix':
      return stage >= trained;
    default:
      return assertNever(credit);
  }
}

/** All tokens of a chain in order. */
export function sequenceOf(turns: readonly Omit<TokenTurn, 'stage'>[]): number[] {
  const none: number[] = []; // a single concat: repeated ones are slow
  return none.concat(...turns.flatMap((turn) => [turn.promptTokens, turn.answerTokens]));
}

/** Ranges [from, to) of the answers in sequenceOf(turns), without empty ones. */
export function sampledRanges(turns: readonly TokenTurn[]): [from: number, to: number][] {
  let length = 0;
  return turns.flatMap(({ promptTokens, answerTokens }): [number, number][] => {
    const from = length + promptTokens.length;
    length = from + answerTokens.length;
    return length > from ? [[from, length]] : [];
  });
}

/**
 * 1 for every sampled token (end token included) of the stages that get credit, aligned with sequenceOf(turns) and cut
 * after the last 1. Instructions are never trained, nor is entry 0, which nothing predicts.
 */
export function creditMask(turns: readonly TokenTurn[], trainedStage: Stage, credit: Credit): number[] {
  const mask: number[] = [];
  for (const { stage, promptTokens, answerTokens } of turns) {
    const trained = isTrained(stage, trainedStage, credit) ? 1 : 0;
    for (let i = 0; i < promptTokens.length; i++) mask.push(0);
    for (let i = 0; i < answerTokens.length; i++) mask.push(trained);
  }
  if (mask.length > 0) mask[0] = 0;
  return mask.slice(0, mask.lastIndexOf(1) + 1);
}

/** One rewarded sample: a chain, or a discriminator turn as a chain of one turn. */
export interface RewardedSample {
  turns: readonly TokenTurn[];
  reward: number;
}

export interface TrajectoryOptions {
  trainedStage: Stage;
  credit: Credit;
  estimator: Estimator;
  stdOffset: number;
  dropZeroVariance: boolean;
  regularised: boolean; // the loss has a KL penalty or an entropy bonus
}

/**
 * Converts groups of rewarded samples to trajectories, in order. Samples without a trained token are dropped. With
 * `dropZeroVariance`, samples without an advantage are dropped too, because they have no policy gradient. A regularised
 * loss still has a gradient for them, so there only a group in which no sample has an advantage is dropped.
 * `oldLogprobs` is all zeros until the old policy scores the rows. With GAE no advantage is known yet: every row keeps
 * its reward instead.
 */
export function toTrajectories(
  groups: readonly (readonly RewardedSample[])[],
  { trainedStage, credit, estimator, stdOffset, dropZeroVariance, regularised }: TrajectoryOptions,
): Trajectory[] {
  const rewards_P_G = groups.map((group) => group.map((sample) => sample.reward));
  const advantages_P_G = sequenceAdvantages(rewards_P_G, { estimator, stdOffset });
  const isZero = (advantage: number): boolean => Math.abs(advantage) < MIN_ADVANTAGE;
  return groups.flatMap((group, p) => {
    const advantages_G = advantages_P_G?.[p];
    const keepsZeros = !dropZeroVariance || (regularised && advantages_G?.every(isZero) === false);
    return group.flatMap((sample, g): Trajectory[] => {
      const advantage = advantages_G?.[g];
      if (!keepsZeros && advantage !== undefined && isZero(advantage)) return [];
      const mask = creditMask(sample.turns, trainedStage, credit);
      if (mask.length === 0) return [];
      const tokens = sequenceOf(sample.turns).slice(0, mask.length);
      const row = { tokens, mask, oldLogprobs: mask.map(() => 0) };
      return [advantage === undefined ? { ...row, advantage: 0, reward: sample.reward } : { ...row, advantage }];
    });
  });
}
