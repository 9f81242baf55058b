import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createActivities } from '../../activities/index.js';
import { RECOMPUTE_WITHIN_SECONDS } from '../../activities/recompute.js';
import type { Scope } from '../../chains/scope.js';
import { RandomStream } from '../../core/base/random.js';
import type { RunRef } from '../../core/schema/runRef.js';
import type { Activities } from '../../method/activities.js';
import { listBlobs } from '../../store/inventory.js';
import { memoKey, recordKey } from '../../store/memo.js';
import { openStore } from '../../store/openStore.js';
import { readInput } from '../../store/runs.js';
import { verifyStore } from '../../store/verify.js';
import { type Doubles, doubles, TINIEST_RUN } from '../support/doubles.js';
import { memoisedBy } from '../support/leaves.js';
import { runPipeline } from '../support/runs.js';

/** Calls `before` before every activity, to interrupt the run or damage its artifacts. */
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

describe('the recomputation of lost artifacts', () => {
  let expected: Awaited<ReturnType<typeof runPipeline>>;
  let world: Doubles;
  before(async () => {
    const undisturbed = await doubles();
    expected = await runPipeline(createActivities(undisturbed.deps), 'run', TINIEST_RUN);
  });
  beforeEach(async () => {
    world = await doubles();
  });

  const blobPath = (digest: string) => join(world.folder, 'blobs/sha256', digest.slice(7, 9), digest.slice(9));

  async function damageOneBlob(random: RandomStream): Promise<string> {
    const { blobs } = await listBlobs(await openStore(world.folder));
    const { name } = random.choice(blobs);
    if (random.uniform() < 0.5) await rm(blobPath(name));
    else {
      const bytes = await readFile(blobPath(name));
      bytes[random.int(0, bytes.length - 1)]! ^= 1;
      await writeFile(blobPath(name), bytes);
    }
    return name;
  }

  it('gives the same bytes if a blob is damaged before every other call', async () => {
    const random = new RandomStream('damage', 1);
    let damages = 0;
    const acts = disturbed(createActivities(world.deps), async (call) => {
      if (call % 2 > 0) return;
      await damageOneBlob(random);
      damages++;
    });
    // if the memo record is lost too, the run is restarted, as `gauntlet resume` does
    let restarts = 0;
    const finish = async (): Promise<typeof expected> => {
      try {
        return await runPipeline(acts, 'run', TINIEST_RUN);
      } catch (error) {
        assert.equal((error as { type?: string }).type, 'CORRUPT_ARTIFACT');
        assert.ok(restarts++ < 10);
        return finish();
      }
    };
    const result = await finish();
    assert.deepEqual(result.digests, expected.digests);
    assert.deepEqual(result.after, expected.after);
    assert.ok(damages > 10, `${damages} in ${restarts + 1} attempts`);
  });

  it('gives the same bytes if an interrupted run is damaged and restarted', async () => {
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

  it('restores lost inputs of an activity from their recorded inputs, and leaves the store undamaged', async () => {
    const acts = createActivities(world.deps);
    const input = { ...TINIEST_RUN, budget: { seconds: 1_000_000 } };
    const { run, state, replayBuffer } = await acts.prepareRun({ runId: 'run', input });
    const position = { stage: 5, epoch: 1, phase: 'generator', step: 1, role: 'generator' } as const;
    const batch = { kind: 'train', role: 'generator', position } as const;
    const { chains } = await acts.generateReasoning({ run, batch, stage: 5 });
    const { verdicts } = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains });
    for (const digest of [chains, verdicts, replayBuffer, run.config, run.problems]) await rm(blobPath(digest));
    await writeFile(blobPath(chains), 'damaged');
    const rewarded = await acts.computeRewards({ run, role: 'generator', position, verdicts, chains, replayBuffer });
    assert.ok(rewarded.trajectories.startsWith('sha256:'));
    const { adapter, optimizer } = state.generator;
    await rm(blobPath(adapter));
    const role = { run, role: 'generator' } as const;
    const scored = await acts.scoreOldPolicy({ ...role, trajectories: rewarded.trajectories, adapter });
    for (const digest of [optimizer, rewarded.trajectories, scored.trajectories]) await rm(blobPath(digest));
    await acts.updatePolicy({ ...role, position, ...scored, state: state.generator, learningRate: 1e-3 });
    assert.deepEqual((await verifyStore(await openStore(world.folder))).findings, []);
    assert.equal((await readInput(world.deps.store, 'run'))?.budget.seconds, 1_000_000, 'the input of the run stays');
  });

  it('fails without retry and names the next command if an artifact cannot be recomputed', async () => {
    const gone = `sha256:${'5'.repeat(64)}`;
    const base = { modelDigest: 'm', adapterConfig: 'a' };
    const run = { runId: 'r', bases: { generator: base, discriminator: base }, config: 'c', problems: 'p' } as RunRef;
    const memoised = memoisedBy(world.deps);
    const read = memoised('read', 1, async (scope, _: { run: RunRef }) => ({
      bytes: (await scope.store.getBlob(gone)).length,
    }));
    await assert.rejects(read({ run }), {
      type: 'CORRUPT_ARTIFACT',
      nonRetryable: true,
      message: new RegExp(`${gone} .*cannot be recomputed here: continue with .gauntlet resume r.`),
    });
  });

  it('leaves out slow artifacts and artifacts of another version', async () => {
    const { store } = world.deps;
    let calls = 0;
    const memoised = memoisedBy(world.deps);
    const make = (version: number) =>
      memoised('make', version, async (scope: Scope, { n }: { n: number }) => {
        calls++;
        return { made: await scope.store.putJson({ n }) };
      });
    const value = async (scope: Scope, { made }: { made: string }) => ({ value: await scope.store.getJson(made) });
    const read = memoised('read', 1, value);
    const lost = async (n: number) => {
      const { made } = await make(1)({ n });
      await rm(blobPath(made));
      return made;
    };
    assert.deepEqual((await read({ made: await lost(1) })).value, { n: 1 });
    assert.equal(calls, 2);

    const record = { name: 'make', version: 1, inputs: { n: 2 }, seconds: RECOMPUTE_WITHIN_SECONDS + 1 };
    await store.putMemo(recordKey(memoKey('make', 1, { n: 2 })), await store.putJson(record));
    await assert.rejects(read({ made: await lost(2) }), { type: 'CORRUPT_ARTIFACT' });
    const old = await lost(3);
    make(2); // replaces version 1
    await assert.rejects(read({ made: old }), { type: 'CORRUPT_ARTIFACT' });
    assert.equal(calls, 4);
  });

  it('does not run an activity that only passed the artifact on', async () => {
    const memoised = memoisedBy(world.deps);
    const make = memoised('make', 1, async ({ store }: Scope) => ({ made: await store.putJson('value') }));
    const { made } = await make({});
    // some of them precede `make` in the table
    for (let i = 0; i < 8; i++)
      await memoised(`pass${i}`, 1, async ({ store }: Scope, input: { made: string }) => {
        await store.getJson(input.made);
        return { passed: input.made };
      })({ made });
    await rm(blobPath(made));
    const read = memoised('read', 1, async ({ store }: Scope, _: { made: string }) => ({
      value: await store.getJson(made),
    }));
    assert.equal((await read({ made })).value, 'value');
  });
});
