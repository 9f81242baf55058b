// The sandbox port: untrusted programs and inputs go in, plain values come out.
import type { ExecutionJob, ExecutionResult, TestJob, TestRun } from '../core/schema/execution.js';
import type { Value } from '../core/schema/value.js';

type Texts = Record<string, string>;

export interface SandboxInfo {
  kind: 'docker' | 'wasm';
  description: string; // one line for people, e.g. 'docker 28.2 · fork server · 2 containers'
  facts?: Texts; // beside the backend, what can change a result and is the same on every machine
  details?: Texts; // what tells two such sandboxes apart, such as the digest of an image that each machine builds
  boundary: boolean; // whether it is a security boundary; WebAssembly and Docker without seccomp are best effort
}

export interface RunOptions {
  signal?: AbortSignal;
  onProgress?: (done: number) => void;
}

export interface Sandbox {
  readonly info: SandboxInfo;
  /**
   * Runs every job. Results are in the order of the jobs; a failing program is a result. Each answer is reduced to what
   * the job keeps of it as soon as it is read.
   * @throws GauntletError SANDBOX_FAULT if the infrastructure failed; there are no verdicts then
   */
  run<Kept = Value>(jobs: ExecutionJob<Kept>[], options?: RunOptions): Promise<ExecutionResult<Kept>[]>;
  /**
   * Runs test source against programs, each in its own process.
   * @throws as `run`; SANDBOX_UNAVAILABLE for a style that this backend lacks
   */
  runTests(jobs: TestJob[], options?: RunOptions): Promise<TestRun[]>;
  close(): Promise<void>;
}
