// The bug archive stores faulty chains. The discriminator sees them again when the generator makes no new mistakes, so
// that it does not forget how to find bugs. A run keeps it with recent valid tests, and with tests that stay in suites.
import type { RandomStream } from '../base/random.js';
import type { ChainRef } from '../schema/chain.js';
import type { RunConfig } from '../schema/config.js';
import type { MistakeBook } from './mistakeBook.js';
import type { TestPool } from './suite.js';

/** A faulty chain in the archive. `chain` identifies it, for example by a digest and an index. */
export interface ArchiveEntry<C> {
  problemId: string;
  chain: C;
}
export interface BugArchive<C> {
  entries: ArchiveEntry<C>[];
}

export interface ReplayBuffer {
  pool: TestPool;
  archive: BugArchive<ChainRef>;
  book?: MistakeBook; // absent if the book is empty, or if the reward scheme has no book
}

type Draws = Pick<RandomStream, 'uniform' | 'choice' | 'int'>;

const REPLAY = 0.7; // the probability of an archived chain if no new chain is faulty
const SIZE = 400; // the most entries in the archive

/** Returns the archive with the entry added. If it has more than `size` entries, a random entry is dropped, perhaps the new one. */
export function addToArchive<C>(
  archive: BugArchive<C>,
  entry: ArchiveEntry<C>,
  random: Draws,
  size = SIZE,
): BugArchive<C> {
  const entries = [...archive.entries, entry];
  while (entries.length > size) entries.splice(random.int(0, entries.length - 1), 1);
  return { entries };
}

/**
 * Chooses the chain that a discriminator group writes tests for: a faulty fresh chain of the problem, which is then
 * archived; otherwise, with probability `REPLAY`, an archived chain; otherwise any fresh chain. The target is
 * undefined if there is nothing to choose from.
 */
export function chooseTargetChain<C>(
  problemId: string,
  candidates: readonly { chain: C; faulty: boolean }[],
  archive: BugArchive<C>,
  config: RunConfig['reward']['archive'],
  random: Draws,
): { target: ArchiveEntry<C> | undefined; archive: BugArchive<C> } {
  const choose = (items: readonly { chain: C }[]): ArchiveEntry<C> => ({
    problemId,
    chain: items.length === 1 ? items[0]!.chain : random.choice(items).chain,
  });
  const faulty = config.enabled ? candidates.filter((candidate) => candidate.faulty) : [];
  if (faulty.length > 0) {
    const target = choose(faulty);
    return { target, archive: addToArchive(archive, target, random) };
  }
  if (config.enabled && archive.entries.length > 0 && random.uniform() < REPLAY)
    return { target: random.choice(archive.entries), archive };
  return { target: candidates.length > 0 ? choose(candidates) : undefined, archive };
}
