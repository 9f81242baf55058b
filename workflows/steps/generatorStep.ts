// One update of the generator: a batch of chains, tests of one chain of each problem at all stages, every sample of a
// problem judged on the same suite (baseline and valid generated tests).
import type { StepContext, StepOutcome, TrainingState } from '../state.js';
import { type Sampled, sampleChains } from './sampling.js';
import { updateRole } from './update.js';

export async function generatorStep(context: StepContext, state: TrainingState): Promise<StepOutcome> {
  const { acts, run } = context;
  const { chains, tests, tokens, seconds } = await (context.joined ? inOneActivity : inTwo)(context, state);
  const judged = await acts.executeSuite({ run, per: 'problem', suite: 'baseline', chains, tests });
  return updateRole(context, state, 'generator', {
    verdicts: judged.verdicts,
    chains,
    memory: state.memory,
    sampledTokens: tokens,
    executions: judged.executions,
    generationSeconds: seconds,
    seconds: seconds + judged.seconds,
  });
}

interface Written extends Sampled {
  tests?: string | undefined;
}

function inOneActivity(context: StepContext, { policy }: TrainingState): Promise<Written> {
  const { acts, run, config, position } = context;
  const batch = { kind: 'train', role: 'generator', position } as const;
  const tests = config.discriminator.enabled ? { samples: 1, adapter: policy.discriminator.adapter } : undefined;
  return acts.generateChains({ run, batch, stages: config.stages, adapter: policy.generator.adapter, tests });
}

/** As stages did that began before the two were one. */
async function inTwo(context: StepContext, { policy }: TrainingState): Promise<Written> {
  const { acts, run, config, position } = context;
  const { generator, discriminator } = policy;
  const sampled = await sampleChains(context, { kind: 'train', role: 'generator', position }, generator.adapter);
  if (!config.discriminator.enabled) return sampled;
  const targets = { kind: 'all-stages', chains: sampled.chains, position } as const;
  const written = await acts.generateTests({ run, targets, samples: 1, adapter: discriminator.adapter });
  const { tokens, seconds } = written;
  return { ...sampled, tests: written.tests, tokens: sampled.tokens + tokens, seconds: sampled.seconds + seconds };
}
