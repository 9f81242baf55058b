// How many answers of a step or an evaluation are cut, empty or missing because their prompt does not fit.
import { countAnswersOf, sharesOf, warningsOf } from '../../core/run/answerShares.js';
import { ROLES, type Role, type SampledTurn } from '../../core/schema/chain.js';
import type { RunRef } from '../../core/schema/runRef.js';
import type { CountAnswersInput, CountAnswersOutput } from '../../method/sample.js';
import type { Ref, Store } from '../../store/store.js';
import { readConfig } from '../artifacts.js';

type Input = Omit<CountAnswersInput, 'run'> & { run: Pick<RunRef, 'config'> };

export async function countAnswers({ store }: { store: Store }, input: Input): Promise<CountAnswersOutput> {
  const config = await readConfig(store, input.run);
  const isSampled = config.discriminator.writer === 'model';
  const chains = (await readAll(store, input.chains)).flat();
  const written: Record<Role, SampledTurn[]> = {
    generator: chains.flatMap(({ turns }) => turns),
    discriminator: isSampled ? (await readAll(store, input.tests)).flatMap(({ turns }) => turns) : [],
  };
  const roles = ROLES.filter((role) => written[role].length > 0);
  const counts = roles.map((role) => [role, countAnswersOf(role, written[role], config)] as const);
  const warnings = counts.flatMap(([role, own]) => warningsOf(role, own, config));
  return {
    answers: Object.fromEntries(counts.map(([role, own]) => [role, sharesOf(own)])),
    ...(chains.length > 0 && { problems: new Set(chains.map(({ problemId }) => problemId)).size }),
    ...(warnings.length > 0 && { warnings }),
  };
}

const readAll = <T>(store: Store, refs: readonly Ref<T>[]): Promise<T[]> =>
  Promise.all(refs.map((ref) => store.getJson(ref)));
