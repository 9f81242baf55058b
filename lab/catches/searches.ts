// The arms whose inputs the product's search finds: in the reference and the program, or in the reference alone.
import { RandomStream } from '../../core/base/random.js';
import { type InputSearch, searchInputs, searchJob } from '../../sandbox/searchInputs.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import type { Arm } from './measure.js';
import { searchPrice } from './prices.js';
import type { FrozenProblem } from './programs.js';

export const SEARCHES = ['search', 'search-reference'] as const;
export type SearchName = (typeof SEARCHES)[number];

const COUNT = 8; // the inputs of a search that cannot see whether they catch anything

/** Searches for all programs of the problems first, in the sandbox. */
export async function searchArm(
  name: SearchName,
  problems: readonly FrozenProblem[],
  seed: number,
): Promise<{ arm: Arm; search: number }> {
  const readsProgram = name === 'search';
  const searchOf = ({ id, reference, known }: FrozenProblem, program = ''): InputSearch => ({
    ...{ reference: reference.code, program, entry: 'solve', known, count: readsProgram ? 1 : COUNT },
    seed: new RandomStream('catches', name, seed, id).int(0, 2 ** 31),
  });
  const asked = problems.flatMap((problem) =>
    readsProgram
      ? problem.wrong.map(({ id, code }) => ({ id, search: searchOf(problem, code) }))
      : [{ id: problem.id, search: searchOf(problem) }],
  );
  const sandbox = await openSandbox('auto');
  try {
    const searches = asked.map(({ search }) => search);
    const inputs = await searchInputs(sandbox, searches);
    const found = new Map(asked.map(({ id }, i) => [id, inputs[i] ?? []]));
    const price = (problem: FrozenProblem) =>
      searchJob(searchOf(problem, readsProgram ? problem.wrong[0]!.code : undefined));
    const wrong = problems.reduce((sum, one) => sum + one.wrong.length, 0);
    return {
      arm: {
        name,
        perProgram: readsProgram,
        write: (problem, program) => found.get(readsProgram ? program.id : problem.id)!,
      },
      search: searchPrice(price) / (readsProgram ? 1 : wrong / problems.length),
    };
  } finally {
    await sandbox.close();
  }
}
