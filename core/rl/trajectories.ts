// Converts rewarded chains to PPO training rows: one sequence each, with a mask over the tokens that get credit.
import type { Stage, Turn } from '../schema/chain.js';
import type { RunConfig } from '../schema/config.js';
import type { Trajectory } from '../schema/trajectory.js';
import { type Estimate, groupAdvantages } from './advantages.js';

export type Credit = RunConfig['credit'];
export type TokenTurn = Pick<Turn, 'stage' | 'promptTokens' | 'answerTokens' | 'thinking' | 'logprobs'>;

/** A smaller advantage counts as zero. */
const MIN_ADVANTAGE = 1e-6;

const isTrained = (stage: Stage, trained: Stage, credit: Credit): boolean =>
  credit === 'stage' ? stage === trained : stage >= trained;

type Tokens = Omit<TokenTurn, 'stage'>;

/** All tokens of a chain in order. The thinking of all turns but the last is left out, as in the prompt of the last one. */
export const sequenceOf = (turns: readonly Tokens[]): number[] =>
  joined([...turns.slice(0, -1).map(withoutThinking), ...turns.slice(-1)]);

/** The prompt of a turn: the earlier turns without their thinking, followed by the turn's instruction. */
export const promptOf = (turns: readonly Tokens[], instruction: number[]): number[] =>
  sequenceOf([...turns, { promptTokens: instruction, answerTokens: [] }]);

function joined(turns: readonly Tokens[]): number[] {
  const none: number[] = []; // one concat of all turns, because repeated concats are slow
  return none.concat(...turns.flatMap((turn) => [turn.promptTokens, turn.answerTokens]));
}

function withoutThinking(turn: Tokens): Tokens {
  const { promptTokens, answerTokens, thinking } = turn;
  if (!thinking) return turn;
  const [from, to] = thinking;
  return {
    promptTokens: promptTokens.slice(0, from),
    answerTokens: answerTokens.slice(Math.max(0, to - promptTokens.length)),
  };
}

/**
 * The ranges [from, to) of non-empty answers in the prompt of a next turn. Answers whose thinking was removed are left out:
 * they are at other positions than when they were sampled, so the engine reads them like a prompt.
 */
export function sampledRanges(turns: readonly TokenTurn[]): [from: number, to: number][] {
  let length = 0;
  return turns.flatMap((turn): [number, number][] => {
    const { promptTokens, answerTokens } = withoutThinking(turn);
    const from = length + promptTokens.length;
    length = from + answerTokens.length;
    return length > from && !turn.thinking ? [[from, length]] : [];
  });
}

/**
 * The rows that train a chain: one row, unless turns have thinking. Later turns do not see the thinking of a turn, so each turn
 * with thinking ends a row. A row trains the turns that the rows before it do not train. Rows without a trained token are left out.
 */
export function trainedRows(
  turns: readonly TokenTurn[],
  trainedStage: Stage,
  credit: Credit,
): Pick<Trajectory, 'tokens' | 'mask' | 'rolloutLogprobs'>[] {
  const ends = turns.flatMap(({ thinking }, i) => (thinking || i === turns.length - 1 ? [i + 1] : []));
  return ends.flatMap((end, i) => {
    const start = ends[i - 1] ?? 0;
    const context = promptOf(turns.slice(0, start), []);
    const own = turns.slice(start, end);
    const trained = creditMask(own, trainedStage, credit);
    if (trained.length === 0) return [];
    const mask = [...context.map(() => 0), ...trained];
    const row = { tokens: [...context, ...joined(own)].slice(0, mask.length), mask };
    if (!own.some(({ logprobs }) => logprobs)) return [row];
    const rolloutLogprobs = [...context.map(() => 0), ...sampledLogprobs(own)].slice(0, mask.length);
    return [{ ...row, rolloutLogprobs }];
  });
}

/** The server's log-probs, aligned with the tokens of the turns; 0 for instructions. */
const sampledLogprobs = (turns: readonly TokenTurn[]): number[] =>
  turns.flatMap(({ promptTokens, answerTokens, logprobs }) => [
    ...promptTokens.map(() => 0),
    ...(logprobs ?? answerTokens.map(() => 0)),
  ]);

/**
 * 1 for every sampled token (end token included) of the stages that get credit, for turns without thinking before the
 * last one: aligned with sequenceOf(turns) and cut after the last 1. Instructions are never trained, nor is entry 0,
 * which nothing predicts.
 */
export function creditMask(turns: readonly TokenTurn[], trainedStage: Stage, credit: Credit): number[] {
  const mask = turns.flatMap(({ stage, promptTokens, answerTokens }): number[] => {
    const trained = isTrained(stage, trainedStage, credit) ? 1 : 0;
    return [...promptTokens.map(() => 0), ...answerTokens.map(() => trained)];
  });
  if (mask.length > 0) mask[0] = 0;
  return mask.slice(0, mask.lastIndexOf(1) + 1);
}

/** One rewarded sample: a chain, or a discriminator turn as a chain of one turn. */
export interface RewardedSample {
  turns: readonly TokenTurn[];
  reward: number;
}

export interface TrajectoryOptions extends Estimate {
  trainedStage: Stage;
  credit: Credit;
  regularised: boolean; // whether the loss has a KL penalty or an entropy bonus
}

/**
 * Converts groups of rewarded samples to trajectories, in order. Samples without a trained token are dropped, and so are
 * samples without an advantage, because they have no policy gradient. A regularised loss still has a gradient for them,
 * so there only a group in which no sample has an advantage is dropped. `oldLogprobs` is all zeros until the old policy
 * scores the rows.
 */
export function toTrajectories(
  groups: readonly (readonly RewardedSample[])[],
  { trainedStage, credit, regularised, ...estimate }: TrajectoryOptions,
): Trajectory[] {
  const isZero = (advantage: number): boolean => Math.abs(advantage) < MIN_ADVANTAGE;
  return groups.flatMap((group) => {
    const advantages_G = groupAdvantages(
      group.map((sample) => sample.reward),
      estimate,
    );
    const keepsZeros = regularised && !advantages_G.every(isZero);
    return group.flatMap((sample, g): Trajectory[] => {
      const advantage = advantages_G[g]!;
      if (!keepsZeros && isZero(advantage)) return [];
      return trainedRows(sample.turns, trainedStage, credit).map(
        (row): Trajectory => ({ ...row, oldLogprobs: row.mask.map(() => 0), advantage }),
      );
    });
  });
}
