// The bug archive: faulty chains are kept and shown to the discriminator again when the generator makes no fresh
// mistakes, so that it does not forget how to find any.
import type { RandomStream } from '../random.js';
import type { RunConfig } from '../schema/config.js';

/** JSON-shaped. `chain` is whatever names a chain: a digest, or the chain itself. */
export interface ArchiveEntry<C = string> {
  problemId: string;
  chain: C;
}
export interface BugArchive<C = string> {
  entries: ArchiveEntry<C>[];
}

export type ArchiveConfig = RunConfig['reward']['archive'];
type Draws = Pick<RandomStream, 'uniform' | 'choice' | 'int'>;

export const emptyArchive = <C = string>(): BugArchive<C> => ({ entries: [] });

/** A new archive; beyond `size` entries one drawn at random (the new one included) is dropped. */
export function addToArchive<C>(
  archive: BugArchive<C>,
  entry: ArchiveEntry<C>,
  size: number,
  random: Draws,
): BugArchive<C> {
  const entries = [...archive.entries, entry];
  while (entries.length > size) entries.splice(random.int(0, entries.length - 1), 1);
  return { entries };
}

export interface Subject<C> {
  subject: ArchiveEntry<C> | undefined; // undefined: no candidate and nothing replayed
  archive: BugArchive<C>;
  replayed: boolean;
}

/**
 * The chain a discriminator group is asked about: a faulty one of the problem's fresh chains, which is archived; else,
 * with probability `config.replay`, one from the archive; else any fresh chain.
 */
export function chooseSubject<C>(
  problemId: string,
  candidates: readonly { chain: C; faulty: boolean }[],
  archive: BugArchive<C>,
  config: ArchiveConfig,
  random: Draws,
): Subject<C> {
  const fresh = (items: readonly { chain: C }[]): ArchiveEntry<C> => ({
    problemId,
    chain: items.length === 1 ? items[0]!.chain : random.choice(items).chain,
  });
  const faulty = config.enabled ? candidates.filter((candidate) => candidate.faulty) : [];
  if (faulty.length > 0) {
    const subject = fresh(faulty);
    return { subject, archive: addToArchive(archive, subject, config.size, random), replayed: false };
  }
  if (config.enabled && archive.entries.length > 0 && random.uniform() < config.replay) {
    return { subject: random.choice(archive.entries), archive, replayed: true };
  }
  return { subject: candidates.length > 0 ? fresh(candidates) : undefined, archive, replayed: false };
}
