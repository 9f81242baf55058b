// One update of the generator: a batch of chains, tests of one chain of each problem at all stages, every sample of a
// problem judged on the same suite (baseline and valid generated tests).
import type { StepContext, StepOutcome, TrainingState } from '../state.js';
import { sampleChains } from './sampling.js';
import { updateRole } from './update.js';

export async function generatorStep(context: StepContext, state: TrainingState): Promise<StepOutcome> {
  const { acts, run, config, position } = context;
  const { generator, discriminator } = state.policy;
  const sampled = await sampleChains(context, { kind: 'train', role: 'generator', position }, generator.adapter);
  const { chains } = sampled;
  const written = config.discriminator.enabled
    ? await acts.generateTests({
        run,
        targets: { kind: 'all-stages', chains, position },
        samples: 1,
        adapter: discriminator.adapter,
      })
    : undefined;
  const judged = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains, tests: written?.tests });
  const generationSeconds = sampled.seconds + (written?.seconds ?? 0);
  return updateRole(context, state, 'generator', {
    verdicts: judged.verdicts,
    chains,
    memory: state.memory,
    sampledTokens: sampled.tokens + (written?.tokens ?? 0),
    executions: judged.executions,
    generationSeconds,
    seconds: generationSeconds + judged.seconds,
  });
}
