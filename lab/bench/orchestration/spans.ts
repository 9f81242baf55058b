// Spans of time in which components work, and the share of each kind in a period.
import type { Deps } from '../../../chains/scope.js';

/** Milliseconds since 1970, with fractions. */
export type Span = readonly [from: number, to: number];

export const WORK = ['model', 'sandbox', 'store'] as const;
export type Work = (typeof WORK)[number];

/**
 * Milliseconds of [from, to] in each layer. An instant belongs to the first layer with a span that covers it. The last
 * figure counts instants in no layer.
 */
export function attribute([from, to]: Span, layers: readonly (readonly Span[])[]): number[] {
  const edges = layers.flatMap((spans, layer) =>
    spans.flatMap(([begin, end]) => {
      const [a, b] = [Math.max(begin, from), Math.min(end, to)];
      return a < b
        ? [
            { at: a, layer, change: 1 },
            { at: b, layer, change: -1 },
          ]
        : [];
    }),
  );
  edges.sort((a, b) => a.at - b.at);
  const open = layers.map(() => 0);
  const spent = new Array<number>(layers.length + 1).fill(0);
  let last = from;
  const upTo = (at: number): void => {
    const first = open.findIndex((count) => count > 0);
    spent[first < 0 ? layers.length : first]! += at - last;
    last = at;
  };
  for (const { at, layer, change } of edges) {
    upTo(at);
    open[layer]! += change;
  }
  upTo(to);
  return spent;
}

const now = (): number => performance.timeOrigin + performance.now();

/** Spans of calls, by kind. */
export class Stopwatch<K extends string> {
  readonly spans: Record<K, Span[]>;

  constructor(kinds: readonly K[]) {
    this.spans = Object.fromEntries(kinds.map((kind) => [kind, [] as Span[]])) as Record<K, Span[]>;
  }

  /** Times a call; a promise counts until it settles. */
  time<T>(kind: K, work: () => T): T {
    const began = now();
    const ended = (): void => void this.spans[kind].push([began, now()]);
    let result: T;
    try {
      result = work();
    } catch (error) {
      ended();
      throw error;
    }
    if (!(result instanceof Promise)) ended();
    else result.then(ended, ended);
    return result;
  }

  /** The same object with timed methods. */
  watch<T extends object>(kind: K, target: T): T {
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => this.time(kind, () => Reflect.apply(value, target, given) as unknown);
      },
    });
  }
}

/** Dependencies of activities with timed calls. Opening a model or a sandbox counts as its work. */
export function watchedDeps(deps: Deps, watch: Stopwatch<Work>): Deps {
  return {
    ...deps,
    store: watch.watch('store', deps.store),
    engine: (...asked) =>
      watch.time('model', () => deps.engine(...asked)).then((engine) => watch.watch('model', engine)),
    sandbox: (...asked) =>
      watch.time('sandbox', () => deps.sandbox(...asked)).then((sandbox) => watch.watch('sandbox', sandbox)),
    loadProblems: (source) => watch.time('store', () => deps.loadProblems(source)),
  };
}
