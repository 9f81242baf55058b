import assert from 'node:assert/strict';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { z } from 'zod';
import { toFailure } from '../../activities/failures.js';
import { createActivities } from '../../activities/index.js';
import { ERROR_CODES, type ErrorCode, GauntletError } from '../../core/base/errors.js';
import { resolveConfig } from '../../core/config/presets.js';
import type { RunRef } from '../../core/schema/runRef.js';
import { type Doubles, doubles, SMALL_RUN } from '../support/doubles.js';
import { memoisedBy } from '../support/leaves.js';

const BASE = { model: 'm', modelDigest: 'd', adapterConfig: 'x' };
const RUN: RunRef = {
  runId: 'a',
  bases: { generator: BASE, discriminator: BASE },
  engine: resolveConfig().engine,
  config: 'c',
  problems: 'p',
};

describe('a memoised activity', () => {
  let world: Doubles;
  let calls: number;
  beforeEach(async () => {
    world = await doubles();
    calls = 0;
  });

  const counted = (version: number) =>
    memoisedBy(world.deps)('counted', version, async (scope, input: { run: RunRef; n: number }) => {
      calls++;
      return { double: await scope.store.putJson({ value: 2 * input.n }) };
    });

  it('computes once for the same inputs, whatever the run id, the model folder and the device', async () => {
    const first = await counted(1)({ run: RUN, n: 1 });
    const base = { ...BASE, model: 'elsewhere' };
    const elsewhere: Partial<RunRef> = {
      runId: 'b',
      bases: { generator: base, discriminator: base },
      engine: { ...RUN.engine, device: 'cuda', checkpointing: true },
    };
    const second = await counted(1)({ run: { ...RUN, ...elsewhere }, n: 1 });
    assert.deepEqual(second, first);
    assert.equal(calls, 1);
    assert.ok(first.seconds > 0);
  });

  it('computes again if the version, the inputs, the configuration or the base model differ', async () => {
    await counted(1)({ run: RUN, n: 1 });
    await counted(2)({ run: RUN, n: 1 });
    await counted(1)({ run: RUN, n: 2 });
    await counted(1)({ run: { ...RUN, config: 'other' }, n: 1 });
    const otherBase = { ...RUN.bases, discriminator: { ...BASE, modelDigest: 'e' } };
    await counted(1)({ run: { ...RUN, bases: otherBase }, n: 1 });
    assert.equal(calls, 5);
  });

  it('restores a missing artifact', async () => {
    const { double } = await counted(1)({ run: RUN, n: 1 });
    const hex = double.slice('sha256:'.length);
    const blobs = world.deps.store.locate('blobs');
    const files = await readdir(blobs, { recursive: true });
    const path = files.find((file) => file.replaceAll('/', '').endsWith(hex) || file.endsWith(hex))!;
    await rm(join(blobs, path));
    assert.equal((await counted(1)({ run: RUN, n: 1 })).double, double);
    assert.deepEqual(await world.deps.store.getJson(double), { value: 2 });
    assert.equal(calls, 2);
  });

  it('keeps the first result if a duplicate attempt finishes later', async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const memoised = memoisedBy(world.deps);
    const slow = memoised('twin', 1, async () => gate.then(() => ({ who: 'slow' })));
    const quick = memoised('twin', 1, async () => ({ who: 'quick' }));
    const late = slow({});
    await quick({});
    release();
    assert.equal((await late).who, 'quick');
  });

  it('has the recorded digests for the current versions', async () => {
    const acts = createActivities(world.deps);
    const { run, state, replayBuffer } = await acts.prepareRun({ runId: 'golden', input: SMALL_RUN });
    const position = { stage: 1, phase: 'generator', epoch: 1, step: 1, role: 'generator' } as const;
    const batch = { kind: 'train', role: 'generator', position } as const;
    let chains: string | undefined;
    for (const stage of [1, 2, 3, 4, 5] as const)
      chains = (await acts.generateReasoning({ run, batch, stage, chains })).chains;
    const { tests } = await acts.generateTests({
      run,
      targets: { kind: 'all-stages', chains: chains!, position },
      samples: 1,
    });
    const { verdicts } = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains, tests });
    const { targets } = await acts.selectChains({ run, chains: chains!, replayBuffer, position });
    const rewarded = await acts.computeRewards({ run, role: 'generator', position, verdicts, chains, replayBuffer });
    const { trajectories } = await acts.scoreOldPolicy({
      run,
      role: 'generator',
      trajectories: rewarded.trajectories,
      adapter: state.generator.adapter,
    });
    const update = {
      run,
      role: 'generator',
      position,
      trajectories,
      state: state.generator,
      learningRate: 0.001,
    } as const;
    const updated = await acts.updatePolicy(update);
    const short = (digest: string | undefined): string => digest!.slice(7, 17);
    assert.deepEqual(
      {
        generateReasoning: short(chains),
        generateTests: short(tests),
        executeSuite: short(verdicts),
        selectChains: short(targets),
        computeRewards: short(rewarded.trajectories),
        scoreOldPolicy: short(trajectories),
        updatePolicy: short(updated.state.adapter),
      },
      GOLDEN,
    );
  });
});

/** Recorded digests. If one changes, raise the version of the activity in method/activities.ts and record the digest here. */
const GOLDEN = {
  generateReasoning: '58652246e5',
  generateTests: '80f0a9bcdc',
  executeSuite: 'e97e9a4b77',
  selectChains: '1e04eac263',
  computeRewards: 'e76a63d96f',
  scoreOldPolicy: '85ce377b90',
  updatePolicy: 'f29aed5c9c',
};

describe('activity failures', () => {
  it('are retryable only if their error code is retryable', () => {
    for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
      const failure = toFailure(new GauntletError(code, 'one line')) as ApplicationFailure;
      assert.deepEqual(
        [failure.type, failure.message, failure.nonRetryable],
        [code, 'one line', !ERROR_CODES[code].retryable],
      );
    }
  });

  it('name the field of an invalid input', () => {
    const { error } = z.object({ a: z.object({ b: z.string() }) }).safeParse({ a: { b: 1 } });
    const failure = toFailure(error) as ApplicationFailure;
    assert.match(failure.message, /^a\.b: /);
    assert.deepEqual([failure.type, failure.nonRetryable], ['BAD_INPUT', true]);
  });

  it('are retryable for faults of the machine, but not for defects of the program', () => {
    assert.equal((toFailure(new TypeError('x is not a function')) as ApplicationFailure).nonRetryable, true);
    assert.equal((toFailure(new Error('ECONNRESET')) as ApplicationFailure).nonRetryable, false);
    assert.equal((toFailure('thrown text') as ApplicationFailure).message, 'thrown text');
  });

  it('become cancellations after the attempt is cancelled, and keep failures of Temporal', () => {
    const controller = new AbortController();
    controller.abort();
    assert.ok(toFailure(new Error('aborted'), controller.signal) instanceof CancelledFailure);
    const own = ApplicationFailure.nonRetryable('as it is');
    assert.equal(toFailure(own), own);
  });
});
