// Evaluates a policy on a fixed batch of held-out problems, judged by hidden tests. The end of an epoch is evaluated on
// the validation split and its checkpoint is committed with the result. The models write first; the sandbox judges
// while the next step samples. The results of all parts are stored, so a part that has not changed costs nothing.
import { endsEpoch, planOf } from '../core/run/schedule.js';
import { checkpointName } from '../core/schema/checkpoint.js';
import type { RunConfig } from '../core/schema/config.js';
import type { PolicyState } from '../core/schema/runRef.js';
import {
  type EvaluationSamples,
  generateEvaluation,
  type JudgeEvaluationInput,
  judgeEvaluation,
} from '../method/evaluate.js';
import { samplingPolicy } from '../method/rollouts.js';
import { modelCall, type OpeningState, type RunContext, type RunState } from './runState.js';

interface Evaluation {
  target: JudgeEvaluationInput['target'];
  policy?: PolicyState | undefined; // default: the base model
  greedy: boolean;
  samples?: EvaluationSamples | undefined; // given if the last step of the epoch wrote them already
}

/** @returns the chains of the split for which tests are written, and a promise of the verdict */
export async function evaluate(
  context: RunContext,
  state: OpeningState,
  { target, policy, greedy, samples: given }: Evaluation,
) {
  const { run, config, baseChains, stage, next } = state;
  const { split } = target;
  const policies = policy && {
    generator: samplingPolicy(policy.generator),
    discriminator: samplingPolicy(policy.discriminator),
  };
  const isWarmStart = stage === 0 && next > 0; // after the warm start, tests are written for this policy's chains
  const base = isWarmStart ? 'sampled' : baseChains[split];
  const input = { run, ...evaluationBatch(config, split), greedy, base, policies };
  const samples = given ?? (await modelCall(context, state)(generateEvaluation, input));
  return { chains: samples.base, verdict: context.call()(judgeEvaluation, { run, samples, target }) };
}

/** The batch of an evaluation of a split: the number of problems, and the stages of the chains. */
export function evaluationBatch({ evaluation, stages }: RunConfig, split: 'validation' | 'test') {
  return { split, problems: split === 'test' ? evaluation.testProblems : evaluation.problems, stages };
}

/** Moves on to the next step. After the last step of an epoch, it closes the epoch. */
export async function advance(context: RunContext, state: RunState, samples?: EvaluationSamples): Promise<RunState> {
  const moved = { ...state, next: state.next + 1 };
  return endsEpoch(planOf(state), state.next) ? closeCurrentEpoch(context, moved, samples) : moved;
}

/** Closes the epoch of the last step. If every step since the last checkpoint was skipped, there is nothing to close. */
export async function closeCurrentEpoch(
  context: RunContext,
  state: RunState,
  samples?: EvaluationSamples,
): Promise<RunState> {
  if (state.checkpointStep === state.step) return state;
  const { stage, next, plan, policy } = state;
  return closeEpoch(context, state, { stage, epoch: planOf(state)[next - 1]!.epoch, next, plan }, { policy, samples });
}

/** Evaluates on the validation split and commits a checkpoint. The verdict becomes `context.evaluation`. */
export async function closeEpoch(
  context: RunContext,
  before: RunState,
  position: { epoch: number; nextStage?: number | undefined } & Pick<RunState, 'stage' | 'next' | 'plan'>,
  evaluated: Pick<Evaluation, 'policy' | 'samples'>,
): Promise<RunState> {
  const state = await settleEvaluation(context, before); // one evaluation at a time
  const { step, policy, replayBuffer, best, warmStart } = state;
  const supervised = warmStart && { supervisedSteps: warmStart.steps };
  const { chains, verdict } = await evaluate(context, state, {
    target: { split: 'validation', checkpoint: { ...position, ...supervised, step, state: policy, replayBuffer } },
    greedy: false,
    ...evaluated,
  });
  const name = checkpointName(position.stage, position.epoch);
  const result = verdict.then(({ rates, score }) => {
    const latest = { best: score > best.score ? { name, score, policy } : best, validation: rates };
    context.onProgress({ best: { name: latest.best.name, score: latest.best.score }, validation: rates });
    return latest;
  });
  const evaluation = { result, failed: false };
  result.catch(() => (evaluation.failed = true)); // thrown before the next step, where the evaluation is settled
  context.evaluation = evaluation;
  return { ...state, baseChains: { ...state.baseChains, validation: chains }, checkpointStep: step };
}

/** Waits for the verdict of the latest evaluation. Of checkpoints with equal scores, the earliest is the best. */
export async function settleEvaluation(context: RunContext, state: RunState): Promise<RunState> {
  if (context.evaluation === undefined) return state;
  const result = await context.evaluation.result;
  context.evaluation = undefined;
  return { ...state, ...result };
}
