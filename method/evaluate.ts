// The activities of an evaluation: the models write, the sandbox judges, and a checkpoint keeps the result.
import type { Ref } from '../core/base/ref.js';
import type { MetricName } from '../core/evaluation/metrics.js';
import type { ReplayBuffer } from '../core/rewards/archive.js';
import { checkpointScore } from '../core/rl/scores.js';
import type { PlannedStep } from '../core/run/schedule.js';
import type { Chain, Role, Stage, TestBatch } from '../core/schema/chain.js';
import type { ProblemResult } from '../core/schema/evaluation.js';
import type { EvaluationRates } from '../core/schema/run.js';
import type { PolicyState, RunRef, SamplingPolicy, StandardErrors } from '../core/schema/runRef.js';
import type { SuiteVerdicts } from '../core/schema/verdicts.js';
import { effect, result, sequence, type Timed } from './activity.js';
import { type ExecuteSuiteInput, executeSuite } from './judge.js';
import { recordMetrics } from './records.js';
import { type ChainBatch, type CountAnswersOutput, countAnswers, generateChains, generateTests } from './sample.js';

export interface GenerateEvaluationInput {
  run: RunRef;
  split: 'validation' | 'test';
  problems: number;
  stages: Stage[]; // the stages of a chain, in their order
  greedy: boolean; // also sample the chains greedily
  policies?: Record<Role, SamplingPolicy> | undefined; // default: the base model
  base?: Ref<Chain[]> | 'sampled' | undefined; // the chains that get tests, if known; 'sampled': chains of this policy
}

export interface GenerateEvaluationOutput {
  sampled: Ref<Chain[]>;
  greedy?: Ref<Chain[]>;
  base: Ref<Chain[]>; // the chains that the discriminator writes tests for
  tests: Ref<TestBatch>;
}

/** What the models wrote for an evaluation. */
export type EvaluationSamples = Timed<GenerateEvaluationOutput>;

/**
 * Samples everything that an evaluation needs from the models. The discriminator writes tests for chains of the base
 * model, or of the policy after the warm start, so every evaluation has the same bugs to find.
 */
export const generateEvaluation = sequence<GenerateEvaluationInput, GenerateEvaluationOutput>(
  'generateEvaluation',
  { queue: 'gpu', sharesParts: true, summary: ({ split }) => `${split} split` },
  async (call, input) => {
    const { run, split, problems, stages, policies } = input;
    let seconds = 0;
    const sample = async (policy: SamplingPolicy | undefined, greedy: boolean): Promise<Ref<Chain[]>> => {
      const batch: ChainBatch = { kind: 'evaluation', split, problems, greedy };
      const sampled = await call(generateChains, { run, batch, stages, ...policy });
      seconds += sampled.seconds;
      return sampled.chains;
    };
    const sampled = await sample(policies?.generator, false);
    const greedy = input.greedy ? await sample(policies?.generator, true) : undefined;
    const isBase = input.base === 'sampled' || (input.base === undefined && policies === undefined);
    const base = isBase ? sampled : (input.base ?? (await sample(undefined, false)));
    const targets = { kind: 'evaluation', chains: base } as const;
    const written = await call(generateTests, { run, targets, samples: 1, ...policies?.discriminator });
    return { sampled, greedy, base, tests: written.tests, seconds: seconds + written.seconds };
  },
);

export interface SummariseEvaluationInput {
  run: RunRef;
  sampled?: Ref<SuiteVerdicts[]>; // verdicts on sampled chains, with hidden tests
  greedy?: Ref<SuiteVerdicts[]>;
  tests?: Ref<SuiteVerdicts[]>; // verdicts on the frozen chains, with tests that the policy wrote
}

/** The rates that can be computed from the given verdicts. `reward` is the mean pass rate on hidden tests − 0.5. */
export type EvaluationSummary = Partial<EvaluationRates> & { reward?: number; standardErrors: StandardErrors };

export const summariseEvaluation = result<SummariseEvaluationInput, EvaluationSummary>('summariseEvaluation', 2, {
  queue: 'cpu',
});

