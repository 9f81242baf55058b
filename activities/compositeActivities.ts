// Activities that call several leaf activities in sequence. Each leaf is memoised, so a retry repeats only what is
// unfinished. Fewer, longer activities keep the workflow history short.
import { nothingTrained } from '../core/answerShares.js';
import { testsOwnChains, withAdapter } from '../core/evaluation/policies.js';
import { checkpointScore } from '../core/rl/scores.js';
import type { Role, Stage } from '../core/schema/chain.js';
import type { StepMetrics, SupervisedMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates } from '../core/schema/run.js';
import type { Shard } from '../core/shards.js';
import type { Digest } from '../store/store.js';
import type { LeafActivities } from './leafActivities.js';
import type {
  ChainBatch,
  CommitCheckpointInput,
  ComputeRewardsInput,
  CountAnswersInput,
  GenerateReasoningInput,
  GenerateReasoningOutput,
  Position,
  RepairProgramsInput,
  RunRef,
  SamplingPolicy,
  ShardResult,
  Timed,
  UpdatePolicyInput,
  UpdatePolicyOutput,
} from './types.js';

export interface GenerateChainsInput
  extends SamplingPolicy,
    Pick<GenerateReasoningInput, 'run' | 'batch' | 'replayBuffer'> {
  stages: Stage[]; // of a chain, in order
  /** The discriminator also writes tests for all stages of one chain of each problem. */
  tests?: ({ samples: number } & SamplingPolicy) | undefined;
  /** Chains that have all stages. Their programs that failed a test are written again. */
  repair?: Pick<RepairProgramsInput, 'chains' | 'failures'>;
  shard?: Shard; // only the chains of some problems
  shards?: ShardResult[][]; // all shards of each stage: nothing is sampled
}
/** Tokens and seconds include chains and tests. */
export interface GenerateChainsOutput extends GenerateReasoningOutput {
  tests?: Digest;
  turns?: ShardResult[]; // of each stage; only for a shard
}

export interface GenerateEvaluationInput {
  run: RunRef;
  split: 'validation' | 'test';
  problems: number;
  stages: Stage[]; // of a chain, in order
  greedy: boolean; // also sample the chains greedily
  policies?: Record<Role, SamplingPolicy> | undefined; // absent: the base model
  base?: Digest | 'sampled' | undefined; // chains to write tests for, if they are known; sampled: those of this policy
}
export interface GenerateEvaluationOutput {
  sampled: Digest; // chains
  greedy?: Digest;
  base: Digest; // the chains that the discriminator writes tests for
  tests: Digest;
}
/** What the models wrote for an evaluation. */
export type EvaluationSamples = Timed<GenerateEvaluationOutput>;

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
  score: number;
}

/** The part of a step that follows the execution of its programs: rewards, update, record. */
export interface TrainPolicyInput
  extends Omit<UpdatePolicyInput, 'trajectories' | 'position'>,
    Pick<ComputeRewardsInput, 'verdicts' | 'chains' | 'tests' | 'replayBuffer'> {
  position: Position;
  step: number; // of the whole run, this one included
  sampledTokens: number;
  generationSeconds: number;
  rolloutSeconds: number; // generation included
  /** All that was sampled for the step, by either role. Absent in steps that an earlier version planned. */
  sampled?: Omit<CountAnswersInput, 'run'>;
  /** At the end of an epoch. A policy without an adapter uses the one that this step trains. */
  evaluation?: (Omit<GenerateEvaluationInput, 'run'> & { policies: Record<Role, SamplingPolicy> }) | undefined;
}
export interface TrainPolicyOutput extends Omit<UpdatePolicyOutput, 'ratios' | 'stats'> {
  replayBuffer: Digest;
  metrics: StepMetrics; // as recorded
  evaluation?: Timed<GenerateEvaluationOutput>; // if requested
}

/** A step of the warm start. */
export interface TrainOnExamplesInput extends Omit<UpdatePolicyInput, 'trajectories'> {
  step: number; // of the whole run, this one included
  tests?: Digest | undefined; // FreshTests, for the discriminator
  examplesOfStep: number; // 1-based, of the role
}
export interface TrainOnExamplesOutput {
  state: UpdatePolicyOutput['state'];
  loss?: number | undefined; // on the validation split; absent if that gives no example
}

