// Measures a policy on a fixed batch of held-out problems, judged by hidden tests, and puts the figures on record: on the
// validation split with the checkpoint of an epoch, on the test split alone. The models' part is waited for; what comes
// of it in the sandbox need not be, so the next step's sampling goes on beside it. All of it is memoised: what did not
// change since the last evaluation costs nothing.
import type { JudgeEvaluationInput, JudgeEvaluationOutput } from '../../activities/compositeActivities.js';
import type { PolicyState, Timed } from '../../activities/types.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { RunContext, WrittenEvaluation } from '../state.js';

export interface Evaluation {
  of: JudgeEvaluationInput['target'];
  policy: PolicyState | undefined; // absent: the base model
  greedy: boolean;
  base?: string | undefined; // digest of the base model's chains on the split, where they are known
  written?: WrittenEvaluation | undefined; // by the models already, with the epoch's last step
}

export type Judged = Timed<JudgeEvaluationOutput>;

/** What the models wrote is there; the verdict follows. */
export interface Evaluated {
  base: string; // the same in every evaluation of a split
  verdict: Promise<Judged>;
}

const problemsOf = ({ evaluation }: RunConfig, split: 'validation' | 'test'): number =>
  split === 'test' ? evaluation.testProblems : evaluation.problems;

/** What the models are to write on the validation split at the end of an epoch. */
export function ofEpoch({ config }: Pick<RunContext, 'config'>, base: string | undefined) {
  const problems = problemsOf(config, 'validation');
  return { split: 'validation', problems, stages: config.stages, greedy: false, base } as const;
}

export async function evaluate({ acts, run, config }: RunContext, evaluation: Evaluation): Promise<Evaluated> {
  const { of, policy, greedy, base } = evaluation;
  const { split } = of;
  const written =
    evaluation.written ??
    (await acts.generateEvaluation({
      ...{ run, split, problems: problemsOf(config, split), stages: config.stages, greedy, base },
      adapters: policy && { generator: policy.generator.adapter, discriminator: policy.discriminator.adapter },
    }));
  return { base: written.base, verdict: acts.judgeEvaluation({ run, samples: written, target: of }) };
}
