// The generator sees a test that its program fails, and writes the program again. The second program is the one that is judged;
// both are trained.
import { extendKey } from '../../core/random.js';
import { promptOf } from '../../core/rl/trajectories.js';
import type { Chain } from '../../core/schema/chain.js';
import type { GenerateReasoningOutput, RepairProgramsInput } from '../../method/sample.js';
import type { Scope } from '../scope.js';
import { openSampling } from './generateReasoning.js';
import { repairPrompt } from './sampling.js';

export async function repairPrograms(scope: Scope, input: RepairProgramsInput): Promise<GenerateReasoningOutput> {
  const { role, batchKey, sample } = await openSampling(scope, input);
  const { engine, chat, config } = role;
  const chains = await scope.store.getJson(input.chains);
  const failures = await scope.store.getJson(input.failures);
  const rows = new Map(
    chains.flatMap((chain, i) => {
      const failure = failures[i];
      if (!failure) return [];
      const prompt = repairPrompt(chat, config, chain.turns, failure);
      const key = extendKey(batchKey, chain.problemId, chain.sample, 'repair');
      // without room for an answer, the first program stays
      if (promptOf(chain.turns, prompt).length >= engine.info.contextLength) return [];
      return [[chain, { failure, row: { turns: chain.turns, prompt, key } }] as const];
    }),
  );
  const { turns, tokens } = await sample([...rows.values()].map(({ row }) => row));
  const written = [...rows].map(([chain, { failure }], i): [Chain, Chain] => [
    chain,
    { ...chain, turns: [...chain.turns, { stage: 5, repairs: failure, ...turns[i]! }] },
  ]);
  const repaired = new Map(written);
  return { chains: await scope.store.putJson(chains.map((chain) => repaired.get(chain) ?? chain)), tokens };
}
