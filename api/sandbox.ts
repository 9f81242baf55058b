// The entry `gauntlet/sandbox` of the package: execution of untrusted programs. Only Docker is a security boundary.
export { equalValues, judge } from '../core/comparison/compare.js';
export type { Calling } from '../core/schema/calling.js';
export type { Comparison } from '../core/schema/comparison.js';
export type {
  CallResult,
  ExecutionJob,
  ExecutionResult,
  Limits,
  TestJob,
  TestRun,
  Verdict,
} from '../core/schema/execution.js';
export type { Value } from '../core/schema/value.js';
export type { RunOptions, Sandbox, SandboxInfo } from '../sandbox/sandbox.js';
export { type OpenSandboxOptions, openSandbox } from '../workers/deps/openSandbox.js';
