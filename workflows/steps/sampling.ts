// The stage chain: one resumable activity a stage, each appending one turn to every chain of a batch.
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
  let chains: string | undefined;
  let tokens = 0;
  let seconds = 0;
  for (const stage of config.stages) {
    const turn = await acts.generateReasoning({ run, batch, stage, chains, adapter });
    chains = turn.chains;
    tokens += turn.tokens;
    seconds += turn.seconds;
  }
  return { chains: chains!, tokens, seconds };
}
