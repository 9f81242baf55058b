// The port: untrusted programs and inputs go in, plain values come out. Backends share this file and the guest only.
import type { ExecutionJob, ExecutionResult, TestJob, TestRun, TypeJob, TypeReport } from '../core/schema/execution.js';

export interface SandboxInfo {
  kind: 'docker' | 'wasm';
  description: string; // one line for people, e.g. 'docker 28.2 · fork server · 2 containers'
  boundary: boolean; // true: a security boundary; false: best effort (wasm)
}

export interface RunOptions {
  signal?: AbortSignal;
  onProgress?: (done: number) => void;
}

export interface Sandbox {
  readonly info: SandboxInfo;
  /**
   * Runs every job; results are in the order of the jobs. A failing program is a result.
   * @throws GauntletError SANDBOX_FAULT when the infrastructure, not the program, failed; nothing is a verdict then.
   */
  run(jobs: ExecutionJob[], options?: RunOptions): Promise<ExecutionResult[]>;
  /** Runs test source against programs, each in a process of its own. @throws as `run`; SANDBOX_UNAVAILABLE for a style that this machine lacks */
  runTests(jobs: TestJob[], options?: RunOptions): Promise<TestRun[]>;
  /**
   * Checks the types of programs, each by itself, without running them.
   * @throws as `run`; SANDBOX_UNAVAILABLE where there is no checker, for no jobs too: so it can be asked beforehand
   */
  checkTypes(jobs: TypeJob[], options?: RunOptions): Promise<TypeReport[]>;
  close(): Promise<void>;
}
