// One stage of the curriculum: its planned steps in order, and after every epoch an evaluation and a checkpoint. Pure
// orchestration: the Temporal workflow and the in-process driver both run this.
import type { RunRef } from '../activities/types.js';
import { learningRateFactor } from '../core/rl/schedules.js';
import { countSteps, endsEpoch, planStage } from '../core/schedule.js';
import type { Stage } from '../core/schema/chain.js';
import { checkpointName } from '../core/schema/checkpoint.js';
import type { RunConfig } from '../core/schema/config.js';
import type { Acts } from './acts.js';
import { completed, type ProgressUpdate, type RunContext, type TrainingState } from './state.js';
import { discriminatorStep } from './steps/discriminatorStep.js';
import { evaluate } from './steps/evaluation.js';
import { generatorStep } from './steps/generatorStep.js';

export interface StageInput {
  run: RunRef;
  config: RunConfig;
  stage: Stage;
  state: TrainingState;
  next: number; // index in the stage's plan of the step to do next
}

export interface StageHooks {
  onProgress?(update: ProgressUpdate): void | Promise<void>;
  /** Asked after every step; true ends the call early, to be continued from what it returns. */
  pauseAfter?(stepsDone: number): boolean;
}

const STEPS = { generator: generatorStep, discriminator: discriminatorStep };

/** @returns the input of the next call; `next` is the length of the plan when the stage is done. */
export async function runStage(acts: Acts, input: StageInput, hooks: StageHooks = {}): Promise<StageInput> {
  const { run, stage } = input;
  const config = completed(input.config);
  const plan = planStage(config, stage);
  const totalSteps = countSteps(config);
  let { state } = input;
  let next = input.next;
  while (next < plan.length) {
    const planned = plan[next]!;
    const position = { stage, ...planned };
    const { ppo } = config;
    const learningRate = ppo.learningRate * learningRateFactor(state.step + 1, totalSteps, ppo);
    const context = { acts, run, config, position, learningRate };
    const outcome = await STEPS[planned.role](context, state);
    const { policy, memory, metrics } = outcome;
    state = { ...state, policy, memory, step: state.step + 1, seconds: state.seconds + metrics.seconds };
    if (endsEpoch(plan, next)) state = await closeEpoch(context, state, stage, planned.epoch);
    next++;
    await hooks.onProgress?.({
      stage,
      phase: planned.phase,
      epoch: planned.epoch,
      step: state.step,
      reward: metrics.reward,
      ...(planned.role === 'generator' ? { passRate: metrics.passRate } : {}),
      ...(metrics.validity === undefined ? {} : { validity: metrics.validity }),
      tokensPerSecond: metrics.tokensPerSecond,
      best: { name: state.best.name, score: state.best.score },
      validation: state.validation,
    });
    if (next < plan.length && hooks.pauseAfter?.(next - input.next)) break;
  }
  return { ...input, state, next };
}

/** Evaluates on the validation split, commits the checkpoint, and keeps the best (the earliest of equal ones). */
export async function closeEpoch(
  context: RunContext,
  state: TrainingState,
  stage: number,
  epoch: number,
): Promise<TrainingState> {
  const { acts, run } = context;
  const evaluated = await evaluate(context, 'validation', stage === 0 ? undefined : state.policy, { greedy: false });
  const { rates, score, seconds } = evaluated;
  const name = checkpointName(stage, epoch);
  const { step, policy, memory } = state;
  await acts.recordMetrics({
    run,
    metrics: { kind: 'evaluation', step, split: 'validation', checkpoint: name, rates, score, seconds },
  });
  await acts.commitCheckpoint({ run, stage, epoch, step, score, validation: rates, state: policy, memory });
  const best = score > state.best.score ? { name, score, policy } : state.best;
  return { ...state, best, validation: rates };
}
