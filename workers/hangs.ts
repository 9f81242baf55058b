// Finds activities that hang. An activity advances when a call into the store, the engine or the sandbox returns, and when
// such a call reports tokens, rows, verdicts or bytes. One that does not advance for too long fails, so that Temporal tries it
// again elsewhere, and its worker must end: nothing can stop a call into a device that never returns.
import { Context } from '@temporalio/activity';
import type { ActivityExecuteInput, ActivityInboundCallsInterceptor, Next } from '@temporalio/worker';
import { toFailure } from '../activities/failures.js';
import type { Deps } from '../chains/scope.js';
import { GauntletError } from '../core/errors.js';
import type { ExecutionJob } from '../core/schema/execution.js';
import { secondsOf } from './environment.js';
import type { Logger } from './logger.js';
import { overlaid } from './overlay.js';

const DEFAULT_SECONDS = 120;
const LONGEST_GAPS = 3; // the bound, in longest gaps that were seen
const MAX_TICK_MS = 1000;

/** How many times the bound a call may take that reports nothing but ends by itself. */
const OPENING = 15; // pulls and builds an image, tests a device, reads or quantizes weights
const STORE = 5; // tries requests to a bucket again
const REPORT = 3;
const PROGRAM_LIMITS = 10; // a guest has several programs, and one that reaches its limit runs again

/** The bound in ms. @throws GauntletError BAD_CONFIG */
export const hangBound = (env = process.env): number =>
  1000 * secondsOf('GAUNTLET_HANG_SECONDS', env, DEFAULT_SECONDS) || Number.POSITIVE_INFINITY;

interface Call {
  name: string;
  bounds?: number; // times the usual bound
  limitMs?: number; // of its own, added to the bound
}

/** What one activity does, and for how long it has not advanced. */
class Progress {
  private readonly calls: Call[] = []; // the latest one last
  private silentMs = 0;
  private scale = 1; // of the bound

  constructor(
    private readonly boundMs: number,
    /** The longest gap that each call had in this process. */
    private readonly longest: Map<string, number>,
  ) {}

  get doing(): string {
    return this.calls.at(-1)?.name ?? 'its own work';
  }

  advance(): void {
    this.longest.set(this.doing, Math.max(this.silentMs, this.longest.get(this.doing) ?? 0));
    this.silentMs = 0;
  }

  begin(call: Call): () => void {
    this.advance();
    this.calls.push(call);
    return () => {
      this.advance();
      this.calls.splice(this.calls.indexOf(call), 1);
    };
  }

  /** Multiplies the bound of this activity, e.g. because one run of a large graph takes minutes and reports nothing. */
  slower(times: number): void {
    this.scale = Math.max(this.scale, times);
  }

  /** Ticks are counted, because a clock goes on while the machine sleeps. @returns the silent ms of a call that hangs */
  tick(ms: number): number | undefined {
    this.silentMs += ms;
    const times = Math.max(this.scale, ...this.calls.map(({ bounds = 1 }) => bounds));
    const limitMs = Math.max(0, ...this.calls.map((call) => call.limitMs ?? 0));
    const learnt = LONGEST_GAPS * (this.longest.get(this.doing) ?? 0);
    return this.silentMs > Math.max(this.boundMs * times + limitMs, learnt) ? this.silentMs : undefined;
  }
}

const running = new WeakMap<Context, Progress>();

/** That of the current activity, if it is watched. */
export function currentProgress(): Pick<Progress, 'advance' | 'begin' | 'slower'> | undefined {
  try {
    return running.get(Context.current());
  } catch {
    return undefined; // not in an activity
  }
}

/** Watches the activities of one worker process. */
export class HangWatch {
  private readonly longest = new Map<string, number>();

  /** @param onHang called with the error before the activity fails with it */
  constructor(
    private readonly onHang: (error: GauntletError) => void,
    private readonly log: Pick<Logger, 'error'>,
    private readonly boundMs = hangBound(),
  ) {}

  interceptor = (context: Context): { inbound: ActivityInboundCallsInterceptor } => ({
    inbound: { execute: (input, next) => this.watch(context, input, next) },
  });

  private async watch(
    context: Context,
    input: ActivityExecuteInput,
    next: Next<ActivityInboundCallsInterceptor, 'execute'>,
  ): Promise<unknown> {
    const progress = new Progress(this.boundMs, this.longest);
    running.set(context, progress);
    const { heartbeat } = context;
    (context as { heartbeat: Context['heartbeat'] }).heartbeat = (details) => {
      progress.advance();
      heartbeat.call(context, details);
    };
    const tickMs = Math.min(MAX_TICK_MS, this.boundMs / 4);
    let timer: NodeJS.Timeout | undefined;
    const hung = new Promise<never>((_, reject) => {
      timer = setInterval(() => {
        const silentMs = progress.tick(tickMs);
        if (silentMs !== undefined) reject(this.report(context, progress.doing, silentMs));
      }, tickMs);
    });
    try {
      return await Promise.race([next(input), hung]);
    } catch (error) {
      const { type, message } = error as { type?: string; message: string };
      if (type === 'DEVICE_LOST') this.onHang(new GauntletError(type, message));
      throw error;
    } finally {
      clearInterval(timer);
    }
  }

