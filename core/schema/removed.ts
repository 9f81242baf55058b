// Fields and values that were removed. Configurations of older versions have them.
import { z } from 'zod';
import { isPlainObject, merged } from '../config/objects.js';
import { type Fields, FROZEN, FROZEN_ROLLOUTS, isSame } from './identity.js';

/** The old fields with their values, also those that a configuration may leave out. */
const OLD = merged(FROZEN, { rollouts: FROZEN_ROLLOUTS, discriminator: { tests: 'values' }, batch: { refill: 0 } });

/**
 * Drops the fields that were removed, with the value that all runs have now. Another value is refused, because it asks
 * for something that is gone.
 * @param known an object with the fields that the schema has
 */
export const withoutRemoved = (fields: unknown, known: object, context: z.RefinementCtx): unknown =>
  dropped(fields, OLD, { ...known, rollouts: {} }, (path, value) =>
    context.addIssue({
      code: 'custom',
      path,
      message: `was removed, and is now always ${JSON.stringify(value)}: leave it out, or use the version that the run began with`,
    }),
  );

function dropped(
  given: unknown,
  frozen: Fields,
  known: Fields,
  refuse: (path: string[], value: unknown) => void,
): unknown {
  if (!isPlainObject(given)) return given;
  const left = { ...given };
  for (const [name, value] of Object.entries(frozen).filter(([field]) => Object.hasOwn(given, field))) {
    if (!Object.hasOwn(known, name)) {
      if (!isWithin(given[name], value)) refuse([name], value);
      delete left[name];
    } else if (isPlainObject(value)) {
      left[name] = dropped(given[name], value, known[name] as Fields, (path, own) => refuse([name, ...path], own));
    }
  }
  return left;
}

/** Whether `value` is `whole`, or an object with some of its fields. */
const isWithin = (value: unknown, whole: unknown): boolean =>
  isSame(isPlainObject(value) && isPlainObject(whole) ? merged(whole, value) : value, whole);

/** A schema for one of the values. It refuses removed values with a special message. */
export const choice = <const Values extends readonly string[]>(values: Values, removed: readonly string[] = []) =>
  z.enum(values, {
    error: ({ input }) =>
      removed.some((value) => value === input)
        ? `${input} was removed: use ${values.join(', ')}, or the version that the run began with`
        : undefined,
  });
