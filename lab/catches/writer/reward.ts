// What a turn of a writer earns in reinforcement.
import { REWARD_RULES } from '../../../core/rewards/rewards.js';
import type { Value } from '../../../core/schema/value.js';
import type { FrozenProblem, Program, WrongProgram } from '../programs.js';
import { INPUTS } from './corpus.js';

export const REWARDS = ['product', 'near'] as const;
export type RewardName = (typeof REWARDS)[number];

type Turns = readonly (readonly Value[][])[]; // the readable inputs of each sample of a group

const differs = ({ reference }: FrozenProblem, program: WrongProgram, input: Value[]): boolean =>
  reference.run(input) !== program.run(input);

/** The product's rule `shifted`: valid, invalid and catching shares. Every readable input is valid here. */
function product(problem: FrozenProblem, program: WrongProgram, group: Turns): number[] {
  const turns = group.map((inputs) => ({
    tests: inputs.map((input) => ({
      inputs: JSON.stringify(input),
      valid: true,
      caught: differs(problem, program, input),
    })),
    lost: INPUTS - inputs.length,
  }));
  const weights = { valid: 0.4, invalid: 0.6, caught: 0.6 };
  return REWARD_RULES.shifted.discriminator(turns, { diversityCredit: true, weights });
}

const CAUGHT = 0.6;
const NEAR = 0.4;
const FAR = 10; // a distance of 2^FAR earns nothing

/** Marginal: one catch earns all, another one nothing; and what comes nearer to a condition than the other inputs of the turn. */
function near(problem: FrozenProblem, program: WrongProgram, group: Turns): number[] {
  return group.map((inputs) => {
    if (inputs.length === 0) return -1;
    const caught = inputs.some((input) => differs(problem, program, input));
    const lost = 1 - inputs.length / INPUTS;
    return (caught ? CAUGHT : 0) + NEAR * nearness([problem.reference, program], inputs) - lost;
  });
}

/** Mean over all conditions of both programs; 1 if inputs of the turn meet each of them. */
export function nearness(programs: readonly Program[], inputs: readonly Value[][]): number {
  const shares = programs.flatMap((program) => {
    const best = new Map<string, number>(program.conditions!.map((condition) => [condition, 0]));
    for (const input of inputs) {
      for (const { condition, distance } of program.trace!(input)) {
        const share = Math.max(0, 1 - Math.log2(1 + distance) / FAR);
        best.set(condition, Math.max(best.get(condition)!, share));
      }
    }
    return [...best.values()];
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

export const REWARD_OF: Record<RewardName, typeof near> = { product, near };
