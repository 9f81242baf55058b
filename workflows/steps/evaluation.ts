// Measures a policy on a fixed batch of held-out problems, judged by hidden tests. The discriminator is judged on
// chains of the base model, so that the bugs to be found are the same every time. All of it is memoised: what did not
// change since the last evaluation costs nothing.
import type { PolicyState } from '../../activities/types.js';
import { checkpointScore } from '../../core/rl/scores.js';
import type { EvaluationRates } from '../../core/schema/run.js';
import type { RunContext } from '../state.js';
import { type Sampled, sampleChains } from './sampling.js';

export interface Evaluated {
  rates: Partial<EvaluationRates>;
  score: number;
  seconds: number;
  base: string; // digest of the base model's chains: the same in every evaluation of a split
}

/** `policy` absent: the base model. */
export async function evaluate(
  context: RunContext,
  split: 'validation' | 'test',
  policy: PolicyState | undefined,
  { greedy, base }: { greedy: boolean; base?: string | undefined },
): Promise<Evaluated> {
  const { acts, run, config } = context;
  const problems = split === 'test' ? config.evaluation.testProblems : config.evaluation.problems;
  let seconds = 0;
  const timed = <T extends { seconds: number }>(result: T): T => {
    seconds += result.seconds;
    return result;
  };
  const sample = async (adapter: string | undefined, isGreedy: boolean): Promise<Sampled> =>
    timed(await sampleChains(context, { kind: 'evaluation', split, problems, greedy: isGreedy }, adapter));
  const judge = async (
    adapter: string | undefined,
    isGreedy: boolean,
  ): Promise<{ chains: string; verdicts: string }> => {
    const { chains } = await sample(adapter, isGreedy);
    const { verdicts } = timed(await acts.executeSuite({ run, per: 'problem', suite: 'hidden', chains }));
    return { chains, verdicts };
  };
  const sampled = await judge(policy?.generator.adapter, false);
  const greedily = greedy ? await judge(policy?.generator.adapter, true) : undefined;
  const chains = base ?? (policy === undefined ? sampled.chains : (await sample(undefined, false)).chains);
  const { tests } = timed(
    await acts.generateTests({
      run,
      targets: { kind: 'evaluation', chains },
      samples: 1,
      adapter: policy?.discriminator.adapter,
    }),
  );
  const found = timed(await acts.executeSuite({ run, per: 'target', suite: 'hidden', tests }));
  const summary = timed(
    await acts.summariseEvaluation({
      run,
      sampled: sampled.verdicts,
      greedy: greedily?.verdicts,
      tests: found.verdicts,
    }),
  );
  const { reward, seconds: _, ...rates } = summary;
  return { rates, score: checkpointScore(reward ?? 0, rates.testValidity), seconds, base: chains };
}
