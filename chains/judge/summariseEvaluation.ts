// Rates of a policy from verdicts. A problem passes if its program passes every hidden test. A bug is caught if a valid
// test of the turn fails a program that also fails a hidden test.
import { mean, standardErrors, testRates } from '../../core/rewards/rates.js';
import { passesAll, passShare } from '../../core/rewards/rule.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
import type { EvaluationSummary, SummariseEvaluationInput } from '../../method/evaluate.js';
import type { Scope } from '../scope.js';
import { judgedTurns } from '../train/computeRewards.js';

export async function summariseEvaluation(scope: Scope, input: SummariseEvaluationInput): Promise<EvaluationSummary> {
  const { store } = scope;
  const parts: { rates: Rates; errors: Record<string, number> }[] = [];
  const add = (judged: SuiteVerdicts[], ratesOf: (judged: SuiteVerdicts[]) => Rates): void => {
    parts.push({ rates: ratesOf(judged), errors: standardErrors(judged.map((one) => ratesOf([one]))) });
  };
  if (input.sampled) add(await store.getJson(input.sampled), sampledRates);
  if (input.greedy) add(await store.getJson(input.greedy), (judged) => ({ greedyPassRate: passRate(judged) }));
  if (input.tests) {
    // an evaluation has one program per problem: if the problem has no reference, nothing can judge the tests
    const judged = (await store.getJson(input.tests)).filter(({ votes }) => votes === undefined);
    const given = (some: SuiteVerdicts[]) => testRates(some.map(judgedTurns));
    if (judged.length > 0) {
      add(judged, (some) => ({ testValidity: given(some).validity ?? 0 }));
      add(judged.filter(failsGiven), (some) => ({ bugCatchRate: given(some).bugCatchRate ?? 0 }));
    }
  }
  const { reward: _, ...errors } = Object.assign({}, ...parts.map((part) => part.errors)) as Record<string, number>;
  return { ...Object.assign({}, ...parts.map(({ rates }) => rates)), standardErrors: errors };
}

type Rates = Omit<EvaluationSummary, 'standardErrors'>;

function sampledRates(judged: SuiteVerdicts[]): Rates {
  const programs = judged.flatMap(({ verdicts }) => verdicts);
  return {
    passRate: passRate(judged),
    reward: mean(programs.map((verdicts) => (verdicts.length === 0 ? 0 : passShare(verdicts)))) - 0.5,
  };
}

const passRate = (judged: SuiteVerdicts[]): number =>
  mean(judged.flatMap(({ verdicts }) => verdicts.map((own) => Number(passesAll(own)))));

const failsGiven = ({ suite, verdicts }: SuiteVerdicts): boolean =>
  suite.some(({ origin }, i) => origin === 'baseline' && verdicts[0]![i] !== 'pass');
