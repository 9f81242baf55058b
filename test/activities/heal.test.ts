import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ArtifactProducers, HEAL_WITHIN_SECONDS } from '../../activities/heal.js';
import { type Activities, createActivities } from '../../activities/index.js';
import { createLeafActivities } from '../../activities/leafActivities.js';
import { memoised } from '../../activities/memoise.js';
import type { Scope } from '../../activities/scope.js';
import type { RunRef } from '../../activities/types.js';
import { RandomStream } from '../../core/random.js';
import { openFileStore } from '../../store/fileStore.js';
import { listBlobs } from '../../store/inventory.js';
import { memoKey, recordKey } from '../../store/memo.js';
import { verifyStore } from '../../store/verify.js';
import { runPipeline } from '../../workflows/pipeline.js';
import { type Doubles, doubles, TINIEST_RUN } from '../support/doubles.js';

/** The activities of a run that is cut off after so many calls, or damaged before each of the calls that follow. */
function disturbed(acts: Activities, before: (call: number) => Promise<void>): Activities {
  let call = 0;
  const wrapped = Object.entries(acts).map(([name, act]) => [
    name,
    async (input: never) => {
      await before(++call);
      return (act as (input: never) => Promise<unknown>)(input);
    },
  ]);
  return Object.fromEntries(wrapped) as Activities;
}

