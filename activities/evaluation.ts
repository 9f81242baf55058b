// An evaluation as workflows call it: what the models write in one activity, what it is worth and the record of it in
// another. Each is a row of memoised units, as in composites.ts.
import { checkpointScore } from '../core/rl/scores.js';
import type { Stage } from '../core/schema/chain.js';
import type { EvaluationRates } from '../core/schema/run.js';
import { Seconds } from '../core/seconds.js';
import type { Digest } from '../store/store.js';
import type { GenerateChainsInput } from './chains.js';
import type { ChainBatch, CommitCheckpointInput, GenerateReasoningOutput, RunRef, Timed } from './types.js';
import type { Units } from './units.js';

export interface GenerateEvaluationInput {
  run: RunRef;
  split: 'validation' | 'test';
  problems: number;
  stages: Stage[]; // of a chain, in order
  greedy: boolean; // the chains once more, without chance
  adapters?: { generator: Digest; discriminator: Digest } | undefined; // absent: the base model
  base?: Digest | undefined; // the base model's chains on this split, where they are known
}
export interface GenerateEvaluationOutput {
  sampled: Digest; // chains
  greedy?: Digest;
  base: Digest; // the chains that the discriminator was to break
  tests: Digest;
}

export interface JudgeEvaluationInput {
  run: RunRef;
  written: Timed<GenerateEvaluationOutput>;
  /** A checkpoint is committed with its figures; of the test split there is the record only. */
  of:
    | { split: 'validation'; checkpoint: Omit<CommitCheckpointInput, 'run' | 'score' | 'validation' | 'seconds'> }
    | { split: 'test'; step: number; checkpoint: string };
}
export interface JudgeEvaluationOutput {
  rates: Partial<EvaluationRates>;
  score: number;
}

export function evaluations(
  units: Units,
  generateChains: (input: GenerateChainsInput) => Promise<Timed<GenerateReasoningOutput>>,
) {
  return {
    /** The discriminator is judged on chains of the base model, so that the bugs to be found are the same every time. */
    async generateEvaluation(input: GenerateEvaluationInput): Promise<Timed<GenerateEvaluationOutput>> {
      const { run, split, problems, stages, adapters } = input;
      const spent = new Seconds();
      const sample = async (adapter: Digest | undefined, greedy: boolean): Promise<Digest> => {
        const batch: ChainBatch = { kind: 'evaluation', split, problems, greedy };
        return spent.of(await generateChains({ run, batch, stages, ...(adapter && { adapter }) })).chains;
      };
      const sampled = await sample(adapters?.generator, false);
      const greedy = input.greedy ? await sample(adapters?.generator, true) : undefined;
      const base = input.base ?? (adapters === undefined ? sampled : await sample(undefined, false));
      const targets = { kind: 'evaluation', chains: base } as const;
      const adapter = adapters && { adapter: adapters.discriminator };
      const { tests } = spent.of(await units.generateTests({ run, targets, samples: 1, ...adapter }));
      return { sampled, ...(greedy && { greedy }), base, tests, seconds: spent.sum };
    },

    /** Hidden tests decide over the chains, and over the tests that were written. */
    async judgeEvaluation({ run, written, of }: JudgeEvaluationInput): Promise<Timed<JudgeEvaluationOutput>> {
      const spent = new Seconds(written.seconds);
      const judge = async (what: { chains: Digest } | { tests: Digest }): Promise<Digest> => {
        const per = 'chains' in what ? 'problem' : 'target';
        return spent.of(await units.executeSuite({ run, per, suite: 'hidden', ...what })).verdicts;
      };
      const sampled = await judge({ chains: written.sampled });
      const greedy = written.greedy && (await judge({ chains: written.greedy }));
      const tests = await judge({ tests: written.tests });
      const summary = await units.summariseEvaluation({ run, sampled, ...(greedy && { greedy }), tests });
      const { reward, seconds: _, ...rates } = spent.of(summary);
      const score = checkpointScore(reward ?? 0, rates.testValidity);
      if (of.split === 'validation') {
        await units.commitCheckpoint({ run, ...of.checkpoint, score, validation: rates, seconds: spent.sum });
      } else {
        await units.recordMetrics({
          run,
          metrics: { kind: 'evaluation', ...of, rates: rates as EvaluationRates, seconds: spent.sum },
        });
      }
      return { rates, score, seconds: spent.sum };
    },
  };
}
