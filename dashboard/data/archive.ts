// The archive of faulty programs after a step: what each of them is, and how the tests that were written for it did.
import { problemOf, readConfig, readProblems } from '../../chains/artifacts.js';
import { codeOf } from '../../chains/chainLists.js';
import type { Chain, ChainRef } from '../../core/schema/chain.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { Store } from '../../store/store.js';
import type { ArchivedProgram, ArchiveView } from '../api.js';
import { readRollouts, unlessRemoved } from './rollouts.js';

type Uses = Pick<ArchivedProgram, 'found' | 'groups' | 'caught'>;

/** After the last of `steps`. @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT if an artifact was removed or is damaged */
export async function archiveView(store: Store, steps: readonly StepMetrics[]): Promise<ArchiveView> {
  const last = steps.at(-1);
  if (last === undefined) return { step: 0, programs: [] };
  const { artifacts } = last;
  const config = await readConfig(store, artifacts);
  const { byId } = await readProblems(store, artifacts.problems);
  const { entries } = (await store.getJson(artifacts.replayBuffer)).archive;
  const uses = await usesOf(store, steps);
  const lists = new Map<string, Chain[]>();
  const programs: ArchivedProgram[] = [];
  for (const { problemId, chain } of entries) {
    const list = lists.get(chain.chains) ?? (await store.getJson(chain.chains));
    lists.set(chain.chains, list);
    const program = codeOf(list[chain.index]!, problemOf(byId, problemId), config);
    programs.push({ problemId, program, ...(uses.get(keyOf(chain)) ?? { groups: 0, caught: 0 }) });
  }
  return { step: last.step, programs };
}

const keyOf = ({ chains, index }: ChainRef): string => `${chains} ${index}`;

/** Of every program that the discriminator wrote tests for. The first group that tested it is the one that found it. */
async function usesOf(store: Store, steps: readonly StepMetrics[]): Promise<Map<string, Uses>> {
  const uses = new Map<string, Uses>();
  for (const record of steps.filter(({ role }) => role === 'discriminator')) {
    const rollouts = await unlessRemoved(() => readRollouts(store, record));
    for (const [group, { chain }] of rollouts?.batch?.targets.entries() ?? []) {
      const before = uses.get(keyOf(chain));
      const { suite = [], verdicts = [] } = rollouts!.judged[group] ?? {};
      const isCaught = suite.some(
        ({ origin }, i) => origin === 'generated' && verdicts[0] !== undefined && verdicts[0][i] !== 'pass',
      );
      uses.set(keyOf(chain), {
        found: before?.found ?? { step: record.step, group },
        groups: (before?.groups ?? 0) + 1,
        caught: (before?.caught ?? 0) + Number(isCaught),
      });
    }
  }
  return uses;
}
