// Rates of a policy from verdicts. A problem passes if its program passes every hidden test. A bug is caught if a valid
// test of the turn fails a program that also fails a hidden test.
import { mean, testRates, typeCheckRate } from '../core/rewards/rates.js';
import { passShare } from '../core/rewards/rule.js';
import type { Verdict } from '../core/schema/execution.js';
import type { SuiteVerdicts } from './artifacts.js';
import { judgeTurn } from './computeRewards.js';
import type { Scope } from './scope.js';
import type { EvaluationSummary, SummariseEvaluationInput } from './types.js';

export async function summariseEvaluation(scope: Scope, input: SummariseEvaluationInput): Promise<EvaluationSummary> {
  const read = (digest: string): Promise<SuiteVerdicts[]> => scope.store.getJson<SuiteVerdicts[]>(digest);
  const summary: EvaluationSummary = {};
  if (input.sampled) {
    const judged = await read(input.sampled);
    const programs = judged.flatMap(({ verdicts }) => verdicts);
    const typed = typeCheckRate(judged.flatMap(({ types }) => types ?? []));
    if (typed !== undefined) summary.typeCheckRate = typed;
    summary.passRate = mean(programs.map(passesAll));
    summary.reward = mean(programs.map((verdicts) => (verdicts.length === 0 ? 0 : passShare(verdicts)))) - 0.5;
  }
  if (input.greedy) {
    const programs = (await read(input.greedy)).flatMap(({ verdicts }) => verdicts);
    summary.greedyPassRate = mean(programs.map(passesAll));
  }
  if (input.tests) {
    const judged = await read(input.tests);
    const turnsOf = (some: SuiteVerdicts[]) => some.flatMap((one) => one.turns.map((turn) => judgeTurn(one, turn)));
    summary.testValidity = testRates(turnsOf(judged)).validity ?? 0;
    summary.bugCatchRate = testRates(turnsOf(judged.filter(failsGiven))).bugCatchRate ?? 0;
  }
  return summary;
}

const passesAll = (verdicts: Verdict[]): number =>
  Number(verdicts.length > 0 && verdicts.every((verdict) => verdict === 'pass'));

const failsGiven = ({ suite, verdicts }: SuiteVerdicts): boolean =>
  suite.some(({ origin }, i) => origin === 'baseline' && verdicts[0]![i] !== 'pass');
