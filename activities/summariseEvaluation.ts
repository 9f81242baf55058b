// Rates of a policy from verdicts: a problem passes if its program passes every hidden test; a bug is caught if a valid
// test of the turn fails a program that fails a hidden test.
import { countTests, exposedShare, testRates, typeCheckRate } from '../core/rewards/counts.js';
import { passShare } from '../core/rewards/rewards.js';
import type { Verdict } from '../core/schema/execution.js';
import type { SuiteVerdicts } from './artifacts.js';
import { judgeTurn } from './computeRewards.js';
import { mean } from './executeSuite.js';
import type { Scope } from './scope.js';
import type { EvaluationSummary, SummariseEvaluationInput } from './types.js';

export async function summariseEvaluation(scope: Scope, input: SummariseEvaluationInput): Promise<EvaluationSummary> {
  const read = (digest: string): Promise<SuiteVerdicts[]> => scope.store.getJson<SuiteVerdicts[]>(digest);
  const summary: EvaluationSummary = {};
  if (input.sampled) {
    const cells = await read(input.sampled);
    const programs = cells.flatMap((cell) => cell.verdicts);
    const typed = typeCheckRate(cells.flatMap((cell) => cell.types ?? []));
    if (typed !== undefined) summary.typeCheckRate = typed;
    summary.passRate = mean(programs.map(passesAll));
    summary.reward = mean(programs.map((verdicts) => (verdicts.length === 0 ? 0 : passShare(verdicts)))) - 0.5;
  }
  if (input.greedy)
    summary.greedyPassRate = mean((await read(input.greedy)).flatMap((cell) => cell.verdicts.map(passesAll)));
  if (input.tests) {
    const cells = await read(input.tests);
    const judged = cells.flatMap((cell) =>
      cell.turns.map((turn) => ({ turn: judgeTurn(cell, turn), faulty: failsGiven(cell) })),
    );
    summary.testValidity = testRates(countTests(judged.map(({ turn }) => turn))).validity ?? 0;
    summary.bugCatchRate = exposedShare(judged) ?? 0;
  }
  return summary;
}

const passesAll = (verdicts: Verdict[]): number =>
  Number(verdicts.length > 0 && verdicts.every((verdict) => verdict === 'pass'));

const failsGiven = (cell: SuiteVerdicts): boolean =>
  cell.suite.some(({ origin }, i) => origin === 'baseline' && cell.verdicts[0]![i] !== 'pass');