export interface CommitCheckpointInput {
  run: RunRef;
  stage: number; // 0: before training
  epoch: number;
  step: number;
  score: number;
  validation: Partial<EvaluationRates>;
  standardErrors: StandardErrors; // one for each rate of `validation`
  counted?: CountAnswersOutput; // the answers of the evaluation
  seconds: number; // how long the evaluation took
  state: PolicyState;
  replayBuffer: Ref<ReplayBuffer>;
  next: number; // index of the next step in the stage's plan
  nextStage?: number; // the stage of the next step; only the first checkpoint of a fork has it
  plan?: PlannedStep[]; // absent: the configured schedule
  supervisedSteps?: number; // how many of the steps done belong to the warm start
}

export const commitCheckpoint = effect<CommitCheckpointInput, object>('commitCheckpoint', { queue: 'cpu' });

export interface JudgeEvaluationInput {
  run: RunRef;
  samples: EvaluationSamples;
  /** Validation commits a checkpoint with the results. The test split only records them. */
  target:
    | {
        split: 'validation';
        checkpoint: Omit<
          CommitCheckpointInput,
          'run' | 'score' | 'validation' | 'standardErrors' | 'counted' | 'seconds'
        >;
      }
    | { split: 'test'; step: number; checkpoint: string };
}

export interface JudgeEvaluationOutput {
  rates: Partial<EvaluationRates>;
  problems?: number | undefined;
  score: number;
}

/** Runs chains and tests against the hidden tests, and records the rates or commits the checkpoint. */
export const judgeEvaluation = sequence<JudgeEvaluationInput, JudgeEvaluationOutput>(
  'judgeEvaluation',
  {
    queue: 'sandbox',
    priority: 4, // runs at the same time as the next step, whose programs go first
    summary: ({ target }) => `${target.split} split · ${nameOf(target)}`,
  },
  async (call, { run, samples, target }) => {
    let { seconds } = samples;
    const judge = async (what: Pick<ExecuteSuiteInput, 'chains' | 'tests'>): Promise<Ref<SuiteVerdicts[]>> => {
      const per = 'chains' in what ? 'problem' : 'target';
      const judged = await call(executeSuite, { run, per, suite: 'hidden', ...what });
      seconds += judged.seconds;
      return judged.verdicts;
    };
    const sampled = await judge({ chains: samples.sampled });
    const greedy = samples.greedy && (await judge({ chains: samples.greedy }));
    const tests = await judge({ tests: samples.tests });
    const summary = await call(summariseEvaluation, { run, sampled, greedy, tests });
    const { reward, standardErrors, seconds: summarySeconds, ...rates } = summary;
    seconds += summarySeconds;
    const chains = [samples.sampled, ...(samples.greedy ? [samples.greedy] : [])];
    const counted = await call(countAnswers, { run, chains, tests: [samples.tests] });
    const score = checkpointScore(reward ?? 0, rates.testValidity);
    if (target.split === 'validation') {
      const measured = { score, validation: rates, standardErrors, counted, seconds };
      await call(commitCheckpoint, { run, ...target.checkpoint, ...measured });
    } else {
      const measured = { rates: rates as EvaluationRates, standardErrors, ...counted, seconds };
      await call(recordMetrics, { run, metrics: { kind: 'evaluation', ...target, ...measured } });
    }
    return { rates, problems: counted.problems, score, seconds };
  },
);

const nameOf = ({ checkpoint }: JudgeEvaluationInput['target']): string =>
  typeof checkpoint === 'string' ? checkpoint : `stage ${checkpoint.stage}, epoch ${checkpoint.epoch}`;

export interface MeasureEvaluationInput {
  run: RunRef;
  chains: Ref<Chain[]>;
  hidden: Ref<SuiteVerdicts[]>; // verdicts on the chains, with hidden tests and tests written for one of them
  baseline: Ref<SuiteVerdicts[]>; // verdicts on the chains, with baseline tests
  attacks?: Ref<SuiteVerdicts[]>; // verdicts on the base model's chains, with hidden tests and tests written for them
}

export interface MeasureEvaluationOutput {
  results: Ref<ProblemResult[]>;
  metrics: Partial<Record<MetricName, number>>;
}

export const measureEvaluation = result<MeasureEvaluationInput, MeasureEvaluationOutput>('measureEvaluation', 6, {
  queue: 'cpu',
});
