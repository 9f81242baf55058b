// Recomputes lost artifacts. The store records which activity produced an artifact and from which inputs, so a damaged
// or deleted blob costs the time of one activity and needs no manual repair.
import { runIdentityOf, runOf } from '../chains/memoKey.js';
import type { Deps } from '../chains/scope.js';
import { GauntletError } from '../core/base/errors.js';
import type { RunRef } from '../core/schema/runRef.js';
import { digestJson } from '../store/canonicalJson.js';
import { kindOfRow, readMemoRecord, unlessLost } from '../store/memo.js';
import { digestsIn } from '../store/references.js';
import { MANIFEST, readRun } from '../store/runs.js';
import type { Digest, Store } from '../store/store.js';

/** A longer recomputation does not fit into the time limit of the activity that needs it. `gauntlet resume` repeats it instead. */
export const RECOMPUTE_WITHIN_SECONDS = 120;

/** An activity that can be called again with recorded inputs. */
export interface ArtifactProducer {
  version: number; // 0 if the activity's result is not stored
  call(input: unknown): Promise<unknown>;
}
export type ArtifactProducers = Map<string, ArtifactProducer>;

/** Runs `work`. If an artifact that it reads is lost, recomputes the artifact (once each) and runs `work` again. */
export async function withRecomputation<T>(
  deps: Deps,
  producers: ArtifactProducers,
  input: unknown,
  work: () => Promise<T>,
): Promise<T> {
  const tried = new Set<Digest>();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const lost = error instanceof GauntletError ? error.artifact : undefined;
      if (lost === undefined) throw error;
      const { message } = error as GauntletError;
      const run = runOf(input);
      deps.log?.warn({ run: run?.runId, artifact: lost }, message);
      if (!tried.has(lost) && (await recompute(deps.store, producers, run, lost))) {
        tried.add(lost);
        continue;
      }
      const hint = run === undefined ? '' : `: continue with \`gauntlet resume ${run.runId}\``;
      const told = `${message}, and it cannot be recomputed here${hint}`;
      throw new GauntletError('CORRUPT_ARTIFACT', told, { cause: error });
    }
  }
}

async function recompute(
  store: Store,
  producers: ArtifactProducers,
  run: RunRef | undefined,
  lost: Digest,
): Promise<boolean> {
  for (const key of await store.memoKeys()) {
    if (kindOfRow(key).kind !== 'result' || !(await refersTo(store, key, lost))) continue;
    const record = await unlessLost(() => readMemoRecord(store, key));
    const producer = record && producers.get(record.name);
    if (!record || producer?.version !== record.version || record.seconds > RECOMPUTE_WITHIN_SECONDS) continue;
    if (digestsIn(record.inputs).includes(lost)) continue; // the activity only passed the artifact on
    const input = withRun(record.inputs, run);
    // if this fails, the artifact stays missing, and the caller reports that
    if (input !== undefined) await producer.call(input).catch(() => undefined);
    if (await store.hasBlob(lost)) return true;
  }
  // no memo row refers to the initial artifacts of a run
  const prepare = producers.get('prepareRun');
  if (prepare && run && (await store.readRunFile(run.runId, MANIFEST)) !== undefined) {
    const again = async () =>
      prepare.call({ runId: run.runId, input: await initialConfig(store, run), keepsInput: true });
    await again().catch(() => undefined);
  }
  return store.hasBlob(lost);
}

async function refersTo(store: Store, key: string, artifact: Digest): Promise<boolean> {
  const output = await unlessLost(async () => {
    const digest = await store.getMemo(key);
    return digest === undefined ? undefined : store.getJson(digest);
  });
  return digestsIn(output).includes(artifact);
}

/**
 * The recorded inputs with a complete RunRef: a record has only the identity of its run. If the recorded models equal those of
 * `run`, their location is the same. The recorded configuration may differ (before a live change, or for solving).
 */
function withRun(inputs: unknown, run: RunRef | undefined): unknown {
  const recorded = runOf(inputs);
  if (recorded === undefined) return inputs;
  if (run === undefined) return undefined;
  const { config, problems } = recorded;
  const candidate = { ...run, config, problems };
  return digestJson(recorded) === digestJson(runIdentityOf(candidate))
    ? { ...(inputs as object), run: candidate }
    : undefined;
}

/** The configuration of the manifest, with the current location of the models. */
async function initialConfig(store: Store, run: RunRef): Promise<unknown> {
  const { config } = await readRun(store, run.runId);
  const { discriminator } = config;
  const model = discriminator.model === null ? null : run.bases.discriminator.model;
  return {
    ...config,
    model: run.bases.generator.model,
    discriminator: { ...discriminator, model },
    engine: { ...config.engine, ...run.engine },
  };
}
