// The environments of a run: the first worker of each part records its own, later ones are compared with it.
import { GauntletError } from '../core/base/errors.js';
import {
  type Environment,
  type EnvironmentPart,
  type EnvironmentRecord,
  environmentRecordSchema,
} from '../core/schema/environment.js';
import { canonicalJson, renderedJson } from './canonicalJson.js';
import { createRecord, listRecords } from './records.js';
import { ENVIRONMENT, readParsed } from './runs.js';
import type { Store } from './store.js';

/**
 * Records the environment of a worker, once. New details are recorded as they come.
 * @param accepts whether other facts are recorded too
 * @throws GauntletError ENVIRONMENT_CHANGED naming the facts that differ from the first ones
 */
export async function enterEnvironment(
  store: Store,
  runId: string,
  environment: Environment,
  accepts: boolean,
): Promise<void> {
  const { part, facts } = environment;
  for (;;) {
    const known = await readEnvironments(store, runId, part);
    if (known.some((one) => isSame(one.facts, facts) && isSame(one.details, environment.details))) return;
    const [first] = known;
    const isOther = first !== undefined && known.every((one) => differences(one, facts).length > 0);
    if (isOther && !accepts) throw changed(runId, part, differences(first, facts));
    const at = new Date().toISOString();
    const record = environmentRecordSchema.parse({ ...environment, accepted: isOther || undefined, at });
    const path = `${ENVIRONMENT}/${part}-${known.length + 1}.json`;
    if (await createRecord(store, runId, path, renderedJson(record))) return;
  } // another worker was first: the loop looks again
}

/** Reads the environments in the order in which they were recorded. @throws GauntletError CORRUPT_ARTIFACT naming the file */
export async function readEnvironments(
  store: Store,
  runId: string,
  part: EnvironmentPart,
): Promise<EnvironmentRecord[]> {
  const records: EnvironmentRecord[] = [];
  const present = await listRecords(store, runId, ENVIRONMENT);
  for (let n = 1; present.includes(`${ENVIRONMENT}/${part}-${n}.json`); n++) {
    const path = `${ENVIRONMENT}/${part}-${n}.json`;
    const record = await readParsed(store, runId, path, environmentRecordSchema);
    if (record) records.push(record);
  }
  return records;
}

type Texts = Record<string, string>;
const isSame = (a: Texts, b: Texts): boolean => canonicalJson(a) === canonicalJson(b);

/** Names the facts that differ. A fact that the record lacks does not differ; an older record may have it as a detail. */
function differences(known: EnvironmentRecord, facts: Texts): string[] {
  const before: Texts = { ...known.details, ...known.facts };
  const names = [...new Set([...Object.keys(known.facts), ...Object.keys(facts)])].sort();
  return names
    .filter((name) => before[name] !== undefined && before[name] !== facts[name])
    .map((name) => `${name} ${before[name]}, here ${facts[name] ?? 'unknown'}`);
}

const changed = (runId: string, part: EnvironmentPart, differing: string[]): GauntletError =>
  new GauntletError(
    'ENVIRONMENT_CHANGED',
    `run ${runId} has another ${part}: ${differing.join('; ')}; results may differ: use the same, or set GAUNTLET_ACCEPT_ENVIRONMENT=1 for this worker`,
  );
