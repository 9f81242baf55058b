// Samples and judges what one policy update of a role needs. Each function gets the call that runs activities.
import type { Ref } from '../core/base/ref.js';
import type { ReplayBuffer } from '../core/rewards/archive.js';
import type { RunConfig } from '../core/schema/config.js';
import type { PolicyState, Position, RoleState, RunRef } from '../core/schema/runRef.js';
import type { Call } from './activity.js';
import { executeSuite, selectChains } from './judge.js';
import { generateChains, generateTests } from './sample.js';
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
  extends Pick<TrainPolicyInput, 'verdicts' | 'chains' | 'tests' | 'replayBuffer'>,
    Required<Pick<TrainPolicyInput, 'sampled'>> {}

/** Samples chains, and tests for one chain of each problem, or for all. All samples of a problem are judged by the same suite. */
export async function generatorRollout(
  call: Call,
  { run, config, policy, replayBuffer }: RolloutState,
  position: Position,
): Promise<Rollout> {
  const input = {
    run,
    batch: { kind: 'train', role: 'generator', position },
    stages: config.stages,
    ...samplingPolicy(policy.generator),
    tests: config.discriminator.enabled
      ? { samples: config.testTurns, ...samplingPolicy(policy.discriminator) }
      : undefined,
  } as const;
  const { chains, tests } = await call(generateChains, input);
  const judged = { run, per: 'problem', suite: 'baseline', chains, tests, replayBuffer } as const;
  const { verdicts } = await call(executeSuite, judged);
  return { verdicts, chains, tests, replayBuffer, sampled: { chains: [chains], tests: tests ? [tests] : [] } };
}

/** Samples chains, selects all or one of each problem (a faulty one if possible), and samples a group of tests for each. */
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
