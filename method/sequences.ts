// The activities that call other activities in sequence, as functions of the call. An activity runs a sequence on one worker:
// few, longer activities keep the workflow history short. If several workers share the work, the workflow runs the sequence
// itself (workflows/spread.ts).
import { watchStep } from '../core/alarms.js';
import { nothingTrained } from '../core/answerShares.js';
import type { Digest, Ref } from '../core/ref.js';
import { checkpointScore } from '../core/rl/scores.js';
import type { Chain } from '../core/schema/chain.js';
import type { StepMetrics, SupervisedMetrics } from '../core/schema/metrics.js';
import type { EvaluationRates } from '../core/schema/run.js';
import type { SuiteVerdicts } from '../core/schema/verdicts.js';
import type { Call, Input, Output, SequenceName } from './activities.js';
import type { ChainBatch, SamplingPolicy, ShardResult } from './types.js';

type Sequence<N extends SequenceName> = (call: Call, input: Input<N>) => Promise<Output<N>>;

/** Samples every stage of a batch's chains. Each stage appends one turn to each chain. */
const sampleChains: Sequence<'sampleChains'> = async (call, { stages, adapter, frozen, shards, ...input }) => {
  let done: Output<'generateReasoning'> | undefined;
  const turns: ShardResult<Chain[]>[] = [];
  for (const [i, stage] of stages.entries()) {
    const turn = await call('generateReasoning', {
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
};

/** The chains of a batch, and tests for them. */
const generateChains: Sequence<'generateChains'> = async (call, { tests, ...input }) => {
  const { run, batch } = input;
  const done = await call('sampleChains', input);
  if (tests === undefined) return done;
  const { chains, tokens, seconds } = done;
  const position = batch.kind === 'train' ? batch.position : undefined;
  const written = await call('generateTests', { run, targets: { kind: 'all-stages', chains, position }, ...tests });
  return { ...done, tests: written.tests, tokens: tokens + written.tokens, seconds: seconds + written.seconds };
};

/**
 * Samples everything that an evaluation needs from the models. The discriminator writes tests for chains of the base
 * model, or of the policy after the warm start, so every evaluation has the same bugs to find.
 */
const generateEvaluation: Sequence<'generateEvaluation'> = async (call, input) => {
  const { run, split, problems, stages, policies } = input;
  let seconds = 0;
  const sample = async (policy: SamplingPolicy | undefined, greedy: boolean): Promise<Ref<Chain[]>> => {
    const batch: ChainBatch = { kind: 'evaluation', split, problems, greedy };
    const sampled = await call('generateChains', { run, batch, stages, ...policy });
    seconds += sampled.seconds;
    return sampled.chains;
  };
  const sampled = await sample(policies?.generator, false);
  const greedy = input.greedy ? await sample(policies?.generator, true) : undefined;
  const isBase = input.base === 'sampled' || (input.base === undefined && policies === undefined);
  const base = isBase ? sampled : (input.base ?? (await sample(undefined, false)));
  const targets = { kind: 'evaluation', chains: base } as const;
  const written = await call('generateTests', { run, targets, samples: 1, ...policies?.discriminator });
  return { sampled, greedy, base, tests: written.tests, seconds: seconds + written.seconds };
};

/** Runs chains and tests against the hidden tests, and records the rates or commits the checkpoint. */
const judgeEvaluation: Sequence<'judgeEvaluation'> = async (call, { run, samples, target }) => {
  let { seconds } = samples;
  const judge = async (what: Pick<Input<'executeSuite'>, 'chains' | 'tests'>): Promise<Ref<SuiteVerdicts[]>> => {
    const per = 'chains' in what ? 'problem' : 'target';
    const judged = await call('executeSuite', { run, per, suite: 'hidden', ...what });
    seconds += judged.seconds;
    return judged.verdicts;
  };
  const sampled = await judge({ chains: samples.sampled });
  const greedy = samples.greedy && (await judge({ chains: samples.greedy }));
  const tests = await judge({ tests: samples.tests });
  const summary = await call('summariseEvaluation', { run, sampled, greedy, tests });
  const { reward, standardErrors, seconds: summarySeconds, ...rates } = summary;
  seconds += summarySeconds;
  const chains = [samples.sampled, ...(samples.greedy ? [samples.greedy] : [])];
  const counted = await call('countAnswers', { run, chains, tests: [samples.tests] });
  const score = checkpointScore(reward ?? 0, rates.testValidity);
  if (target.split === 'validation') {
    const measured = { score, validation: rates, standardErrors, counted, seconds };
    await call('commitCheckpoint', { run, ...target.checkpoint, ...measured });
  } else {
    const measured = { rates: rates as EvaluationRates, standardErrors, ...counted, seconds };
    await call('recordMetrics', { run, metrics: { kind: 'evaluation', ...target, ...measured } });
  }
  return { rates, score, seconds };
};

/**
 * Computes rewards, scores the trajectories with the old policy and runs PPO on them. At the end of an epoch it also
 * samples for the evaluation.
 */
const trainPolicy: Sequence<'trainPolicy'> = async (call, input) => {
  const { run, role, position, state, learningRate, verdicts, chains, tests, replayBuffer, step, sampledTokens } =
    input;
  const rewarded = await call('computeRewards', { run, role, position, verdicts, chains, tests, replayBuffer });
  const { trajectories, rows } = rewarded;
  const { adapter, valueHead } = state;
  const scored = await call('scoreOldPolicy', { run, role, trajectories, adapter, valueHead, rows });
  const update = { run, role, position, state, learningRate, trajectories: scored.trajectories, rows };
  const updated = await call('updatePolicy', update);
  const seconds = rewarded.seconds + scored.seconds + updated.seconds;
  const figures = await call('measureStep', { run, role, verdicts, chains });
  const counted = input.sampled && (await call('countAnswers', { run, ...input.sampled }));
  const { refillRounds, sandboxFaultRate } = input;
  const watched = watchStep(input.alarms ?? {}, { role, ...rewarded.metrics, ...figures, sandboxFaultRate });
  const untrained = rows === 0 ? [nothingTrained(role)] : [];
  const warnings = [...(counted?.warnings ?? []), ...untrained, ...watched.alarms];
  const metrics: StepMetrics = {
    kind: 'step',
    step,
    stage: position.stage,
    phase: position.phase,
    epoch: position.epoch,
    role,
    ...rewarded.metrics,
    ...figures,
    ...counted,
    refillRounds,
    sandboxFaultRate,
    ...(warnings.length > 0 && { warnings }),
    update: { ...updated.stats, ...scored.mismatch },
    rows,
    learningRate,
    sampledTokens,
    tokensPerSecond: sampledTokens / Math.max(input.generationSeconds, 1e-9),
    seconds: input.rolloutSeconds + seconds,
    artifacts: { config: run.config, problems: run.problems, verdicts, chains, tests, replayBuffer, trajectories },
  };
  const evaluation =
    input.evaluation &&
    (await call('generateEvaluation', {
      run,
      ...input.evaluation,
      policies: withAdapter(input.evaluation.policies, updated.state.adapter),
    }));
  await call('recordMetrics', { run, metrics }); // last: a step that fails before this and is skipped has no record
  await call('removeUpdateFiles', { run });
  return {
    state: updated.state,
    seconds,
    replayBuffer: rewarded.replayBuffer,
    metrics,
    evaluation,
    alarms: watched.state,
  };
};

/** The policies with a newly trained adapter, for the role that has none yet. */
function withAdapter<P extends object>(policies: { generator: P; discriminator: P }, adapter: Digest) {
  const { generator, discriminator } = policies;
  return { generator: { adapter, ...generator }, discriminator: { adapter, ...discriminator } };
}

/** Trains a role on examples, measures its loss on the validation split, and records both. */
const trainOnExamples: Sequence<'trainOnExamples'> = async (call, input) => {
  const { run, role, position, state, learningRate, step, tests, examplesOfStep } = input;
  const written = await call('writeExamples', { run, role, tests, step: examplesOfStep });
  const update = { run, role, position, state, learningRate, trajectories: written.examples };
  const updated = await call('updatePolicy', update);
  const { examples } = await call('writeExamples', { run, role, tests });
  const scored = await call('scoreExamples', { run, role, examples, adapter: updated.state.adapter });
  const seconds = written.seconds + updated.seconds + scored.seconds;
  const metrics: SupervisedMetrics = {
    kind: 'supervised',
    step,
    role,
    loss: updated.stats.loss,
    validationLoss: scored.loss,
    update: updated.stats,
    rows: written.rows,
    learningRate,
    seconds,
  };
  await call('recordMetrics', { run, metrics });
  await call('removeUpdateFiles', { run });
  return { state: updated.state, loss: scored.loss, seconds };
};

export const SEQUENCES: { [N in SequenceName]: Sequence<N> } = {
  sampleChains,
  generateChains,
  generateEvaluation,
  judgeEvaluation,
  trainPolicy,
  trainOnExamples,
};
