// What is sampled and judged for one policy update of each role.
import type { Position } from '../activities/types.js';
import type { RunState, TrainingActivities } from './runState.js';

/** What the models wrote for one update, and the verdicts on it. */
export interface Rollout {
  verdicts: string;
  chains?: string;
  tests?: string | undefined;
  replayBuffer: string;
  sampledTokens: number;
  executions: number;
  generationSeconds: number;
  seconds: number; // generation included
}

/** A batch of chains, and tests of one chain of each problem. All samples of a problem are judged by the same suite. */
export async function generatorRollout(
  activities: TrainingActivities,
  { run, config, policy, replayBuffer }: RunState,
  position: Position,
): Promise<Rollout> {
  const written = await activities.generateChains({
    run,
    batch: { kind: 'train', role: 'generator', position },
    stages: config.stages,
    adapter: policy.generator.adapter,
    tests: config.discriminator.enabled ? { samples: 1, adapter: policy.discriminator.adapter } : undefined,
  });
  const { chains, tests, tokens, seconds } = written;
  const judged = await activities.executeSuite({ run, per: 'problem', suite: 'baseline', chains, tests });
  const { verdicts, executions } = judged;
  const cost = { sampledTokens: tokens, executions, generationSeconds: seconds, seconds: seconds + judged.seconds };
  return { verdicts, chains, tests, replayBuffer, ...cost };
}

/** Chains of the current generator, one selected for each problem (a faulty one if possible), and a group of tests for it. */
export async function discriminatorRollout(
  activities: TrainingActivities,
  { run, config, policy, replayBuffer }: RunState,
  position: Position,
): Promise<Rollout> {
  const batch = { kind: 'train', role: 'discriminator', position } as const;
  const { adapter } = policy.generator;
  const sampled = await activities.generateChains({ run, batch, stages: config.stages, adapter });
  const selected = await activities.selectChains({ run, chains: sampled.chains, replayBuffer, position });
  const { tests, ...written } = await activities.generateTests({
    run,
    targets: { kind: 'selected', targets: selected.targets, position },
    samples: config.batch.discriminator.samples,
    adapter: policy.discriminator.adapter,
  });
  const judged = await activities.executeSuite({ run, per: 'target', suite: 'baseline', tests });
  const generationSeconds = sampled.seconds + written.seconds;
  return {
    verdicts: judged.verdicts,
    tests,
    replayBuffer: selected.replayBuffer,
    sampledTokens: sampled.tokens + written.tokens,
    executions: selected.executions + judged.executions,
    generationSeconds,
    seconds: generationSeconds + selected.seconds + judged.seconds,
  };
}
