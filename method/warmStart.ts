// The warm start: supervised steps on examples from reference solutions.
import type { Digest, Ref } from '../core/base/ref.js';
import type { FreshTests } from '../core/inputs/freshInputs.js';
import type { Role } from '../core/schema/chain.js';
import type { SupervisedMetrics } from '../core/schema/metrics.js';
import type { RunRef } from '../core/schema/runRef.js';
import type { Trajectory } from '../core/schema/trajectory.js';
import { result, sequence } from './activity.js';
import { recordMetrics } from './records.js';
import { removeUpdateFiles, type UpdatePolicyInput, type UpdatePolicyOutput, updatePolicy } from './train.js';

export interface AnswerFreshInputsOutput {
  tests: Ref<FreshTests>;
  executions: number; // how many programs ran
}

/** Runs the references on new inputs, which gives the tests that the warm start teaches. */
export const answerFreshInputs = result<{ run: RunRef }, AnswerFreshInputsOutput>('answerFreshInputs', 2, {
  queue: 'sandbox',
  needs: 'sandbox',
});

export interface WriteExamplesInput {
  run: RunRef;
  role: Role;
  tests?: Ref<FreshTests> | undefined; // given for the discriminator
  step?: number; // a step of the warm start; absent: the examples come from the validation split
}

export interface WriteExamplesOutput {
  examples: Ref<Trajectory[]>;
  rows: number;
}

export const writeExamples = result<WriteExamplesInput, WriteExamplesOutput>('writeExamples', 4, { queue: 'cpu' });

export interface ScoreExamplesInput {
  run: RunRef;
  role: Role;
  examples: Ref<Trajectory[]>;
  adapter: Digest;
}

export interface ScoreExamplesOutput {
  loss?: number; // mean cross entropy of answer tokens, in nats; absent if there is no example
}

export const scoreExamples = result<ScoreExamplesInput, ScoreExamplesOutput>('scoreExamples', 4, {
  queue: 'gpu',
  needs: 'engine',
});

/** A step of the warm start. */
export interface TrainOnExamplesInput extends Omit<UpdatePolicyInput, 'trajectories' | 'rows'> {
  step: number; // the number of this step in the whole run
  tests?: Ref<FreshTests> | undefined; // given for the discriminator
  examplesOfStep: number; // the number of this step among the role's steps, from 1
}

export interface TrainOnExamplesOutput {
  state: UpdatePolicyOutput['state'];
  loss?: number | undefined; // the loss on the validation split; absent if that gives no example
}

/** Trains a role on examples, measures its loss on the validation split, and records both. */
export const trainOnExamples = sequence<TrainOnExamplesInput, TrainOnExamplesOutput>(
  'trainOnExamples',
  { queue: 'gpu' },
  async (call, input) => {
    const { run, role, position, state, learningRate, step, tests, examplesOfStep } = input;
    const written = await call(writeExamples, { run, role, tests, step: examplesOfStep });
    const update = { run, role, position, state, learningRate, trajectories: written.examples };
    const updated = await call(updatePolicy, update);
    const { examples } = await call(writeExamples, { run, role, tests });
    const scored = await call(scoreExamples, { run, role, examples, adapter: updated.state.adapter });
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
    await call(recordMetrics, { run, metrics });
    await call(removeUpdateFiles, { run });
    return { state: updated.state, loss: scored.loss, seconds };
  },
);
