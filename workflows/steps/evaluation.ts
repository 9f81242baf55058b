// Measures a policy on a fixed batch of held-out problems, judged by hidden tests, and puts the figures on record: on the
// validation split with the checkpoint of an epoch, on the test split alone. The models' part is waited for; what comes
// of it in the sandbox need not be, so the next step's sampling goes on beside it. All of it is memoised: what did not
// change since the last evaluation costs nothing.
import type { JudgeEvaluationInput, JudgeEvaluationOutput } from '../../activities/evaluation.js';
import type { PolicyState, Timed } from '../../activities/types.js';
import { checkpointScore } from '../../core/rl/scores.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { EvaluationRates } from '../../core/schema/run.js';
import { Seconds } from '../../core/seconds.js';
import type { RunContext, WrittenEvaluation } from '../state.js';
import { type Sampled, sampleChains } from './sampling.js';

export interface Evaluation {
  of: JudgeEvaluationInput['of'];
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

export function evaluate(context: RunContext, evaluation: Evaluation): Promise<Evaluated> {
  return (context.shortEpochs ? inTwo : inMany)(context, evaluation);
}

const problemsOf = ({ evaluation }: RunConfig, split: 'validation' | 'test'): number =>
  split === 'test' ? evaluation.testProblems : evaluation.problems;

/** What the models are to write on the validation split at the end of an epoch. */
export function ofEpoch({ config }: Pick<RunContext, 'config'>, base: string | undefined) {
  const problems = problemsOf(config, 'validation');
  return { split: 'validation', problems, stages: config.stages, greedy: false, base } as const;
}

async function inTwo({ acts, run, config }: RunContext, evaluation: Evaluation): Promise<Evaluated> {
  const { of, policy, greedy, base } = evaluation;
  const { split } = of;
  const written =
    evaluation.written ??
    (await acts.generateEvaluation({
      ...{ run, split, problems: problemsOf(config, split), stages: config.stages, greedy, base },
      adapters: policy && { generator: policy.generator.adapter, discriminator: policy.discriminator.adapter },
    }));
  return { base: written.base, verdict: acts.judgeEvaluation({ run, written, of }) };
}

/** As runs and stages did that began before there were activities for it. */
async function inMany(context: RunContext, evaluation: Evaluation): Promise<Evaluated> {
  const { acts, run, config } = context;
  const { of, policy, greedy, base } = evaluation;
  const { split } = of;
  const problems = problemsOf(config, split);
  const spent = new Seconds();
  const sample = async (adapter: string | undefined, isGreedy: boolean): Promise<Sampled> =>
    spent.of(await sampleChains(context, { kind: 'evaluation', split, problems, greedy: isGreedy }, adapter));
  const judge = async (
    adapter: string | undefined,
    isGreedy: boolean,
  ): Promise<{ chains: string; verdicts: string }> => {
    const { chains } = await sample(adapter, isGreedy);
    const { verdicts } = spent.of(await acts.executeSuite({ run, per: 'problem', suite: 'hidden', chains }));
    return { chains, verdicts };
  };
  const sampled = await judge(policy?.generator.adapter, false);
  const greedily = greedy ? await judge(policy?.generator.adapter, true) : undefined;
  const chains = base ?? (policy === undefined ? sampled.chains : (await sample(undefined, false)).chains);
  const { tests } = spent.of(
    await acts.generateTests({
      run,
      targets: { kind: 'evaluation', chains },
      samples: 1,
      adapter: policy?.discriminator.adapter,
    }),
  );
  const found = spent.of(await acts.executeSuite({ run, per: 'target', suite: 'hidden', tests }));
  const summary = spent.of(
    await acts.summariseEvaluation({
      run,
      sampled: sampled.verdicts,
      greedy: greedily?.verdicts,
      tests: found.verdicts,
    }),
  );
  const { reward, seconds: _, ...rates } = summary;
  const score = checkpointScore(reward ?? 0, rates.testValidity);
  if (of.split === 'validation') {
    await acts.commitCheckpoint({ run, ...of.checkpoint, score, seconds: spent.sum, validation: rates });
  } else {
    const metrics = { kind: 'evaluation', ...of, rates: rates as EvaluationRates, seconds: spent.sum } as const;
    await acts.recordMetrics({ run, metrics });
  }
  return { base: chains, verdict: Promise.resolve({ rates, score, seconds: spent.sum }) };
}
