// One update of the generator: a batch of chains, tests of one chain of each problem at all stages, every sample of a
// problem judged on the same suite (baseline and valid generated tests).
import type { StepContext, StepOutcome, TrainingState } from '../state.js';
import { updateRole } from './update.js';

export async function generatorStep(context: StepContext, state: TrainingState): Promise<StepOutcome> {
  const { acts, run, config, position } = context;
  const { generator, discriminator } = state.policy;
  const { chains, tests, tokens, seconds } = await acts.generateChains({
    ...{
      run,
      batch: { kind: 'train', role: 'generator', position },
      stages: config.stages,
      adapter: generator.adapter,
    },
    tests: config.discriminator.enabled ? { samples: 1, adapter: discriminator.adapter } : undefined,
  });
  const judged = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains, tests });
  return updateRole(context, state, 'generator', {
    verdicts: judged.verdicts,
    chains,
    replayBuffer: state.replayBuffer,
    sampledTokens: tokens,
    executions: judged.executions,
    generationSeconds: seconds,
    seconds: seconds + judged.seconds,
  });
}
