// Leaves out problems that do not fit into the models' context, and problems of a file whose reference fails its own tests (the
// health gate), because their rewards would be noise. The run's record gives the reasons. The store keeps the gate's verdicts for
// equal problems in an equal sandbox, unless a limit decided them. With `healthGate: again`, a run ignores the kept verdicts.
import { z } from 'zod';
import { GauntletError } from '../../core/base/errors.js';
import { type Ref, refTo } from '../../core/base/ref.js';
import type { RunConfig } from '../../core/schema/config.js';
import {
  isBuiltIn,
  type Problem,
  type ProblemSet,
  type Rejected,
  SPLITS,
  type Split,
} from '../../core/schema/problem.js';
import type { QuarantineProblemsInput, QuarantineProblemsOutput } from '../../method/prepare.js';
import { NO_REFERENCE } from '../../sandbox/healthGate.js';
import { digestJson, renderedJson } from '../../store/canonicalJson.js';
import { memoKey, unlessLost } from '../../store/memo.js';
import { createRecord } from '../../store/records.js';
import { QUARANTINE, readParsed } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { readConfig, readProblems } from '../artifacts.js';
import type { Scope } from '../scope.js';
import { examineProblems } from './loadAnswered.js';

const PART = 256; // problems whose verdicts are stored together
const GATE_VERSION = 3; // the version of stored verdicts; raise it whenever the gate's verdicts change

const recordSchema = z.strictObject({
  problems: refTo<ProblemSet>(), // the set before problems were left out
  total: z.int(),
  quarantined: z.array(z.strictObject({ id: z.string(), reason: z.string() })),
});
type Quarantine = z.infer<typeof recordSchema>;

/** Finds the word of a limit in a reason. The next run examines a problem with such a reason again. */
const LIMITED = /\b(timeout|memory)\b/;

export async function quarantineProblems(
  scope: Scope,
  { run, unfit: found, again = false }: QuarantineProblemsInput,
): Promise<QuarantineProblemsOutput> {
  const { store } = scope;
  const unfit = found === undefined ? [] : await store.getJson(found);
  const { set } = await readProblems(store, run.problems);
  const record = await recordOf(scope, run, set, unfit, again);
  const healthy = usable(set, record);
  return { problems: await store.putJson(healthy), total: record.total, quarantined: record.quarantined.length };
}

/** @throws GauntletError BAD_INPUT if a split has no problem left */
function usable(set: ProblemSet, record: Quarantine): Record<Split, Problem[]> {
  const healthy = healthyOf(set, record);
  const empty = SPLITS.find((split) => healthy[split].length === 0);
  if (empty !== undefined) {
    const { id, reason } = record.quarantined[0] ?? { id: '', reason: '' };
    throw new GauntletError(
      'BAD_INPUT',
      `no healthy problem is left for ${empty}: ${record.quarantined.length} of ${record.total} are quarantined, e.g. ${id}: ${reason}`,
    );
  }
  return healthy;
}

/**
 * Refuses a problem set of which too few problems fit, after the record is written. No decision of a person could help.
 * @throws GauntletError BAD_INPUT
 */
export async function requireFitting(
  scope: Scope,
  run: QuarantineProblemsInput['run'],
  set: ProblemSet,
  unfit: Rejected[],
): Promise<void> {
  const { rejected = [] } = set;
  const total = SPLITS.reduce((sum, split) => sum + set[split].length, rejected.length);
  const record: Quarantine = { problems: run.problems, total, quarantined: [...rejected, ...unfit] };
  try {
    usable(set, record);
  } catch (error) {
    await createRecord(scope.store, run.runId, QUARANTINE, renderedJson(record));
    throw error;
  }
}

/** If this is the problem set of the run, the set without the problems that the run left out; otherwise the set unchanged. */
export async function withoutQuarantined(store: Store, runId: string, set: ProblemSet): Promise<ProblemSet> {
  const record = await readParsed(store, runId, QUARANTINE, recordSchema);
  return record && record.problems === digestJson(set) ? healthyOf(set, record) : set;
}

function healthyOf({ rejected = [], ...set }: ProblemSet, { quarantined }: Quarantine): Record<Split, Problem[]> {
  const out = new Set(quarantined.slice(rejected.length).map(({ id }) => id)); // the set has no rejected records, which come first
  const healthy = (split: Split): Problem[] => set[split].filter(({ id }) => !out.has(id));
  return { train: healthy('train'), validation: healthy('validation'), test: healthy('test') };
}

