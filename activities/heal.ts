// A lost input is computed again: the store's records say which activity made an artifact, and of what. So a blob that
// was damaged or deleted under a run costs the time of one activity, and nobody has to come.
import { GauntletError } from '../core/errors.js';
import { digestJson } from '../store/canonicalJson.js';
import { kindOfRow, readRecord, unlessLost } from '../store/memo.js';
import { digestsIn } from '../store/references.js';
import { MANIFEST, readRun } from '../store/runs.js';
import type { Digest, Store } from '../store/store.js';
import type { ActivityDeps } from './scope.js';
import type { RunRef } from './types.js';

/** What takes longer is not done inside the limits of another activity: `gauntlet resume` does it in its own. */
export const HEAL_WITHIN_SECONDS = 120;

/** An activity that made artifacts, to be called again with the inputs of then. */
export interface Producer {
  version: number; // 0: not memoised
  call(input: unknown): Promise<unknown>;
}
export type ArtifactProducers = Map<string, Producer>;

/** Does `work`; where an artifact that it reads is lost, that is computed again first, each one once. */
export async function healing<T>(
  deps: ActivityDeps,
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
      if (!tried.has(lost) && (await restore(deps.store, producers, run, lost))) {
        tried.add(lost);
        continue;
      }
      const way = run === undefined ? '' : `: go on with \`gauntlet resume ${run.runId}\``;
      throw new GauntletError('CORRUPT_ARTIFACT', `${message}, and could not be computed again here${way}`, {
        cause: error,
      });
    }
  }
}

async function restore(
  store: Store,
  producers: ArtifactProducers,
  run: RunRef | undefined,
  lost: Digest,
): Promise<boolean> {
  for (const key of await store.memoKeys()) {
    if (kindOfRow(key).kind !== 'result' || !(await names(store, key, lost))) continue;
    const record = await unlessLost(() => readRecord(store, key));
    const producer = record && producers.get(record.name);
    if (!record || producer?.version !== record.version || record.seconds > HEAL_WITHIN_SECONDS) continue;
    const input = withRun(record.inputs, run);
    if (input !== undefined) await attempt(() => producer.call(input));
    if (await store.hasBlob(lost)) return true;
  }
  // what a run begins with is named by no row
  const prepare = producers.get('prepareRun');
  if (prepare && run && (await store.readRunFile(run.runId, MANIFEST)) !== undefined) {
    await attempt(async () => prepare.call({ runId: run.runId, input: await openingInput(store, run) }));
  }
  return store.hasBlob(lost);
}

async function names(store: Store, key: string, artifact: Digest): Promise<boolean> {
  const output = await unlessLost(async () => {
    const digest = await store.getMemo(key);
    return digest === undefined ? undefined : store.getJson(digest);
  });
  return digestsIn(output).includes(artifact);
}

/**
 * The inputs of then. Of the run only its identity was kept: where it had the models of this one, they are where this
 * one found them; its configuration may have been another (before a live change, or for solving).
 */
function withRun(inputs: unknown, run: RunRef | undefined): unknown {
  const then = runOf(inputs);
  if (then === undefined) return inputs;
  if (run === undefined) return undefined;
  const same = digestJson(then) === digestJson(identityOfRun({ ...run, config: then.config, problems: then.problems }));
  return same ? { ...(inputs as object), run: { ...run, config: then.config, problems: then.problems } } : undefined;
}

/** What a run computes hangs on its digests, not on its id, nor on where its models lie and what they run on. */
export function identityOfRun({ bases, config, problems }: RunRef): object {
  const identityOf = ({ modelDigest, adapterConfig }: RunRef['bases']['generator']) => ({ modelDigest, adapterConfig });
  const [generator, discriminator] = [identityOf(bases.generator), identityOf(bases.discriminator)];
  return { bases: { generator, discriminator }, config, problems };
}

/** The manifest's configuration, with the models where this run found them. */
async function openingInput(store: Store, run: RunRef): Promise<unknown> {
  const { config } = await readRun(store, run.runId);
  const { discriminator } = config;
  const own = discriminator.model === null ? discriminator : { ...discriminator, model: run.bases.discriminator.model };
  return {
    ...config,
    model: run.bases.generator.model,
    discriminator: own,
    engine: { ...config.engine, ...run.engine },
  };
}

/** A failure on the way is not the failure to tell: what is lost is. */
async function attempt(work: () => Promise<unknown>): Promise<void> {
  await work().catch(() => undefined);
}

export function runOf(input: unknown): RunRef | undefined {
  return typeof input === 'object' && input !== null && 'run' in input ? (input.run as RunRef) : undefined;
}
