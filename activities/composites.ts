// What workflows call for the two longest parts of a step. Each is a row of memoised activities in one: an attempt that
// follows a killed one takes what is finished from the store, and the history holds one activity instead of many.
import type { Stage } from '../core/schema/chain.js';
import type {
  GenerateReasoningInput,
  GenerateReasoningOutput,
  ScoreOldPolicyInput,
  Timed,
  UpdatePolicyInput,
  UpdatePolicyOutput,
} from './types.js';
import type { Units } from './units.js';

export interface GenerateChainsInput extends Pick<GenerateReasoningInput, 'run' | 'batch' | 'adapter'> {
  stages: Stage[]; // of a chain, in order
}

/** Scoring and updating know the same policy. */
export interface TrainPolicyInput
  extends Omit<UpdatePolicyInput, 'trajectories'>,
    Pick<ScoreOldPolicyInput, 'trajectories'> {}

export function composites(units: Units) {
  return {
    /** The stage chain: every stage appends one turn to each chain of the batch. `truncated` is that of the last one. */
    async generateChains({ stages, ...input }: GenerateChainsInput): Promise<Timed<GenerateReasoningOutput>> {
      let done: Timed<GenerateReasoningOutput> | undefined;
      for (const stage of stages) {
        const turn = await units.generateReasoning({ ...input, stage, ...(done && { chains: done.chains }) });
        done = {
          ...turn,
          tokens: turn.tokens + (done?.tokens ?? 0),
          seconds: turn.seconds + (done?.seconds ?? 0),
        };
      }
      return done!;
    },

    /** Old log-probs of the trajectories, then PPO on them. */
    async trainPolicy(input: TrainPolicyInput): Promise<Timed<UpdatePolicyOutput>> {
      const { run, role, trajectories, state } = input;
      const { adapter, valueHead } = state;
      const scored = await units.scoreOldPolicy({ run, role, trajectories, adapter, ...(valueHead && { valueHead }) });
      const updated = await units.updatePolicy({ ...input, trajectories: scored.trajectories });
      return { ...updated, seconds: scored.seconds + updated.seconds };
    },
  };
}
