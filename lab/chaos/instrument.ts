// The dependencies of activities in a chaos run. They behave like the real ones, report what they do, fail some writes at
// random, and can end the process in the middle of a write.
import type { Deps } from '../../chains/scope.js';
import { GauntletError } from '../../core/base/errors.js';
import { RandomStream } from '../../core/base/random.js';
import type { Engine } from '../../ml/engine/engine.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import type { Store } from '../../store/store.js';
import type { DeathAtWrite } from './plan.js';

/** A message from a worker to the harness. */
export type Notice =
  | { kind: 'tokens'; amount: number } // the number of tokens sampled since the last message
  | { kind: 'sandbox'; busy: boolean } // true while programs are running
  | { kind: 'fault' }; // a write failed

const WRITES = ['putBlob', 'putJson', 'putMemo', 'writeRunFile', 'createRunFile'] as const;

export interface Faults {
  /** The share of writes that fail. */
  share: number;
  seed: string;
  /** The planned death of this process, which every write checks. */
  death?: () => DeathAtWrite | undefined;
  die?: () => void;
}

export function instrumented(deps: Deps, tell: (notice: Notice) => void, faults?: Faults): Deps {
  const engines = new WeakMap<Engine, Engine>();
  const sandboxes = new WeakMap<Sandbox, Sandbox>();
  const once = <T extends object>(known: WeakMap<T, T>, real: T, make: (real: T) => T): T => {
    const made = known.get(real) ?? make(real);
    known.set(real, made);
    return made;
  };
  return {
    ...deps,
    store: faults ? failing(deps.store, faults, tell) : deps.store,
    engine: async (...given) => once(engines, await deps.engine(...given), (real) => counted(real, tell)),
    sandbox: async (...given) => once(sandboxes, await deps.sandbox(...given), (real) => watched(real, tell)),
  };
}

function counted(engine: Engine, tell: (notice: Notice) => void): Engine {
  const generate: Engine['generate'] = (rows, options) =>
    engine.generate(rows, {
      ...options,
      onProgress: (amount) => {
        tell({ kind: 'tokens', amount });
        options.onProgress?.(amount);
      },
    });
  return overriding(engine, { generate });
}

function watched(sandbox: Sandbox, tell: (notice: Notice) => void): Sandbox {
  let running = 0;
  const run: Sandbox['run'] = async (...given) => {
    if (++running === 1) tell({ kind: 'sandbox', busy: true });
    try {
      return await sandbox.run(...given);
    } finally {
      if (--running === 0) tell({ kind: 'sandbox', busy: false });
    }
  };
  return overriding(sandbox, { run });
}

/** Fails before or after the write, because a caller cannot tell these cases apart. */
export function failing(store: Store, { share, seed, death, die }: Faults, tell: (notice: Notice) => void): Store {
  const random = new RandomStream('chaos', seed);
  const write = async (name: (typeof WRITES)[number], given: unknown[]): Promise<unknown> => {
    const fault = new GauntletError('STORE_FAULT', `chaos: ${name} failed`);
    const real = (): Promise<unknown> => (store[name] as (...given: unknown[]) => Promise<unknown>)(...given);
    const sentence = death?.();
    if (sentence && sentence.write-- <= 0) return dying(sentence, real, die!);
    const draw = random.uniform();
    if (draw < share) tell({ kind: 'fault' });
    if (draw < share / 2) throw fault;
    const result = await real();
    if (draw < share) throw fault;
    return result;
  };
  const broken = Object.fromEntries(WRITES.map((name) => [name, (...given: unknown[]) => write(name, given)]));
  return overriding(store, broken as Partial<Store>);
}

async function dying({ moment }: DeathAtWrite, write: () => Promise<unknown>, die: () => void): Promise<unknown> {
  if (moment === 'during')
    setImmediate(die); // at this time, the file is being written, synced or renamed
  else if (moment === 'after') await write();
  if (moment !== 'during') die();
  return write();
}

/** A copy of `real` with some methods replaced. The other methods run on `real` itself. */
function overriding<T extends object>(real: T, own: Partial<T>): T {
  return new Proxy(real, {
    get: (target, name) => {
      if (Object.hasOwn(own, name)) return own[name as keyof T];
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
