// Decides what a refilled batch draws next, and joins its draws. The joined lists are what one draw of all their problems would
// have given, so rewards, replays and pages read them like those of any other step.
import { nextDraw } from '../../core/rewards/liveGroups.js';
import type { Chain, TestBatch } from '../../core/schema/chain.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
import type { CompleteBatchInput, CompleteBatchOutput, DrawnProblems } from '../../method/sample.js';
import type { Ref, Store } from '../../store/store.js';
import { readConfig, readProblems } from '../artifacts.js';
import type { Scope } from '../scope.js';

export async function completeBatch(
  { store }: Scope,
  { run, draws }: CompleteBatchInput,
): Promise<CompleteBatchOutput> {
  const config = await readConfig(store, run);
  const { set } = await readProblems(store, run.problems);
  const judged = await Promise.all(draws.map(({ verdicts }) => store.getJson(verdicts)));
  const next = nextDraw(judged.flat(), draws.length, set.train.length, config);
  if (next) return { next };
  return { batch: draws.length === 1 ? draws[0]! : await join(store, draws, judged) };
}

async function join(store: Store, draws: DrawnProblems[], judged: SuiteVerdicts[][]): Promise<DrawnProblems> {
  const lists = await Promise.all(draws.map(({ chains }) => store.getJson(chains)));
  const chains = await store.putJson(lists.flat());
  const verdicts = (own: SuiteVerdicts[][]): Promise<Ref<SuiteVerdicts[]>> => store.putJson(own.flat());
  const batches = await Promise.all(draws.flatMap(({ tests }) => (tests === undefined ? [] : store.getJson(tests))));
  if (batches.length === 0) return { chains, verdicts: await verdicts(judged) };
  const starts = startsOf(batches.map(({ turns }) => turns));
  const moved = judged.map((own, d) =>
    own.map((one) => ({ ...one, turns: one.turns.map((each) => ({ ...each, turn: each.turn + starts[d]! })) })),
  );
  const tests = await store.putJson(joinTests(batches, chains, startsOf(lists)));
  return { chains, tests, verdicts: await verdicts(moved) };
}

/** @param starts the first chain of each draw in the joined list */
const joinTests = (batches: TestBatch[], chains: Ref<Chain[]>, starts: number[]): TestBatch => ({
  targets: batches.flatMap(({ targets }, d) =>
    targets.map((target) => ({ ...target, chain: { chains, index: target.chain.index + starts[d]! } })),
  ),
  samples: batches[0]!.samples,
  turns: batches.flatMap(({ turns }) => turns),
});

const startsOf = (lists: readonly unknown[][]): number[] =>
  lists.map((_, d) => lists.slice(0, d).reduce((sum, { length }) => sum + length, 0));
