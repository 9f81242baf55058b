// A run records the environment of its workers. A worker with another environment is refused unless a user accepts it.
import assert from 'node:assert/strict';
import { createActivities } from '../../activities/index.js';
import type { Deps } from '../../chains/scope.js';
import { GauntletError } from '../../core/base/errors.js';
import type { Turn } from '../../core/schema/chain.js';
import type { Environment } from '../../core/schema/environment.js';
import { enterEnvironment, readEnvironments } from '../../store/environments.js';
import { type Doubles, memoryDoubles, TINIEST_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';

const SANDBOX = { facts: { backend: 'docker', python: '3.11.2' }, details: { code: '1' } };
const ENGINE = { facts: { device: 'cpu' }, details: { code: '1' } };

describe('the recorded environment of a run', () => {
  let world: Doubles;
  /** Runs the pipeline on a worker with this environment. */
  const train = (sandbox: Omit<Environment, 'part'>, acceptsEnvironment = false, engine = ENGINE) => {
    const environment = async (part: Environment['part']) => (part === 'sandbox' ? sandbox : engine);
    return runPipeline(createActivities({ ...world.deps, environment, acceptsEnvironment }), 'run', TINIEST_RUN);
  };
  const recorded = async (part: Environment['part']) =>
    (await readEnvironments(world.deps.store, 'run', part)).map(({ facts, details, accepted }) => ({
      facts,
      details,
      ...(accepted && { accepted }),
    }));

  beforeEach(async () => {
    world = await memoryDoubles();
  });

  it('is written once, by the first worker', async () => {
    const result = await train(SANDBOX);
    assert.deepEqual(await train(SANDBOX), result);
    assert.deepEqual([await recorded('sandbox'), await recorded('engine')], [[SANDBOX], [ENGINE]]);
  });

  it('is written by the next worker if the run has no record', async () => {
    await runPipeline(createActivities(world.deps), 'run', TINIEST_RUN);
    assert.deepEqual(await recorded('sandbox'), []);
    await train(SANDBOX);
    assert.deepEqual(await recorded('sandbox'), [SANDBOX]);
  });

  it('makes a worker with other facts fail with one line that names them', async () => {
    await train(SANDBOX);
    const other = { facts: { backend: 'wasm', python: '3.13.2' }, details: {} };
    await assert.rejects(train(other), {
      type: 'ENVIRONMENT_CHANGED',
      nonRetryable: false, // a worker with the recorded environment may exist
      message:
        'run run has another sandbox: backend docker, here wasm; python 3.11.2, here 3.13.2; results may differ: use the same, or set GAUNTLET_ACCEPT_ENVIRONMENT=1 for this worker',
    });
    const gpu = { facts: { device: 'cuda' }, details: {} };
    await assert.rejects(train(SANDBOX, false, gpu as never), {
      type: 'ENVIRONMENT_CHANGED',
      message: /device cpu, here cuda/,
    });
    assert.deepEqual([await recorded('sandbox'), await recorded('engine')], [[SANDBOX], [ENGINE]]);
  });

  it('is checked with a newly opened sandbox after a refusal, because Docker may answer by then', async () => {
    await train(SANDBOX);
    const wasm = { facts: { backend: 'wasm', python: '3.13.2' }, details: {} };
    let sandbox: Omit<Environment, 'part'> = wasm;
    const deps: Deps = {
      ...world.deps,
      environment: async (part) => (part === 'sandbox' ? sandbox : ENGINE),
      forgetFallback: async () => {
        sandbox = SANDBOX;
      },
    };
    const again = () => runPipeline(createActivities(deps), 'run', TINIEST_RUN);
    await assert.rejects(again(), { type: 'ENVIRONMENT_CHANGED' });
    await again();
  });

  it('turns a missing sandbox or device into a fault that is retried, but only after the run has used one', async () => {
    const without = (lost: Environment['part']) => {
      const environment = async (part: Environment['part']) => {
        if (part !== lost) return part === 'sandbox' ? SANDBOX : ENGINE;
        throw new GauntletError(part === 'sandbox' ? 'SANDBOX_UNAVAILABLE' : 'DEVICE_UNAVAILABLE', 'nobody answers');
      };
      return runPipeline(createActivities({ ...world.deps, environment }), 'run', TINIEST_RUN);
    };
    await assert.rejects(without('sandbox'), { type: 'SANDBOX_UNAVAILABLE', nonRetryable: true });
    await train(SANDBOX);
    for (const part of ['sandbox', 'engine'] as const)
      await assert.rejects(without(part), {
        type: 'ENVIRONMENT_CHANGED',
        nonRetryable: false,
        message: `run run has lost its ${part}: nobody answers`,
      });
  });

  it('includes an accepted change, after which programs run again in the other sandbox', async () => {
    const result = await train(SANDBOX);
    const other = { ...SANDBOX, facts: { backend: 'docker', python: '3.12.1' } };
    const before = world.sandbox.jobs.length;
    assert.deepEqual((await train(other, true)).digests, result.digests);
    assert.ok(world.sandbox.jobs.length > before, 'its results have their own keys');
    assert.deepEqual(await recorded('sandbox'), [SANDBOX, { ...other, accepted: true }]);
    const after = world.sandbox.jobs.length;
    await train(other); // the environment is known now
    await train(SANDBOX);
    assert.equal(world.sandbox.jobs.length, after);
  });

  it('includes an accepted change, after which chains are selected again in the other sandbox', async () => {
    const select = async (sandbox: Omit<Environment, 'part'>, acceptsEnvironment = false) => {
      const environment = async () => sandbox;
      const acts = createActivities({ ...world.deps, environment, acceptsEnvironment });
      const { run, replayBuffer } = await acts.prepareRun({ runId: 'run', input: TINIEST_RUN });
      const text = 'def solve(x):\n    return x + 1';
      const turn: Turn = { stage: 5, promptTokens: [], answerTokens: [], text, truncated: false };
      const chains = await world.deps.store.putJson([{ problemId: 'add-1', sample: 0, turns: [turn] }]);
      const position = { stage: 5, phase: 'discriminator', epoch: 1, step: 1, role: 'discriminator' } as const;
      await acts.selectChains({ run, chains, replayBuffer, position });
      return world.sandbox.jobs.length;
    };
    const first = await select(SANDBOX);
    assert.equal(await select(SANDBOX), first);
    const other = { ...SANDBOX, facts: { backend: 'docker', python: '3.12.1' } };
    await assert.rejects(select(other), { type: 'ENVIRONMENT_CHANGED' });
    assert.ok((await select(other, true)) > first);
  });

  it('includes other details of a later worker, which needs no permission if its facts are equal', async () => {
    await train(SANDBOX);
    const newer = { ...SANDBOX, details: { code: '2' } };
    await train(newer);
    assert.deepEqual(await recorded('sandbox'), [SANDBOX, newer]);
  });

  it('can be compared with the record of an older version, including the details in it', async () => {
    await train({ facts: SANDBOX.facts, details: { image: 'sha256:1' } });
    const of = (image: string) => ({ facts: { ...SANDBOX.facts, pyodide: '1', image }, details: {} });
    await assert.rejects(train(of('sha256:2')), { message: /: image sha256:1, here sha256:2; results/ });
    await train(of('sha256:1'));
  });

  it('contains no control characters, which would reach a terminal', async () => {
    const forged = { facts: { python: '3.11\u001b[2J' }, details: {} };
    await assert.rejects(train(forged), /must not contain control characters/);
    assert.deepEqual(await recorded('sandbox'), []);
  });

  it('is written once by concurrent workers', async () => {
    const environment: Environment = { part: 'sandbox', ...SANDBOX };
    const { store } = world.deps;
    await Promise.all(Array.from({ length: 5 }, () => enterEnvironment(store, 'run', environment, false)));
    assert.deepEqual(await recorded('sandbox'), [SANDBOX]);
  });
});
