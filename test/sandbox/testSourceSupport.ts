// Functions that the suites of test source share.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { Limits, TestJob, TestRun } from '../../core/schema/execution.js';
import { ROOT } from '../../infra/root.mjs';
import type { Sandbox } from '../../sandbox/sandbox.js';

interface Collected {
  what: string;
  code: string[];
  source: string[];
  tests: Record<string, string>; // test name → outcome
  pytest?: Record<string, string> | null; // the outcomes under pytest, if it finds other tests than unittest
}
export const COLLECTED = JSON.parse(
  fs.readFileSync(path.join(ROOT, 'test/sandbox/testSource.json'), 'utf8'),
) as Collected[];

export const LIMITS: Limits = {
  cpuSeconds: 6,
  caseCpuSeconds: 3,
  wallSeconds: 60,
  memoryMb: 256,
  outputBytes: 100_000,
};
export const testJob = (code: string, source: string, more: Partial<TestJob> = {}): TestJob => ({
  id: 'job',
  code,
  style: 'assert',
  files: { 'test_it.py': source },
  ...more,
  limits: { ...LIMITS, ...more.limits },
});
/** Test name → outcome. */
export const outcomes = ({ tests }: TestRun) => Object.fromEntries(tests.map(({ name, outcome }) => [name, outcome]));

/** Runs tests in the sandbox that `get` returns once it is open. */
export function judging(get: () => Sandbox) {
  const run = async (code: string, source: string, more: Partial<TestJob> = {}) =>
    (await get().runTests([testJob(code, source, more)]))[0]!;
  const all = async (expected: string, code: string, source: string, more: Partial<TestJob> = {}) => {
    const result = await run(code, source, more);
    assert.ok(result.tests.length > 0);
    for (const { name, outcome, message } of result.tests) assert.equal(outcome, expected, `${name}: ${message}`);
    return result.tests;
  };
  return { run, all };
}