export function compositeActivities(leaf: LeafActivities) {
  /** Samples every stage of a batch's chains. Each stage appends one turn to each chain. */
  async function sampleStages({
    stages,
    adapter,
    frozen,
    shards,
    ...input
  }: Omit<GenerateChainsInput, 'tests' | 'repair'>): Promise<Timed<GenerateChainsOutput>> {
    let done: Timed<GenerateReasoningOutput> | undefined;
    const turns: ShardResult[] = [];
    for (const [i, stage] of stages.entries()) {
      const turn = await leaf.generateReasoning({
        ...input,
        stage,
        adapter: frozen?.[stage] ?? adapter,
        chains: done?.chains,
        shards: shards?.[i],
      });
      turns.push({ part: turn.chains, tokens: turn.tokens, seconds: turn.seconds });
      done = {
        ...turn,
        tokens: turn.tokens + (done?.tokens ?? 0),
        seconds: turn.seconds + (done?.seconds ?? 0),
      };
    }
    return { ...done!, turns: input.shard && turns };
  }

  /** The chains of a batch, or their repair, and tests for them. */
  async function generateChains({
    tests,
    repair,
    ...input
  }: GenerateChainsInput): Promise<Timed<GenerateChainsOutput>> {
    const { run, batch, adapter, frozen } = input;
    const done = repair
      ? await leaf.repairPrograms({ run, batch, ...repair, adapter: frozen?.[5] ?? adapter })
      : await sampleStages(input);
    if (tests === undefined) return done;
    const { chains, tokens, seconds } = done;
    const position = batch.kind === 'train' ? batch.position : undefined;
    const targets = { kind: 'all-stages', chains, position } as const;
    const written = await leaf.generateTests({ run, targets, ...tests });
    return { ...done, tests: written.tests, tokens: tokens + written.tokens, seconds: seconds + written.seconds };
  }

  /**
   * Samples everything that an evaluation needs from the models. The discriminator writes tests for chains of the base
   * model, or of the policy after the warm start, so every evaluation has the same bugs to find.
   */
  async function generateEvaluation(input: GenerateEvaluationInput): Promise<Timed<GenerateEvaluationOutput>> {
    const { run, split, problems, stages, policies } = input;
    let seconds = 0;
    const sample = async (policy: SamplingPolicy | undefined, greedy: boolean): Promise<Digest> => {
      const batch: ChainBatch = { kind: 'evaluation', split, problems, greedy };
      const sampled = await generateChains({ run, batch, stages, ...policy });
      seconds += sampled.seconds;
      return sampled.chains;
    };
    const sampled = await sample(policies?.generator, false);
    const greedy = input.greedy ? await sample(policies?.generator, true) : undefined;
    const base = testsOwnChains(input) ? sampled : (input.base ?? (await sample(undefined, false)));
    const targets = { kind: 'evaluation', chains: base } as const;
    const written = await leaf.generateTests({ run, targets, samples: 1, ...policies?.discriminator });
    return { sampled, greedy, base, tests: written.tests, seconds: seconds + written.seconds };
  }

  /** Runs chains and tests against the hidden tests, and records the rates or commits the checkpoint. */
  async function judgeEvaluation({
    run,
    samples,
    target,
  }: JudgeEvaluationInput): Promise<Timed<JudgeEvaluationOutput>> {
    let { seconds } = samples;
    const judge = async (what: { chains: Digest } | { tests: Digest }): Promise<Digest> => {
      const per = 'chains' in what ? 'problem' : 'target';
      const judged = await leaf.executeSuite({ run, per, suite: 'hidden', ...what });
      seconds += judged.seconds;
      return judged.verdicts;
    };
    const sampled = await judge({ chains: samples.sampled });
    const greedy = samples.greedy && (await judge({ chains: samples.greedy }));
    const tests = await judge({ tests: samples.tests });
    const summary = await leaf.summariseEvaluation({ run, sampled, greedy, tests });
    const { reward, standardErrors, seconds: summarySeconds, ...rates } = summary;
    seconds += summarySeconds;
    const chains = [samples.sampled, ...(samples.greedy ? [samples.greedy] : [])];
    const counted = await leaf.countAnswers({ run, chains, tests: [samples.tests] });
    const score = checkpointScore(reward ?? 0, rates.testValidity);
    if (target.split === 'validation') {
      const measured = { score, validation: rates, standardErrors, counted, seconds };
      await leaf.commitCheckpoint({ run, ...target.checkpoint, ...measured });
    } else {
      await leaf.recordMetrics({
        run,
        metrics: {
          kind: 'evaluation',
          ...target,
          rates: rates as EvaluationRates,
          standardErrors,
          ...counted,
          seconds,
        },
      });
    }
    return { rates, score, seconds };
  }

  /**
   * Computes rewards, scores the trajectories with the old policy and runs PPO on them. At the end of an epoch it also
   * samples for the evaluation.
   */
  async function trainPolicy(input: TrainPolicyInput): Promise<Timed<TrainPolicyOutput>> {
    const { run, role, position, state, learningRate, verdicts, chains, tests, replayBuffer, step, sampledTokens } =
      input;
    const rewarded = await leaf.computeRewards({ run, role, position, verdicts, chains, tests, replayBuffer });
    const { trajectories } = rewarded;
    const { adapter, valueHead } = state;
    const scored = await leaf.scoreOldPolicy({ run, role, trajectories, adapter, valueHead });
    const update = { run, role, position, state, learningRate, trajectories: scored.trajectories };
    const updated = await leaf.updatePolicy(update);
    const seconds = scored.seconds + updated.seconds;
    const counted = input.sampled && (await leaf.countAnswers({ run, ...input.sampled }));
    const warnings = [...(counted?.warnings ?? []), ...(rewarded.rows === 0 ? [nothingTrained(role)] : [])];
    const metrics: StepMetrics = {
      kind: 'step',
      step,
      stage: position.stage,
      phase: position.phase,
      epoch: position.epoch,
      role,
      ...rewarded.metrics,
      ...counted,
      ...(warnings.length > 0 && { warnings }),
      update: { ...updated.stats, ...scored.mismatch },
      rows: rewarded.rows,
      learningRate,
      sampledTokens,
      tokensPerSecond: sampledTokens / Math.max(input.generationSeconds, 1e-9),
      seconds: input.rolloutSeconds + rewarded.seconds + seconds,
      artifacts: { config: run.config, problems: run.problems, verdicts, chains, tests, replayBuffer, trajectories },
    };
    const evaluation =
      input.evaluation &&
      (await generateEvaluation({
        run,
        ...input.evaluation,
        policies: withAdapter(input.evaluation.policies, updated.state.adapter),
      }));
    await leaf.recordMetrics({ run, metrics }); // last: a step that fails before this and is skipped has no record
    await leaf.removeUpdateFiles({ run });
    const result = { state: updated.state, seconds, replayBuffer: rewarded.replayBuffer, metrics };
    return { ...result, evaluation };
  }

  /** Trains a role on examples, measures its loss on the validation split, and records both. */
  async function trainOnExamples(input: TrainOnExamplesInput): Promise<Timed<TrainOnExamplesOutput>> {
    const { run, role, position, state, learningRate, step, tests, examplesOfStep } = input;
    const written = await leaf.writeExamples({ run, role, tests, step: examplesOfStep });
    const { rows } = written;
    const update = { run, role, position, state, learningRate, trajectories: written.examples };
    const updated = await leaf.updatePolicy(update);
    const { examples } = await leaf.writeExamples({ run, role, tests });
    const scored = await leaf.scoreExamples({ run, role, examples, adapter: updated.state.adapter });
    const seconds = written.seconds + updated.seconds + scored.seconds;
    const { loss } = updated.stats;
    const metrics: SupervisedMetrics = {
      kind: 'supervised',
      step,
      role,
      loss,
      validationLoss: scored.loss,
      update: updated.stats,
      rows,
      learningRate,
      seconds,
    };
    await leaf.recordMetrics({ run, metrics });
    await leaf.removeUpdateFiles({ run });
    return { state: updated.state, loss: scored.loss, seconds };
  }

  return { generateChains, generateEvaluation, judgeEvaluation, trainPolicy, trainOnExamples };
}
