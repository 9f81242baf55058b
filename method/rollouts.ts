// Samples and judges what one policy update of a role needs. Each function gets the call that runs activities.
import type { Ref } from '../core/base/ref.js';
import { type Draw, refills } from '../core/rewards/liveGroups.js';
import type { ReplayBuffer } from '../core/rewards/replayBuffer.js';
import type { RunConfig } from '../core/schema/config.js';
import type { PolicyState, Position, RoleState, RunRef } from '../core/schema/runRef.js';
import type { Call } from './activity.js';
import { executeSuite, selectChains } from './judge.js';
import { completeBatch, type DrawnProblems, generateChains, generateTests } from './sample.js';
import type { TrainPolicyInput } from './train.js';

/** What a rollout depends on. */
export interface RolloutState {
  run: RunRef;
  config: RunConfig;
  policy: PolicyState;
  replayBuffer: Ref<ReplayBuffer>;
}

/** What the models wrote, and the verdicts on it. */
export interface Rollout
  extends Pick<TrainPolicyInput, 'verdicts' | 'chains' | 'tests' | 'replayBuffer' | 'refillRounds'>,
    Required<Pick<TrainPolicyInput, 'sampled'>> {}

/** A batch of judged chains. With `batch.refill`, further problems replace those that teach nothing. */
export async function generatorRollout(call: Call, state: RolloutState, position: Position): Promise<Rollout> {
  const { run, config, replayBuffer } = state;
  const draws = [await drawProblems(call, state, position)];
  let batch = refills(config) ? undefined : draws[0];
  while (batch === undefined) {
    const completed = await call(completeBatch, { run, draws });
    batch = completed.batch;
    if (batch === undefined) draws.push(await drawProblems(call, state, position, completed.next));
  }
  const { chains, tests } = batch;
  const sampled = { chains: [chains], tests: tests ? [tests] : [] };
  return { ...batch, replayBuffer, sampled, ...(refills(config) && { refillRounds: draws.length - 1 }) };
}

/** Samples chains, and tests for one chain of each problem. All samples of a problem are judged by the same suite. */
async function drawProblems(
  call: Call,
  { run, config, policy, replayBuffer }: RolloutState,
  position: Position,
  draw?: Draw,
): Promise<DrawnProblems> {
  const input = {
    run,
    batch: { kind: 'train', role: 'generator', position, draw },
    stages: config.stages,
    ...samplingPolicy(policy.generator),
    tests: config.discriminator.enabled
      ? { samples: config.testTurns, ...samplingPolicy(policy.discriminator) }
      : undefined,
  } as const;
  const { chains, tests } = await call(generateChains, input);
  const judged = { run, per: 'problem', suite: 'baseline', chains, tests, replayBuffer } as const;
  const { verdicts } = await call(executeSuite, judged);
  return { chains, tests, verdicts };
}

/** Samples chains, selects one of each problem (a faulty one if possible), and samples a group of tests for it. */
export async function discriminatorRollout(
  call: Call,
  { run, config, policy, replayBuffer }: RolloutState,
  position: Position,
): Promise<Rollout> {
  const input = {
    run,
    batch: { kind: 'train', role: 'discriminator', position },
    stages: config.stages,
    ...samplingPolicy(policy.generator),
  } as const;
  const { chains } = await call(generateChains, input);
  const selected = await call(selectChains, { run, chains, replayBuffer, position });
  const { tests } = await call(generateTests, {
    run,
    targets: { kind: 'selected', targets: selected.targets, position },
    samples: config.batch.discriminator.samples,
    ...samplingPolicy(policy.discriminator),
  });
  const judged = { run, per: 'target', suite: 'baseline', tests, replayBuffer: selected.replayBuffer } as const;
  const { verdicts } = await call(executeSuite, judged);
  const sampled = { chains: [chains], tests: [tests] };
  return { verdicts, tests, replayBuffer: selected.replayBuffer, sampled };
}

/** The adapters of a role to sample with. */
export const samplingPolicy = ({ adapter, frozen }: RoleState) => ({ adapter, frozen });
