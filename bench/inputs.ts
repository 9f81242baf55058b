// The inputs of every contender. Each round has new tokens, so that no cache of an earlier run helps.
import { RandomStream } from '../core/random.js';
import type { Trajectory } from '../core/schema/trajectory.js';
import type { Work } from './cases.js';

/** One run of a contender. Training arrays are aligned with the tokens; entry 0 is unused. */
export type Job =
  | { kind: 'train'; rows: Trajectory[] }
  | { kind: 'score'; rows: { tokens: number[] }[] }
  | { kind: 'decode'; prompts: number[][]; newTokens: number; temperature: number };

export function makeJob(work: Work, vocab: number, id: string, round: number): Job {
  const random = new RandomStream('bench', id, round);
  const sequence = (length: number): number[] => Array.from({ length }, () => random.int(0, vocab - 1));
  if (work.kind === 'decode') {
    const { rows, prompt, newTokens, samples = 1 } = work;
    const distinct = Array.from({ length: rows / samples }, () => sequence(prompt));
    const prompts = distinct.flatMap((tokens) => Array.from({ length: samples }, () => tokens));
    return { kind: 'decode', prompts, newTokens, temperature: samples === 1 ? 0 : 0.8 };
  }
  const rows = Array.from({ length: work.rows }, () => sequence(work.length));
  if (work.kind === 'score') return { kind: 'score', rows: rows.map((tokens) => ({ tokens })) };
  return {
    kind: 'train',
    rows: rows.map((tokens) => ({
      tokens,
      mask: tokens.map((_, t) => (t > 0 && random.uniform() > 0.3 ? 1 : 0)),
      oldLogprobs: tokens.map(() => -Math.log(vocab) + 0.3 * random.normal()),
      advantage: 0,
      advantages: tokens.map(() => random.normal()),
    })),
  };
}
