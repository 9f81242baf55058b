// One update of the discriminator: fresh chains of the present generator, one of each problem chosen (a faulty one
// where there is one, or an archived one), and a group of test samples for it.
import type { StepContext, StepOutcome, TrainingState } from '../state.js';
import { sampleChains } from './sampling.js';
import { updateRole } from './update.js';

export async function discriminatorStep(context: StepContext, state: TrainingState): Promise<StepOutcome> {
  const { acts, run, config, position } = context;
  const { generator, discriminator } = state.policy;
  const sampled = await sampleChains(context, { kind: 'train', role: 'discriminator', position }, generator.adapter);
  const selected = await acts.selectChains({ run, chains: sampled.chains, replayBuffer: state.replayBuffer, position });
  const written = await acts.generateTests({
    run,
    targets: { kind: 'selected', targets: selected.targets, position },
    samples: config.batch.discriminator.samples,
    adapter: discriminator.adapter,
  });
  const { tests } = written;
  const judged = await acts.executeSuite({ run, per: 'target', suite: 'baseline', tests });
  const generationSeconds = sampled.seconds + written.seconds;
  return updateRole(context, state, 'discriminator', {
    verdicts: judged.verdicts,
    tests,
    replayBuffer: selected.replayBuffer,
    sampledTokens: sampled.tokens + written.tokens,
    executions: selected.executions + judged.executions,
    generationSeconds,
    seconds: generationSeconds + selected.seconds + judged.seconds,
  });
}
