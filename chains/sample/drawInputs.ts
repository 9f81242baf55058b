// Writers of inputs without a model: mutations of known inputs, with constants, or by a search.
import { groupBy } from '../../core/base/groups.js';
import type { RandomStream } from '../../core/base/random.js';
import { constantsIn, dictionaryInputs } from '../../core/inputs/dictionaryInputs.js';
import { freshInputs, knownInputs } from '../../core/inputs/freshInputs.js';
import type { Chain } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { searchInputs } from '../../sandbox/searchInputs.js';
import { codeOf } from '../chainLists.js';
import { batchOptions, type Scope } from '../scope.js';

export interface InputJob {
  chain: Chain; // whose program the inputs are for
  problem: Problem;
  random: RandomStream;
}

/** Up to `count` inputs for each job. */
export async function drawInputs(
  scope: Scope,
  config: RunConfig,
  jobs: InputJob[],
  count: number,
): Promise<Value[][][]> {
  const { writer } = config.discriminator;
  const found = writer === 'search' ? await search(scope, config, jobs, count) : new Map<InputJob, Value[][]>();
  return jobs.map((job) => {
    const { problem, random } = job;
    const known = knownInputs(problem);
    if (writer === 'random') return freshInputs(known, count, random);
    const own = found.get(job) ?? [];
    const { description, referenceSolution = '' } = problem;
    const constants = constantsIn(codeOf(job.chain, problem, config), referenceSolution, description);
    return [...own, ...dictionaryInputs([...known, ...own], constants, count - own.length, random)];
  });
}

/** One search for all jobs of a chain, which share its inputs. Programs with other calling conventions are not searched. */
async function search(scope: Scope, config: RunConfig, jobs: InputJob[], count: number) {
  const canSearch = ({ problem }: InputJob): boolean => !problem.calling && problem.referenceSolution !== undefined;
  const groups = [...groupBy(jobs.filter(canSearch), ({ chain }) => chain).values()];
  const searches = groups.map((group) => {
    const { chain, problem, random } = group[0]!;
    return {
      reference: problem.referenceSolution!,
      program: codeOf(chain, problem, config),
      entry: problem.entry,
      known: knownInputs(problem),
      count: group.length * count,
      seed: random.int(0, 2 ** 31),
    };
  });
  const sandbox = await scope.deps.sandbox(config);
  const found = await searchInputs(sandbox, searches, batchOptions(scope));
  const dealt = (g: number, at: number): Value[][] => (found[g] ?? []).filter((_, i) => i % groups[g]!.length === at);
  return new Map(groups.flatMap((group, g) => group.map((job, at) => [job, dealt(g, at)] as const)));
}
