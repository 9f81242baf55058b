// The stage chain of a batch in one activity, and tests of it: a row of memoised units, as in composites.ts.
import type { Stage } from '../core/schema/chain.js';
import type { Digest } from '../store/store.js';
import type { GenerateReasoningInput, GenerateReasoningOutput, Timed } from './types.js';
import type { Units } from './units.js';

export interface GenerateChainsInput extends Pick<GenerateReasoningInput, 'run' | 'batch' | 'adapter'> {
  stages: Stage[]; // of a chain, in order
  /** Of a training batch: tests of one chain of each problem at all stages, by the discriminator. */
  tests?: { samples: number; adapter: Digest } | undefined;
}
/** Tokens and seconds are of chains and tests. */
export interface GenerateChainsOutput extends GenerateReasoningOutput {
  tests?: Digest;
}

/** The stage chain: every stage appends one turn to each chain of the batch. `truncated` is that of the last one. */
export const chainsOf =
  (units: Units) =>
  async ({ stages, tests, ...input }: GenerateChainsInput): Promise<Timed<GenerateChainsOutput>> => {
    let done: Timed<GenerateReasoningOutput> | undefined;
    for (const stage of stages) {
      const turn = await units.generateReasoning({ ...input, stage, ...(done && { chains: done.chains }) });
      done = {
        ...turn,
        tokens: turn.tokens + (done?.tokens ?? 0),
        seconds: turn.seconds + (done?.seconds ?? 0),
      };
    }
    const { chains, tokens, seconds } = done!;
    if (tests === undefined) return done!;
    const { run, batch } = input;
    const position = batch.kind === 'train' ? batch.position : undefined;
    const targets = { kind: 'all-stages', chains, ...(position && { position }) } as const;
    const written = await units.generateTests({ run, targets, ...tests });
    return { ...done!, tests: written.tests, tokens: tokens + written.tokens, seconds: seconds + written.seconds };
  };
