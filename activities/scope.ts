// What an activity may touch: the ports it was given, and the cancellation and heartbeat of the attempt it runs in.
// Outside Temporal (a test, a benchmark) there is no attempt: no signal, and heartbeats go nowhere.
import { Context } from '@temporalio/activity';
import type { EngineConfig, RunConfig } from '../core/schema/config.js';
import type { RunResult } from '../core/schema/run.js';
import type { ProblemSet } from '../data/problems.js';
import type { Engine } from '../ml/engine/engine.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import type { Store } from '../store/store.js';

export interface ActivityLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Stored configurations of earlier versions name no containers. */
export type SandboxConfig = Pick<RunConfig, 'sandbox'> & Partial<Pick<RunConfig, 'containers'>>;

export interface ActivityDeps {
  store: Store;
  /** Opens (once) the model of that name, 'tiny' or a folder, as the run asks for it. */
  engine(model: string, options: EngineConfig): Promise<Engine>;
  /** Opens (once) the sandbox that a configuration asks for. */
  sandbox(config: SandboxConfig): Promise<Sandbox>;
  /** 'tiny' or a problem file. */
  loadProblems(source: string): Promise<ProblemSet>;
  /** Of this program; recorded in manifests and checkpoints. */
  codeVersion: string;
  /** One self-contained page from the files of a run; absent where no renderer is installed. */
  renderReport?(runId: string, result: RunResult): Promise<string>;
  /** Whether the server knows the search attributes of this project; the workflow asks before it sets them. */
  searchAttributes?: boolean;
  log?: ActivityLog;
}

const SAVE_EVERY_MS = 20_000; // a save costs a few fsynced blobs

export interface Scope {
  deps: ActivityDeps;
  store: Store;
  signal?: AbortSignal;
  /** Identifies what is computed: progress saved under it belongs to any attempt of the same work. */
  memoKey: string;
  /** At least so long between two saves of an activity's progress. */
  saveEveryMs: number;
  /** That earlier attempts spent on what this one goes on from: part of what the result took. */
  earlierSeconds: number;
  heartbeat(details?: unknown): void;
}

function currentContext(): Context | undefined {
  try {
    return Context.current();
  } catch {
    return undefined;
  }
}

export function openScope(deps: ActivityDeps, memoKey: string): Scope {
  const context = currentContext();
  const scope: Scope = {
    deps,
    store: deps.store,
    memoKey,
    saveEveryMs: SAVE_EVERY_MS,
    earlierSeconds: 0,
    heartbeat: (details) => context?.heartbeat(details),
  };
  if (context) scope.signal = context.cancellationSignal;
  return scope;
}
