// Reinforcement of a writer on frozen programs of the train split, without the product's workflow, whose programs come from a
// generator.
import type { Value } from '../../../core/schema/value.js';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';
import { FROZEN } from '../frozen.js';
import { promptOf } from './corpus.js';
import { practise } from './ppo.js';
import { REWARD_OF, type RewardName } from './reward.js';
import { readInputs } from './sample.js';

export interface Reinforcement {
  reward: RewardName;
  seed: number;
  updates: number;
  isBlind: boolean;
}

const PROGRAMS = 16; // of an update

/** A list of numbers and two numbers. An untrained writer writes others, too. */
const isTyped = ([nums, a, b]: Value[]): boolean => Array.isArray(nums) && [...nums, a, b].every(Number.isSafeInteger);

const PRACTICE = { name: 'keyhole-reinforce', rate: 2e-3, longest: 128 };

/** The adapter after all updates. */
export async function reinforce(
  engine: Engine,
  { reward, seed, updates, isBlind }: Reinforcement,
  say: (line: string) => void,
): Promise<Adapter> {
  const problems = FROZEN.keyhole('train');
  const { adapter } = await practise(
    engine,
    { ...PRACTICE, seed, updates },
    (random) =>
      random.sample(problems, PROGRAMS).map((problem) => {
        const program = random.choice(problem.wrong);
        return {
          prompt: promptOf(problem.description, isBlind ? undefined : program.code),
          rewards: (answers) =>
            REWARD_OF[reward](
              problem,
              program,
              answers.map((tokens) => readInputs(engine, tokens).filter(isTyped)),
            ),
        };
      }),
    say,
  );
  return adapter;
}
