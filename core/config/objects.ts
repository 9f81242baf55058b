// Objects of fields, such as configurations.
import { GauntletError } from '../base/errors.js';

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Merges objects recursively. Other values of `over` replace those of `base`. An undefined field counts as absent. */
export function merged(base: object, over: object): Record<string, unknown> {
  const out: Record<string, unknown> = { ...(base as Record<string, unknown>) };
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue;
    if (key === '__proto__') throw unknownPrototype('');
    const current = out[key];
    out[key] = isPlainObject(current) && isPlainObject(value) ? merged(current, value) : value;
  }
  return out;
}

/** Refuses a JSON field named `__proto__`, which would be ignored silently. @throws GauntletError BAD_CONFIG */
export function refusePrototypes(fields: object, path = ''): void {
  for (const [key, value] of Object.entries(fields)) {
    if (key === '__proto__') throw unknownPrototype(path);
    if (typeof value === 'object' && value !== null) refusePrototypes(value, `${path}${key}.`);
  }
}

const unknownPrototype = (path: string): GauntletError =>
  new GauntletError('BAD_CONFIG', `${path}__proto__: there is no such field`);
