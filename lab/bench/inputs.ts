// Makes the inputs of every contender. Each round has new tokens, so that no cache of an earlier run helps.
import { RandomStream } from '../../core/base/random.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import type { Work } from './cases.js';
import { makeStep, type StepJob } from './step.js';

/** The input of one run of a contender. Training arrays are aligned with the tokens; entry 0 is unused. */
export type Job =
  | { kind: 'train'; rows: Trajectory[] }
  | { kind: 'score'; rows: { tokens: number[] }[] }
  | { kind: 'decode'; prompts: number[][]; newTokens: number; temperature: number; adapter?: true }
  | StepJob;

/** @param model the model's folder, which only a step reads */
export function makeJob(work: Work, vocab: number, id: string, round: number, model = ''): Job {
  if (work.kind === 'step') return makeStep(work, model, id, round);
  const random = new RandomStream('bench', id, round);
  const sequence = (length: number): number[] => Array.from({ length }, () => random.int(0, vocab - 1));
  if (work.kind === 'decode') {
    const { rows, prompt, newTokens, samples = 1, adapter } = work;
    const distinct = Array.from({ length: rows / samples }, () => sequence(prompt));
    const prompts = distinct.flatMap((tokens) => Array.from({ length: samples }, () => tokens));
    return { kind: 'decode', prompts, newTokens, temperature: samples === 1 ? 0 : 0.8, adapter };
  }
  const trained = (tokens: number[], mask: number[]): Trajectory => ({
    tokens,
    mask,
    oldLogprobs: tokens.map(() => -Math.log(vocab) + 0.3 * random.normal()),
    advantage: 0,
    advantages: tokens.map(() => random.normal()),
  });
  if (work.kind === 'ragged') {
    const chains = Array.from({ length: work.problems }, () => {
      const opening = sequence(random.int(180, 280)); // the prompt of the first stage, including the problem
      return Array.from({ length: work.samples }, () => {
        const tokens = [...opening];
        const mask = opening.map(() => 0);
        for (let stage = 1; stage <= 5; stage++) {
          const [prompt, answer] = [stage === 1 ? 0 : random.int(40, 70), random.int(16, 64)];
          tokens.push(...sequence(prompt + answer));
          mask.push(...new Array<number>(prompt).fill(0), ...new Array<number>(answer).fill(1));
        }
        return trained(tokens, mask);
      });
    });
    return { kind: 'train', rows: chains.flat() };
  }
  const rows = Array.from({ length: work.rows }, () => sequence(work.length));
  if (work.kind === 'score') return { kind: 'score', rows: rows.map((tokens) => ({ tokens })) };
  const mask = (tokens: number[]): number[] => tokens.map((_, t) => (t > 0 && random.uniform() > 0.3 ? 1 : 0));
  return { kind: 'train', rows: rows.map((tokens) => trained(tokens, mask(tokens))) };
}
