// What the functions of this folder can use: the dependencies, and the cancellation and heartbeat of the attempt that calls
// them. Nothing here knows Temporal.
import type { EngineConfig, RolloutsConfig, RunConfig } from '../core/schema/config.js';
import type { Environment, EnvironmentPart } from '../core/schema/environment.js';
import type { RunMetrics } from '../core/schema/metrics.js';
import type { ProblemSet } from '../core/schema/problem.js';
import type { Engine } from '../ml/engine/engine.js';
import type { RolloutServer } from '../ml/remote/rolloutServer.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import type { Store } from '../store/store.js';

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface Deps {
  store: Store;
  /** Opens a model by name: 'tiny', a folder, or an id of the hub. May download it. The two latest models stay open. */
  engine(model: string, options: EngineConfig): Promise<Engine>;
  /** The server of training rollouts, opened once. */
  rolloutServer?(config: RolloutsConfig): RolloutServer;
  /** Opens the sandbox of a configuration. The two latest sandboxes stay open. By default, `containers` has its defaults. */
  sandbox(config: Pick<RunConfig, 'sandbox'> & Partial<Pick<RunConfig, 'containers' | 'model'>>): Promise<Sandbox>;
  /** If Docker was not there when the sandbox was opened, the next call looks for it again. */
  forgetFallback?(config: RunConfig): Promise<void>;
  /** Built-in problems by name, or a problem file. */
  loadProblems(source: string, signal?: AbortSignal): Promise<ProblemSet>;
  /** The environment in which this worker would do a part of the work. Absent: the worker is not compared with the run. */
  environment?(part: EnvironmentPart, config: RunConfig, engine: EngineConfig): Promise<Omit<Environment, 'part'>>;
  /** Whether this worker may continue a run that has another environment. The change is recorded. */
  acceptsEnvironment?: boolean;
  /** The version of this program, recorded in manifests and checkpoints. */
  codeVersion: string;
  /** Renders the files of a run to one self-contained page. Absent if no renderer is installed. */
  renderReport?(runId: string, signal?: AbortSignal): Promise<string>;
  /** Whether the server knows this project's search attributes. The workflow sets them only then. */
  searchAttributes?: boolean;
  log?: Log;
  /** Aborted when the worker begins to stop. Its activities may go on for a grace period. */
  stopping?: AbortSignal;
  /** Called with every record of a run, after it is written. */
  onMetrics?(runId: string, metrics: RunMetrics): void;
}

const SAVE_EVERY_MS = 20_000; // a save writes and syncs a large file

export interface Scope {
  deps: Deps;
  store: Store;
  signal?: AbortSignal;
  /** The minimum time between two saves of progress. */
  saveEveryMs: number;
  /** Records progress; the worker sends heartbeats on a timer. */
  heartbeat(details?: unknown): void;
}

/** @param attempt absent outside Temporal: there is no signal, and heartbeats do nothing */
export function openScope(deps: Deps, attempt: Partial<Pick<Scope, 'signal' | 'heartbeat'>> = {}): Scope {
  const { signal, heartbeat = () => undefined } = attempt;
  return { deps, store: deps.store, signal, saveEveryMs: SAVE_EVERY_MS, heartbeat };
}

/** Options for a batch of programs: the batch stops when the attempt is cancelled, and reports progress to the attempt. */
export const batchOptions = (scope: Pick<Scope, 'signal' | 'heartbeat'>) => ({
  signal: scope.signal,
  onProgress: (done: number): void => scope.heartbeat({ done }),
});
