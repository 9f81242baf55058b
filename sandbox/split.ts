// Test source against programs, in two processes that share no interpreter (docs/sandbox.md).
import { GauntletError } from '../core/errors.js';
import type { TestJob, TestRun } from '../core/schema/execution.js';

export async function runTestJobs(_jobs: TestJob[]): Promise<TestRun[]> {
  throw new GauntletError('SANDBOX_UNAVAILABLE', 'test source cannot be run here yet');
}
