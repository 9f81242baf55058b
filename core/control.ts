// Steering a run while it goes on: which fields of its configuration may change, and what a change makes of it. A change
// enters the configuration and so the keys of everything computed after it; budgets and pauses change no result.
import { z } from 'zod';
import { GauntletError } from './errors.js';
import { isTooDeep } from './nesting.js';
import { merged, resolveConfig } from './presets.js';
import type { RunConfig } from './schema/config.js';
import type { ControlMetrics } from './schema/metrics.js';

/** Fields that a live run may change, with all below them. */
export const LIVE_FIELDS = [
  'ppo',
  'reward',
  'advantage',
  'credit',
  'batch',
  'testsPerTurn',
  'sampling.temperature',
  'schedule.discriminatorSteps',
  'schedule.generatorSteps',
  'schedule.alternatingSteps',
  'budget',
  'failure',
] as const;

const asked = {
  at: z.string(), // ISO 8601
  after: z.int().nonnegative().optional(), // steps: not before so many are done
};

/** What a person asked of a run, in order. It takes effect between two steps. */
export const requestSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['pause', 'resume', 'stop']), ...asked }),
  z.strictObject({ kind: z.literal('change'), fields: z.record(z.string(), z.unknown()), ...asked }), // nested
]);
export type Request = z.infer<typeof requestSchema>;

export const DECISIONS = ['retry', 'skip', 'abort'] as const;
/** What a person decides of an activity that failed: try it again, leave its step out, or end the run. */
export type Decision = (typeof DECISIONS)[number];

/** All that was asked of a run so far. It only grows, so a later copy is the whole truth. */
export interface Control {
  requests: Request[];
  decisions: Decision[]; // one for each failure that waited
}

const controlSchema: z.ZodType<Control> = z.object({
  requests: z.array(requestSchema),
  decisions: z.array(z.enum(DECISIONS)),
});
/** A signal is anybody's to send, and what a workflow stumbles over it stumbles over for good. */
export const isControl = (given: unknown): given is Control => controlSchema.safeParse(given).success;

/** What of a signal are requests that can be done; the others are passed over, since nobody would hear of a refusal. */
export function requestsAmong(given: unknown): Request[] {
  return (Array.isArray(given) ? given : []).flatMap((each) => {
    const { data } = requestSchema.safeParse(each);
    return data !== undefined && canBeDone(data) ? [data] : [];
  });
}

/** Whether a value of a live field is good does not hang on the other fields. */
function canBeDone(request: Request): boolean {
  try {
    if (request.kind === 'change') checkChange(resolveConfig(), request.fields);
    return true;
  } catch (error) {
    if (error instanceof GauntletError) return false;
    throw error;
  }
}

/** Whether the last word is to pause. */
export const isPaused = (requests: readonly Request[]): boolean =>
  requests.findLast(({ kind }) => kind === 'pause' || kind === 'resume')?.kind === 'pause';

/** The signal that brings a run what an earlier execution of it was asked and had not come to. */
export const CARRY = 'carry';

/** Whether a record is of what was asked before this very step. */
export const isAskedAt = (
  { step, stage, next }: ControlMetrics,
  at: { stage: number; next: number; step: number },
): boolean => step === at.step && stage === at.stage && next === at.next;

/** The configuration as a run left it that is started again. */
export const changedBefore = (config: RunConfig, controls: readonly ControlMetrics[] = []): RunConfig =>
  controls.reduce((now, { action, fields }) => (action === 'change' ? changed(now, fields ?? {}) : now), config);

/** Characters of a change as JSON; all that may change at once has a fifth of that. A run takes its changes along. */
const LONGEST_CHANGE = 8_192;

/** Before a run accepts it. @throws GauntletError BAD_CONFIG, never with more than one line of what was given */
export function checkChange(config: RunConfig, fields: unknown): void {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    throw new GauntletError('BAD_CONFIG', 'a change is an object of fields, e.g. {"ppo": {"learningRate": 0.001}}');
  }
  if (isTooDeep(fields) || JSON.stringify(fields).length > LONGEST_CHANGE) {
    throw new GauntletError(
      'BAD_CONFIG',
      `a change is at most ${LONGEST_CHANGE} characters of fields and their values`,
    );
  }
  changed(config, fields as Record<string, unknown>);
}

/**
 * The configuration after a change.
 * @throws GauntletError BAD_CONFIG naming the field that cannot change or has a bad value
 */
export function changed(config: RunConfig, fields: Record<string, unknown>): RunConfig {
  const paths = leafPaths(fields);
  if (paths.length === 0) throw new GauntletError('BAD_CONFIG', 'the change names no field, e.g. ppo.learningRate');
  const isLive = (path: string) => LIVE_FIELDS.some((live) => path === live || path.startsWith(`${live}.`));
  const fixed = paths.find((path) => !isLive(path) || path.split('.').includes('__proto__'));
  if (fixed !== undefined) {
    throw new GauntletError(
      'BAD_CONFIG',
      `${fixed}: cannot change while a run goes on; what can: ${LIVE_FIELDS.join(', ')} (or fork the run)`,
    );
  }
  const after = resolveConfig({ ...merged(config, fields), preset: config.preset });
  const [hasHead, needsHead] = [config, after].map(({ advantage }) => advantage.estimator === 'gae');
  if (hasHead !== needsHead) {
    const reason = `its adapters ${hasHead ? 'have a' : 'have no'} value head`;
    throw new GauntletError(
      'BAD_CONFIG',
      `advantage.estimator: cannot change ${hasHead ? 'from' : 'to'} gae in an existing run: ${reason}; start a new run`,
    );
  }
  return after;
}

/** 'a.b' for every value that is no object of fields. */
function leafPaths(fields: Record<string, unknown>, above = ''): string[] {
  return Object.entries(fields).flatMap(([key, value]) => {
    const path = `${above}${key}`;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? leafPaths(value as Record<string, unknown>, `${path}.`) : [path];
  });
}

export interface Spending {
  tokens: number; // sampled
  seconds: number; // of activities
  executions: number; // programs run in the sandbox
}

export const NOTHING_SPENT: Spending = { tokens: 0, seconds: 0, executions: 0 };

export const add = (a: Spending, b: Spending): Spending => ({
  tokens: a.tokens + b.tokens,
  seconds: a.seconds + b.seconds,
  executions: a.executions + b.executions,
});

/**
 * The budget that a step as costly as `next` would pass; undefined where all hold. A budget is never passed knowingly: a
 * run ends before the step, not after it.
 */
export function exceeded(budget: RunConfig['budget'], spent: Spending, next: Spending): string | undefined {
  const after = add(spent, next);
  for (const kind of ['tokens', 'seconds', 'executions'] as const) {
    const limit = budget[kind];
    if (limit !== null && (after[kind] > limit || spent[kind] >= limit)) {
      return `the budget of ${limit} ${kind} (${Math.round(spent[kind])} spent)`;
    }
  }
  return undefined;
}

/** The leaves of changed fields as people write them: 'a.b=1 c=2'. */
export function fieldsText(fields: Record<string, unknown>, above = ''): string {
  const parts = Object.entries(fields).map(([name, value]) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject
      ? fieldsText(value as Record<string, unknown>, `${above}${name}.`)
      : `${above}${name}=${JSON.stringify(value)}`;
  });
  return parts.join(' ');
}