async function recordOf(
  scope: Scope,
  run: QuarantineProblemsInput['run'],
  set: ProblemSet,
  unfit: Rejected[],
  again: boolean,
): Promise<Quarantine> {
  const { store, deps } = scope;
  const known = await readQuarantine(scope, run);
  if (known) return known;
  const { rejected = [] } = set;
  const problems = SPLITS.flatMap((split) => set[split]);
  const config = await readConfig(store, run);
  const out = new Set(unfit.map(({ id }) => id));
  const fitting = problems.filter(({ id }) => !out.has(id));
  // built-in problems are generated together with their references: the gate would find nothing
  const isExamined = !isBuiltIn(config.problems) && config.healthGate;
  const referenced = fitting.filter(({ referenceSolution }) => referenceSolution !== undefined);
  const unhealthy = isExamined ? await examineAll(scope, config, referenced, again) : [];
  const quarantined = [...rejected, ...unfit, ...fitting.flatMap((one) => withoutReference(one, config)), ...unhealthy];
  const record: Quarantine = { problems: run.problems, total: problems.length + rejected.length, quarantined };
  for (const one of record.quarantined) deps.log?.warn(one, 'problem quarantined');
  await createRecord(store, run.runId, QUARANTINE, renderedJson(record));
  return (await readQuarantine(scope, run)) ?? record; // the first of two concurrent attempts wins
}

/** Why a problem cannot be used without a reference, if it has none. */
function withoutReference({ id, referenceSolution, baselineTests }: Problem, { reference }: RunConfig): Rejected[] {
  if (referenceSolution !== undefined) return [];
  if (reference !== 'none') return [{ id, reason: NO_REFERENCE }];
  return baselineTests.length > 0 ? [] : [{ id, reason: 'no reference solution, and no test with an expected value' }];
}

async function examineAll(scope: Scope, config: RunConfig, problems: Problem[], again: boolean): Promise<Rejected[]> {
  const { limits, sandbox, containers } = config;
  const environment = await scope.deps.environment?.('sandbox', config, config.engine);
  const { code: _, ...details } = environment?.details ?? {}; // GATE_VERSION is the version of the gate's own code
  const conditions = { limits, sandbox: environment ? { ...environment.facts, ...details } : { sandbox, containers } };
  const unhealthy: Rejected[] = [];
  for (let done = 0; done < problems.length; done += PART) {
    scope.heartbeat({ done });
    unhealthy.push(...(await examinePart(scope, config, problems.slice(done, done + PART), conditions, again)));
  }
  return unhealthy;
}

/** Runs the gate on the problems for which the store has no verdict under the same limits and in an equal sandbox. */
async function examinePart(
  scope: Scope,
  config: RunConfig,
  problems: Problem[],
  conditions: object,
  again: boolean,
): Promise<Rejected[]> {
  const { store } = scope;
  const { key, last } = await lastEntry(store, { problems: digestJson(problems), ...conditions });
  const known = again || last === undefined ? undefined : await unlessLost(() => store.getJson(last));
  const limited = known?.filter(({ reason }) => LIMITED.test(reason));
  const open = problems.filter(({ id }) => limited?.some((one) => one.id === id) ?? true);
  const all = (known ?? []).filter((one) => !limited!.includes(one));
  for await (const { id, found } of examineProblems(scope, config, open))
    if ('reason' in found) all.push({ id, reason: found.reason });
  const unhealthy = problems.flatMap(({ id }) => all.filter((one) => one.id === id));
  const digest = await store.putJson(unhealthy);
  if (digest !== last) await store.putMemo(key, digest);
  return unhealthy;
}

/** The latest entry for these inputs, which is the valid one, and the key for a newer entry. A stored entry never changes. */
async function lastEntry(store: Store, inputs: object): Promise<{ key: string; last: Ref<Rejected[]> | undefined }> {
  let last: Ref<Rejected[]> | undefined;
  for (let entry = 0; ; entry++) {
    const key = memoKey('healthGate', GATE_VERSION, { ...inputs, entry });
    const found = await unlessLost(() => store.getMemo(key));
    if (found === undefined) return { key, last };
    last = found as Ref<Rejected[]>;
  }
}

async function readQuarantine(scope: Scope, run: QuarantineProblemsInput['run']): Promise<Quarantine | undefined> {
  const record = await readParsed(scope.store, run.runId, QUARANTINE, recordSchema);
  if (record === undefined || record.problems === run.problems) return record;
  throw new GauntletError('CORRUPT_ARTIFACT', `${QUARANTINE} of run ${run.runId} belongs to other problems`);
}