describe('a run whose artifacts are damaged under it', function () {
  this.timeout(60_000);
  let expected: Awaited<ReturnType<typeof runPipeline>>;
  let world: Doubles;
  before(async () => {
    const undisturbed = await doubles();
    expected = await runPipeline(createActivities(undisturbed.deps), 'run', TINIEST_RUN);
    await rm(undisturbed.folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    world = await doubles();
  });
  afterEach(() => rm(world.folder, { recursive: true, force: true }));

  const blobPath = (digest: string) => join(world.folder, 'blobs/sha256', digest.slice(7, 9), digest.slice(9));

  async function damageOneBlob(random: RandomStream): Promise<string> {
    const { blobs } = await listBlobs(await openFileStore(world.folder));
    const { name } = random.choice(blobs);
    if (random.uniform() < 0.5) await rm(blobPath(name));
    else {
      const bytes = await readFile(blobPath(name));
      bytes[random.int(0, bytes.length - 1)]! ^= 1;
      await writeFile(blobPath(name), bytes);
    }
    return name;
  }

  it('computes what is lost again, and ends with the same bytes, though one is damaged before every other call', async () => {
    const random = new RandomStream('damage', 1);
    let damages = 0;
    const acts = disturbed(createActivities(world.deps), async (call) => {
      if (call % 2 > 0) return;
      await damageOneBlob(random);
      damages++;
    });
    // where the record of how it was made is lost too, the run is started again, as `gauntlet resume` does
    let restarts = 0;
    const toItsEnd = async (): Promise<typeof expected> => {
      try {
        return await runPipeline(acts, 'run', TINIEST_RUN);
      } catch (error) {
        assert.equal((error as { type?: string }).type, 'CORRUPT_ARTIFACT');
        assert.ok(restarts++ < 10);
        return toItsEnd();
      }
    };
    const result = await toItsEnd();
    assert.deepEqual(result.digests, expected.digests);
    assert.deepEqual(result.after, expected.after);
    assert.ok(damages > 10, `${damages} in ${restarts + 1} attempts`);
  });

  it('left half done and damaged, it ends with the same bytes when it is started again', async () => {
    const acts = createActivities(world.deps);
    const cut = disturbed(acts, async (call) => {
      if (call > 12) throw new Error('killed');
    });
    await assert.rejects(runPipeline(cut, 'run', TINIEST_RUN), /killed/);
    const random = new RandomStream('damage', 2);
    for (let i = 0; i < 25; i++) await damageOneBlob(random).catch(() => undefined);
    const result = await runPipeline(acts, 'run', TINIEST_RUN);
    assert.deepEqual(result.digests, expected.digests);
    assert.deepEqual(result.after, expected.after);
  });

  it('an activity makes its lost input anew with the inputs of then, and the store is whole again', async () => {
    const acts = createLeafActivities(world.deps);
    const { run, state, replayBuffer } = await acts.prepareRun({ runId: 'run', input: TINIEST_RUN });
    const position = { stage: 5, epoch: 1, phase: 'generator', step: 1, role: 'generator' } as const;
    const batch = { kind: 'train', role: 'generator', position } as const;
    const { chains } = await acts.generateReasoning({ run, batch, stage: 5 });
    const { verdicts } = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains });
    for (const digest of [chains, verdicts, replayBuffer, run.config, run.problems]) await rm(blobPath(digest));
    await writeFile(blobPath(chains), 'damaged');
    const rewarded = await acts.computeRewards({ run, role: 'generator', position, verdicts, chains, replayBuffer });
    assert.ok(rewarded.trajectories.startsWith('sha256:'));
    const { adapter, valueHead, optimizer } = state.generator;
    await rm(blobPath(adapter));
    const role = { run, role: 'generator' } as const;
    const scored = await acts.scoreOldPolicy({ ...role, trajectories: rewarded.trajectories, adapter, valueHead });
    for (const digest of [optimizer, rewarded.trajectories, scored.trajectories]) await rm(blobPath(digest));
    await acts.updatePolicy({ ...role, position, ...scored, state: state.generator, learningRate: 1e-3 });
    assert.deepEqual((await verifyStore(await openFileStore(world.folder))).findings, []);
  });

  it('what nobody can make again is told with the way to go on, and not retried', async () => {
    const gone = `sha256:${'5'.repeat(64)}`;
    const base = { modelDigest: 'm', adapterConfig: 'a' };
    const run = { runId: 'r', bases: { generator: base, discriminator: base }, config: 'c', problems: 'p' } as RunRef;
    const read = memoised(world.deps, {
      name: 'read',
      version: 1,
      run: async (scope, _: { run: RunRef }) => ({ bytes: (await scope.store.getBlob(gone)).length }),
    });
    await assert.rejects(read({ run }), {
      type: 'CORRUPT_ARTIFACT',
      nonRetryable: true,
      message: new RegExp(`${gone} .*could not be computed again here: go on with .gauntlet resume r.`),
    });
  });

  it('one that took long is left to a run that starts again, and another version is not asked', async () => {
    const { store } = world.deps;
    let calls = 0;
    const producers: ArtifactProducers = new Map();
    const spec = (version: number) => ({
      name: 'make',
      version,
      run: async (scope: Scope, { n }: { n: number }) => {
        calls++;
        return { made: await scope.store.putJson({ n }) };
      },
    });
    const make = (version: number) => memoised(world.deps, spec(version), producers);
    const value = async (scope: Scope, { made }: { made: string }) => ({ value: await scope.store.getJson(made) });
    const read = memoised(world.deps, { name: 'read', version: 1, run: value }, producers);
    const lost = async (n: number) => {
      const { made } = await make(1)({ n });
      await rm(blobPath(made));
      return made;
    };
    assert.deepEqual((await read({ made: await lost(1) })).value, { n: 1 });
    assert.equal(calls, 2);

    const record = { name: 'make', version: 1, inputs: { n: 2 }, seconds: HEAL_WITHIN_SECONDS + 1 };
    await store.putMemo(recordKey(memoKey('make', 1, { n: 2 })), await store.putJson(record));
    await assert.rejects(read({ made: await lost(2) }), { type: 'CORRUPT_ARTIFACT' });
    const old = await lost(3);
    make(2); // today's version of it
    await assert.rejects(read({ made: old }), { type: 'CORRUPT_ARTIFACT' });
    assert.equal(calls, 4);
  });
});
