// The stage chain of a batch.
import type { ChainBatch } from '../../activities/types.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { RunContext } from '../state.js';

export interface Sampled {
  chains: string;
  tokens: number;
  seconds: number;
}

export async function sampleChains(
  { acts, run, config }: Pick<RunContext, 'acts' | 'run'> & { config: Pick<RunConfig, 'stages'> },
  batch: ChainBatch,
  adapter?: string,
): Promise<Sampled> {
  return acts.generateChains({ run, batch, stages: config.stages, adapter });
}
