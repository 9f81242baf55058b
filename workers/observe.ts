// Tells observers (traces, metrics, and the watch for hanging activities) about every call that an activity makes into one of its
// dependencies, which are called ports. A new method of a port is observed like the others.
import type { Deps } from '../chains/scope.js';
import type { ExecutionJob } from '../core/schema/execution.js';
import { currentProgress } from './hangs.js';

/** One call. An observer may replace its arguments before it is made. */
export interface PortCall {
  /** `deps` stands for opening a port, and for work that belongs to no port. */
  port: 'deps' | 'store' | 'engine' | 'sandbox' | 'rollouts';
  target: object;
  method: string;
  args: unknown[];
  /** What the port was opened with, such as the name of a model. */
  opening?: unknown;
}

export interface Outcome {
  result?: unknown;
  error?: unknown;
}

/** Called before a call. Returns a function that is called after the call. */
export type Observer = (call: PortCall) => ((outcome: Outcome) => void) | undefined;

/** The items of a call on a batch, such as sequences or programs. Undefined for other calls. */
export const batchOf = ({ args: [first] }: PortCall): readonly object[] | undefined =>
  Array.isArray(first) && typeof first[0] !== 'number' ? first : undefined;

/** The same dependencies, but the observers see each call. */
export function observedDeps(deps: Deps, observers: readonly Observer[]): Deps {
  const observe = <T extends object>(port: PortCall['port'], target: T, opening?: unknown): T =>
    new Proxy(target, {
      get(_, method) {
        const member: unknown = Reflect.get(target, method);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          const call: PortCall = { port, target, method: String(method), args, opening };
          return observed(call, observers, () => member.apply(target, call.args));
        };
      },
    });
  const own = observe('deps', deps);
  const methods: Partial<Deps> = {
    store: observe('store', deps.store),
    engine: async (model, options) => observe('engine', await own.engine(model, options), model),
    sandbox: async (config) => observe('sandbox', await own.sandbox(config)),
    loadProblems: (...given) => own.loadProblems(...given),
    get environment(): Deps['environment'] {
      return own.environment;
    },
    get renderReport(): Deps['renderReport'] {
      return own.renderReport;
    },
    get rolloutServer(): Deps['rolloutServer'] {
      const { rolloutServer } = deps;
      return rolloutServer && ((config) => observe('rollouts', rolloutServer(config), config));
    },
  };
  return Object.setPrototypeOf(methods, deps);
}

function observed(call: PortCall, observers: readonly Observer[], work: () => unknown): unknown {
  const ends = observers.map((observer) => observer(call));
  const end = (outcome: Outcome): void => {
    for (const each of ends) each?.(outcome);
  };
  const fail = (error: unknown): never => {
    end({ error });
    throw error;
  };
  const succeed = (result: unknown): unknown => {
    end({ result });
    return result;
  };
  let result: unknown;
  try {
    result = work();
  } catch (error) {
    return fail(error);
  }
  return result instanceof Promise ? result.then(succeed, fail) : succeed(result);
}

/** For calls that report nothing but end by themselves: how many times the usual bound they may take. */
const OPENING = 15; // pulls and builds an image, tests a device, reads or quantizes weights
const STORE = 5; // tries requests to a bucket again
const REPORT = 3; // reads and draws a long run
const PROGRAM_LIMITS = 10; // a guest runs several programs, and a program that reaches its limit runs again

/** For calls that the log does not name `port.method`: their names in the log, and their bounds. */
const OF_DEPS: Record<string, { name(subject: unknown): string; bounds: number }> = {
  engine: { name: (model) => `opening the model ${model}`, bounds: OPENING },
  sandbox: { name: () => 'opening the sandbox', bounds: OPENING },
  loadProblems: { name: (source) => `loading the problems ${source}`, bounds: OPENING },
  environment: { name: () => 'comparing environments', bounds: OPENING },
  renderReport: { name: () => 'rendering the report', bounds: REPORT },
};

/** Counts calls and their reports as progress of the activity that makes the calls. */
export const progressObserver: Observer = (call) => {
  const progress = currentProgress();
  if (progress === undefined) return undefined;
  const { port, method, args, opening } = call;
  if (port === 'deps') {
    const { name, bounds } = OF_DEPS[method]!;
    return progress.begin({ name: name(args[0]), bounds });
  }
  if (port === 'store') return progress.begin({ name: `store.${method}`, bounds: STORE });
  if (port === 'rollouts') {
    const { timeoutSeconds } = opening as { timeoutSeconds: number };
    return progress.begin({ name: `the rollout server.${method}`, limitMs: 1000 * timeoutSeconds });
  }
  const batch = batchOf(call);
  if (batch) args[1] = reporting(args[1] as Reporting | undefined, () => progress.advance());
  const limitMs = port === 'sandbox' ? programLimit(batch) : 0;
  return progress.begin({ name: `${port}.${method}`, limitMs });
};

interface Reporting {
  onProgress?(amount: number): void;
}

const reporting = (options: Reporting | undefined, advance: () => void): Reporting => ({
  ...options,
  onProgress: (amount) => {
    advance();
    options?.onProgress?.(amount);
  },
});

/** The longest time limit of the programs, because a program that sleeps uses all of its limit. */
const programLimit = (jobs: readonly Partial<Pick<ExecutionJob, 'limits'>>[] = []): number =>
  1000 * PROGRAM_LIMITS * jobs.reduce((most, { limits }) => Math.max(most, limits?.wallSeconds ?? 0), 0);
