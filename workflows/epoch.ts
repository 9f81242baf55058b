// The end of an epoch: an evaluation on the validation split, and a checkpoint.
import type { PlannedStep } from '../core/schedule.js';
import { checkpointName } from '../core/schema/checkpoint.js';
import type { RunContext, TrainingState, WrittenEvaluation } from './state.js';
import { evaluate } from './steps/evaluation.js';

/** Where in the schedule a checkpoint lies. Stage 0 is the beginning. */
export interface Mark {
  stage: number;
  epoch: number;
  next: number; // index of the next step in the stage's plan
  plan?: PlannedStep[] | undefined;
  fresh?: boolean; // nothing has been trained yet: the base model
  written?: WrittenEvaluation | undefined; // with the epoch's last step
}

/** Where it stands without the verdict, and what the verdict makes of that. */
export interface ClosedEpoch {
  state: TrainingState;
  verdict: Promise<(state: TrainingState) => TrainingState>;
}

/** Evaluates on the validation split, commits the checkpoint, and keeps the best (the earliest of equal ones). */
export async function closeEpoch(context: RunContext, state: TrainingState, mark: Mark): Promise<ClosedEpoch> {
  const { stage, epoch, next, plan, fresh, written } = mark;
  const { step, policy, replayBuffer } = state;
  const { base, verdict } = await evaluate(context, {
    of: { split: 'validation', checkpoint: { stage, epoch, step, state: policy, replayBuffer, next, plan } },
    ...{ policy: fresh ? undefined : policy, greedy: false, base: state.base, written },
  });
  const known = verdict.then(({ rates, score }) => (now: TrainingState): TrainingState => {
    const name = checkpointName(stage, epoch);
    return { ...now, best: score > now.best.score ? { name, score, policy } : now.best, validation: rates };
  });
  return { state: { ...state, base, closedAt: step }, verdict: known };
}
