// The health gate for user-supplied problems. A problem whose reference fails its own tests is left out, because its
// rewards would be noise. The run's record gives the reason. The gate runs once per run: a resumed run keeps the verdicts.
import { z } from 'zod';
import { GauntletError } from '../core/errors.js';
import { type Problem, SPLITS } from '../core/schema/problem.js';
import { examineProblem } from '../sandbox/healthGate.js';
import { canonicalJson } from '../store/canonicalJson.js';
import { readConfig, readProblems } from './artifacts.js';
import { type Scope, withHeartbeat } from './scope.js';
import type { QuarantineProblemsInput, QuarantineProblemsOutput } from './types.js';

const RECORD = 'quarantine.json';
const BATCH = 8; // problems at a time

const recordSchema = z.strictObject({
  problems: z.string(), // digest of the original set
  total: z.int(),
  quarantined: z.array(z.strictObject({ id: z.string(), reason: z.string() })),
});
type Quarantine = z.infer<typeof recordSchema>;

export async function quarantineProblems(
  scope: Scope,
  { run }: QuarantineProblemsInput,
): Promise<QuarantineProblemsOutput> {
  const { store } = scope;
  const { set } = await readProblems(store, run.problems);
  const record = await recordOf(
    scope,
    run,
    SPLITS.flatMap((split) => set[split]),
  );
  const out = new Set(record.quarantined.map(({ id }) => id));
  const healthy = Object.fromEntries(SPLITS.map((split) => [split, set[split].filter(({ id }) => !out.has(id))]));
  const empty = SPLITS.find((split) => healthy[split]!.length === 0);
  if (empty !== undefined) {
    const { id, reason } = record.quarantined[0] ?? { id: '', reason: '' };
    throw new GauntletError(
      'BAD_INPUT',
      `no healthy problem is left for ${empty}: ${out.size} of ${record.total} are quarantined, e.g. ${id}: ${reason}`,
    );
  }
  return { problems: await store.putJson(healthy), total: record.total, quarantined: out.size };
}

async function recordOf(scope: Scope, run: QuarantineProblemsInput['run'], problems: Problem[]): Promise<Quarantine> {
  const { store, deps } = scope;
  const known = await readRecord(scope, run);
  if (known) return known;
  const config = await readConfig(store, run);
  const sandbox = await deps.sandbox(config);
  if (config.typeCheck.enabled) await sandbox.checkTypes([]); // fails early if there is no type checker
  const quarantined: Quarantine['quarantined'] = [];
  for (let done = 0; done < problems.length; done += BATCH) {
    const batch = problems.slice(done, done + BATCH);
    const options = { limits: config.limits, ...(scope.signal && { signal: scope.signal }) };
    const examine = () => Promise.all(batch.map((problem) => examineProblem(problem, sandbox, options)));
    for (const [i, one] of (await withHeartbeat(scope, examine, { done })).entries())
      if ('reason' in one) quarantined.push({ id: batch[i]!.id, reason: one.reason });
  }
  const record: Quarantine = { problems: run.problems, total: problems.length, quarantined };
  for (const one of record.quarantined) deps.log?.warn(one, 'problem quarantined');
  await store.createRunFile(run.runId, RECORD, `${canonicalJson(record, 2)}\n`);
  return (await readRecord(scope, run)) ?? record; // the first of two concurrent attempts wins
}

async function readRecord(scope: Scope, run: QuarantineProblemsInput['run']): Promise<Quarantine | undefined> {
  const bytes = await scope.store.readRunFile(run.runId, RECORD);
  if (bytes === undefined) return undefined;
  const record = parse(Buffer.from(bytes).toString('utf8'));
  if (record?.problems === run.problems) return record;
  throw new GauntletError('CORRUPT_ARTIFACT', `${RECORD} of run ${run.runId} is damaged or belongs to other problems`);
}

function parse(text: string): Quarantine | undefined {
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
