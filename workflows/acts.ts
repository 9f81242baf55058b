// The activities as workflows see them: a type. A test or a benchmark gives the same functions without Temporal.
import type { Activities } from '../activities/index.js';

export type Acts = Activities;
export type { RunRef } from '../activities/types.js';
