// Changes to the configuration during a run. A change becomes part of the configuration and of the memo keys of
// everything computed after it. A change of a budget or of `failure` changes no result.
import { GauntletError } from '../base/errors.js';
import { isTooDeep } from '../base/nesting.js';
import type { RunConfig } from '../schema/config.js';
import type { ControlMetrics } from '../schema/metrics.js';
import { isPlainObject, merged } from './objects.js';
import { resolveConfig } from './presets.js';

/** Fields that can change while a run is running, including all fields below them. */
export const LIVE_FIELDS = [
  'ppo',
  'reward',
  'advantage',
  'credit',
  'batch',
  'testsPerTurn',
  'testTurns',
  'sampling.temperature',
  'schedule.discriminatorSteps',
  'schedule.generatorSteps',
  'schedule.alternatingSteps',
  'budget',
  'failure',
] as const;

export const isLiveField = (path: string): boolean =>
  LIVE_FIELDS.some((live) => path === live || path.startsWith(`${live}.`));

/** Maximum length of a change as JSON. The workflow carries all changes that are pending. */
const MAX_CHANGE_LENGTH = 8_192;

/**
 * The configuration after a change of nested fields, e.g. `{ppo: {learningRate: 0.001}}`.
 * @throws GauntletError BAD_CONFIG naming the field that cannot change or has a bad value
 */
export function applyConfigPatch(config: RunConfig, fields: unknown): RunConfig {
  const refuse = (message: string): never => {
    throw new GauntletError('BAD_CONFIG', message);
  };
  if (!isPlainObject(fields))
    return refuse('a change must be an object of fields, e.g. {"ppo": {"learningRate": 0.001}}');
  if (isTooDeep(fields) || JSON.stringify(fields).length > MAX_CHANGE_LENGTH)
    refuse(`a change can have at most ${MAX_CHANGE_LENGTH} characters of JSON`);
  const paths = leaves(fields).map(([path]) => path);
  if (paths.length === 0) refuse('the change names no field: name at least one, e.g. ppo.learningRate');
  const fixed = paths.find((path) => !isLiveField(path) || path.split('.').includes('__proto__'));
  if (fixed !== undefined)
    refuse(`${fixed}: cannot change during a run; these fields can: ${LIVE_FIELDS.join(', ')} (or fork the run)`);
  const changed = resolveConfig({ ...merged(config, fields), preset: config.preset });
  if (changed.sampling.temperature === null) refuse('sampling.temperature: must be a number in a change');
  return changed;
}

/** The configuration after the changes that the given records contain; other kinds of records have no effect. */
export const withRecordedChanges = (config: RunConfig, records: readonly ControlMetrics[] = []): RunConfig =>
  records.reduce((now, { action, fields }) => (action === 'change' ? applyConfigPatch(now, fields) : now), config);

/** The path and value of each innermost field: a field whose value is not an object of fields. */
export function leaves(fields: Record<string, unknown>, prefix = ''): [path: string, value: unknown][] {
  return Object.entries(fields).flatMap(([key, value]): [string, unknown][] =>
    isPlainObject(value) ? leaves(value, `${prefix}${key}.`) : [[`${prefix}${key}`, value]],
  );
}

/** Changed fields as people write them: 'a.b=1 c=2'. */
export const fieldsText = (fields: Record<string, unknown>): string =>
  leaves(fields)
    .map(([path, value]) => `${path}=${JSON.stringify(value)}`)
    .join(' ');
