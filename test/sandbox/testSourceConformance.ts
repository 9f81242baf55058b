// A suite of test source for every backend: what tests and programs can do across the two processes, and what they cannot
// do.
import type { Sandbox } from '../../sandbox/sandbox.js';
import { testSourceFaults } from './testSourceFaults.js';
import { testSourceNames } from './testSourceNames.js';
import { testSourceObjects } from './testSourceObjects.js';

/** Adds the suite for the sandbox that `get` returns once it is open. */
export function testSourceConformance(get: () => Sandbox): void {
  testSourceNames(get);
  testSourceObjects(get);
  testSourceFaults(get);
}
