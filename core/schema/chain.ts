// One chain of reasoning: an append-only conversation, stored as the sampled tokens.
import { z } from 'zod';
import type { Ref } from '../base/ref.js';

export const STAGES = [1, 2, 3, 4, 5] as const;
export type Stage = (typeof STAGES)[number];
export const stageSchema = z.union([z.literal(1), z.literal(2), z.literal(3), z.literal(4), z.literal(5)]);
export const ROLES = ['generator', 'discriminator'] as const;
export const roleSchema = z.enum(ROLES);
export type Role = z.infer<typeof roleSchema>;

/** A sampled answer to one instruction. */
export interface SampledTurn {
  promptTokens: number[]; // the instruction, appended to the sequence before sampling
  answerTokens: number[]; // end with eos unless the length limit cut them
  /** The thinking, as a range of prompt and answer together. The chat template leaves it out when another turn follows. */
  thinking?: [from: number, to: number];
  text: string; // the answer, decoded without its thinking and its end token
  truncated: boolean; // true if the length limit ended the answer
  logprobs?: number[]; // log-probs of the answer's tokens; only rollout servers give them
}

export interface Turn extends SampledTurn {
  stage: Stage;
}

/** The sequence of a chain is the concatenation of promptTokens and answerTokens over its turns, see `sequenceOf`. */
export interface Chain {
  problemId: string;
  sample: number; // 0..G-1 in its group
  turns: Turn[]; // sorted by stage
}

/** Identifies a chain in the store. */
export interface ChainRef {
  chains: Ref<Chain[]>; // a batch: the samples of each problem, one problem after another
  index: number; // the place of the chain in the batch
}

/** A stored chain, and the stage to write tests for. */
export interface TestTarget {
  problemId: string;
  chain: ChainRef;
  stage: Stage;
}

/** One discriminator sample: tests for one stage of one chain. */
export interface TestTurn extends Turn {
  problemId: string;
  chainSample: number;
  sample: number; // 0..G-1 in its group
}

/** `turns[t * samples + g]` belongs to `targets[t]`. */
export interface TestBatch {
  targets: TestTarget[];
  samples: number;
  turns: TestTurn[];
}