  private report({ info }: Context, call: string, silentMs: number): Error {
    const { activityType: activity, workflowExecution, attempt } = info;
    const seconds = Math.round(silentMs / 1000);
    const message = `${activity} hangs in ${call}: no progress for ${seconds} s; its worker ends and must be started again`;
    const error = new GauntletError('NO_PROGRESS', message);
    this.log.error({ activity, call, seconds, run: workflowExecution?.workflowId, attempt }, message);
    this.onHang(error);
    return toFailure(error);
  }
}

type Method = (...args: unknown[]) => unknown;

interface Counting<T> {
  callOf?(args: unknown[]): Omit<Call, 'name'>;
  reports?: readonly (keyof T)[]; // methods whose second argument can have `onProgress`
}

/** The same object, whose calls count as progress of the activity that makes them. */
function counted<T extends object>(target: T, name: string, { callOf, reports = [] }: Counting<T> = {}): T {
  return new Proxy(target, {
    get(_, key) {
      const method: unknown = Reflect.get(target, key);
      if (typeof method !== 'function') return method;
      return (...args: unknown[]): unknown => {
        const progress = currentProgress();
        if (progress === undefined) return (method as Method).apply(target, args);
        if (reports.includes(key as keyof T)) args[1] = reporting(args[1] as Reporting | undefined, progress);
        const end = progress.begin({ ...callOf?.(args), name: `${name}.${String(key)}` });
        let result: unknown;
        try {
          result = (method as Method).apply(target, args);
        } catch (error) {
          end();
          throw error;
        }
        if (result instanceof Promise) return result.finally(end);
        end();
        return result;
      };
    },
  });
}

interface Reporting {
  onProgress?(amount: number): void;
}

const reporting = (options: Reporting | undefined, progress: Pick<Progress, 'advance'>): Reporting => ({
  ...options,
  onProgress: (amount) => {
    progress.advance();
    options?.onProgress?.(amount);
  },
});

async function during<T>(name: string, bounds: number, work: () => Promise<T>): Promise<T> {
  const end = currentProgress()?.begin({ name, bounds });
  try {
    return await work();
  } finally {
    end?.();
  }
}

/** A program that sleeps takes as long as its limit allows. */
function programLimit([jobs]: unknown[]): Pick<Call, 'limitMs'> {
  const limits = Array.isArray(jobs) ? (jobs as Partial<Pick<ExecutionJob, 'limits'>>[]) : [];
  const longest = limits.reduce((most, job) => Math.max(most, job.limits?.wallSeconds ?? 0), 0);
  return { limitMs: 1000 * PROGRAM_LIMITS * longest };
}

/** The same dependencies, whose calls count as progress. */
export function countedDeps(deps: Deps): Deps {
  const methods: Partial<Deps> = {
    store: counted(deps.store, 'store', { callOf: () => ({ bounds: STORE }) }),
    engine: async (model, options) => {
      const engine = await during(`opening the model ${model}`, OPENING, () => deps.engine(model, options));
      const reports = ['generate', 'logprobs', 'scores', 'scoreShard', 'gradients', 'gradientShard'] as const;
      return counted(engine, 'engine', { reports });
    },
    sandbox: async (config) => {
      const sandbox = await during('opening the sandbox', OPENING, () => deps.sandbox(config));
      return counted(sandbox, 'sandbox', { callOf: programLimit, reports: ['run', 'runTests'] });
    },
    loadProblems: (source, signal) =>
      during(`loading the problems ${source}`, OPENING, () => deps.loadProblems(source, signal)),
    get environment(): Deps['environment'] {
      return (
        deps.environment && ((...args) => during('comparing environments', OPENING, () => deps.environment!(...args)))
      );
    },
    get rolloutServer(): Deps['rolloutServer'] {
      return (
        deps.rolloutServer &&
        ((config) =>
          counted(deps.rolloutServer!(config), 'the rollout server', {
            callOf: () => ({ limitMs: 1000 * config.timeoutSeconds }),
          }))
      );
    },
    get renderReport(): Deps['renderReport'] {
      return (
        deps.renderReport && ((...args) => during('rendering the report', REPORT, () => deps.renderReport!(...args)))
      );
    },
  };
  return overlaid(deps, methods);
}
