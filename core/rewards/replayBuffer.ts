// Tests and chains of earlier steps that a run keeps.
import type { ChainRef } from '../schema/chain.js';
import type { BugArchive } from './archive.js';
import type { MistakeBook } from './mistakeBook.js';
import type { TestPool } from './suite.js';

/** Recent valid tests and faulty chains, which the discriminator sees again, and tests that stay in suites. */
export interface ReplayBuffer {
  pool: TestPool;
  archive: BugArchive<ChainRef>;
  book?: MistakeBook; // absent if the book is empty, or if the reward scheme has no book
}
