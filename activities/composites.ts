import type { StepMetrics } from '../core/schema/metrics.js';
import { stepMetrics } from '../core/stepMetrics.js';
import type { Digest } from '../store/store.js';
import { chainsOf } from './chains.js';
import { evaluations, type GenerateEvaluationInput, type GenerateEvaluationOutput } from './evaluation.js';
import type {
  ComputeRewardsInput,
  ScoreOldPolicyInput,
  Timed,
  UpdatePolicyInput,
  UpdatePolicyOutput,
} from './types.js';
import type { Units } from './units.js';

/** Scoring and updating know the same policy. */
interface TrainOnTrajectories
  extends Omit<UpdatePolicyInput, 'trajectories'>,
    Pick<ScoreOldPolicyInput, 'trajectories'> {}

/** The rest of a step once its programs have run: rewards, update, record. */
interface TrainOnRollout
  extends Omit<UpdatePolicyInput, 'trajectories'>,
    Pick<ComputeRewardsInput, 'verdicts' | 'chains' | 'tests' | 'memory'> {
  step: number; // of the whole run
  sampledTokens: number;
  generationSeconds: number;
  rolloutSeconds: number; // generation included
  /** At the end of an epoch; the adapter of a role that is not given is the one just trained. */
  evaluation?:
    | (Omit<GenerateEvaluationInput, 'run' | 'adapters'> & {
        adapters: Partial<NonNullable<GenerateEvaluationInput['adapters']>>;
      })
    | undefined;
}

export type TrainPolicyInput = TrainOnTrajectories | TrainOnRollout;
/** What is optional comes of a rollout. */
export interface TrainPolicyOutput extends UpdatePolicyOutput {
  memory?: Digest;
  metrics?: StepMetrics; // on record
  evaluation?: Timed<GenerateEvaluationOutput>; // that was asked for
}

export function composites(units: Units) {
  async function trainOnTrajectories(input: TrainOnTrajectories): Promise<Timed<UpdatePolicyOutput>> {
    const { run, role, trajectories, state } = input;
    const { adapter, valueHead } = state;
    const scored = await units.scoreOldPolicy({ run, role, trajectories, adapter, ...(valueHead && { valueHead }) });
    const updated = await units.updatePolicy({ ...input, trajectories: scored.trajectories });
    return { ...updated, seconds: scored.seconds + updated.seconds };
  }

  async function trainOnRollout(input: TrainOnRollout): Promise<Timed<TrainPolicyOutput>> {
    const { run, role, position, state, learningRate, verdicts, chains, tests, memory, evaluation, ...counts } = input;
    const rewarded = await units.computeRewards({ run, role, position, verdicts, chains, tests, memory });
    const { trajectories } = rewarded;
    const updated = await trainOnTrajectories({ run, role, position, state, learningRate, trajectories });
    const artifacts = { config: run.config, problems: run.problems, verdicts, chains, tests, memory, trajectories };
    const metrics = stepMetrics({ ...counts, position, role, learningRate, rewarded, updated, artifacts });
    const trained = { ...updated, memory: rewarded.memory, metrics };
    const { adapter } = updated.state;
    const adapters = { generator: adapter, discriminator: adapter, ...evaluation?.adapters };
    const written = evaluation && (await evaluating.generateEvaluation({ run, ...evaluation, adapters }));
    await units.recordMetrics({ run, metrics }); // last: a step that is left out for anything before has no record
    return { ...trained, ...(written && { evaluation: written }) };
  }

  const generateChains = chainsOf(units);
  const evaluating = evaluations(units, generateChains);
  return {
    ...evaluating,

    generateChains,

    /** Old log-probs of the trajectories, then PPO on them; of a rollout its rewards first, where its epoch ends what the models write for the evaluation, and its record last. */
    trainPolicy: (input: TrainPolicyInput): Promise<Timed<TrainPolicyOutput>> =>
      'trajectories' in input ? trainOnTrajectories(input) : trainOnRollout(input),
  };
}
