// The interface of a sandbox: it takes untrusted programs with inputs, and returns plain values.
import type { ExecutionJob, ExecutionResult, TestJob, TestRun } from '../core/schema/execution.js';
import type { Value } from '../core/schema/value.js';

type Texts = Record<string, string>;

export interface SandboxInfo {
  kind: 'docker' | 'wasm';
  description: string; // one line for people, e.g. 'docker 28.2 · fork server · 2 containers'
  facts?: Texts; // properties that can change a result and must be the same on every machine
  details?: Texts; // properties that may differ, such as the digest of an image that each machine builds
  boundary: boolean; // whether the sandbox is a security boundary; WebAssembly, and Docker without seccomp, are not
}

export interface RunOptions {
  signal?: AbortSignal;
  onProgress?: (done: number) => void;
}

export interface Sandbox {
  readonly info: SandboxInfo;
  /**
   * Runs every job. Results have the order of the jobs, and a program that fails has a result, too. Each answer is reduced
   * to what its job keeps as soon as it is read.
   * @throws GauntletError SANDBOX_FAULT if the infrastructure failed; there are no verdicts then
   */
  run<Kept = Value>(jobs: ExecutionJob<Kept>[], options?: RunOptions): Promise<ExecutionResult<Kept>[]>;
  /**
   * Runs test source against programs. Tests and programs run in different processes.
   * @throws GauntletError as `run` does, and SANDBOX_UNAVAILABLE if this backend cannot run this style of tests
   */
  runTests(jobs: TestJob[], options?: RunOptions): Promise<TestRun[]>;
  close(): Promise<void>;
}
