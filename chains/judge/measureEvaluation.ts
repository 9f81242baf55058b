// The result of `gauntlet evaluate`: one record per problem, and every metric. The command computes intervals from the records.
import { ATTEMPTS, METRIC_NAMES, METRICS, overlap } from '../../core/evaluation/metrics.js';
import { countPassed, passesAll } from '../../core/rewards/rule.js';
import type { Chain } from '../../core/schema/chain.js';
import type { ProblemResult } from '../../core/schema/evaluation.js';
import type { Verdict } from '../../core/schema/execution.js';
import type { SuiteVerdicts } from '../../core/schema/verdicts.js';
import type { MeasureEvaluationInput, MeasureEvaluationOutput } from '../../method/evaluate.js';
import { problemOf, readConfig, readProblems } from '../artifacts.js';
import { codeOf, groupByProblem } from '../chainLists.js';
import type { Scope } from '../scope.js';
import { isValid, judgedTurns } from '../train/computeRewards.js';

export async function measureEvaluation(scope: Scope, input: MeasureEvaluationInput): Promise<MeasureEvaluationOutput> {
  const { store } = scope;
  const [hidden, baseline, attacks] = await Promise.all([
    store.getJson(input.hidden),
    store.getJson(input.baseline),
    input.attacks ? store.getJson(input.attacks) : [],
  ]);
  const config = await readConfig(store, input.run);
  const { byId } = await readProblems(store, input.run.problems);
  const chains = groupByProblem(await store.getJson(input.chains));
  const byProblem = (judged: SuiteVerdicts[]) => new Map(judged.map((one) => [one.problemId, one]));
  const [baselineOf, attackOf] = [byProblem(baseline), byProblem(attacks)];
  const results = hidden.map((one): ProblemResult => {
    const own = chains.get(one.problemId)!;
    const problem = problemOf(byId, one.problemId);
    return {
      id: one.problemId,
      ...programsOf(one, baselineOf.get(one.problemId)!),
      programs: new Set(own.map((chain) => codeOf(chain, problem, config))).size,
      ...testsOf(one),
      attack: attackOn(attackOf.get(one.problemId)),
      ...coherenceOf(own),
    };
  });
  const metrics = METRIC_NAMES.flatMap((name) => {
    const value = METRICS[name](results);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { results: await store.putJson(results), metrics: Object.fromEntries(metrics) };
}

/** By program: the verdicts on the given tests of the suite, which are hidden or baseline tests. */
const onGivenTests = ({ suite, verdicts }: SuiteVerdicts): Verdict[][] =>
  verdicts.map((own) => own.filter((_, i) => suite[i]!.origin === 'baseline'));

/** The indices in the suite of the valid tests that the model wrote, in order. A written test may equal a given test. */
const validTests = ({ turns }: SuiteVerdicts): Set<number> =>
  new Set(turns.flatMap(({ tests }) => tests.flatMap((test) => (isValid(test) ? test.suite! : []))));

function programsOf(
  hidden: SuiteVerdicts,
  baseline: SuiteVerdicts,
): Pick<ProblemResult, 'samples' | 'solved' | 'baseline' | 'chosen'> {
  const solved = onGivenTests(hidden).map(passesAll);
  const valid = validTests(hidden);
  const votes = hidden.verdicts.map((own) => countPassed(own.filter((_, i) => valid.has(i))));
  const best = solved.filter((_, i) => votes[i] === Math.max(...votes)); // programs with equally many votes have equal chances
  return {
    samples: solved.length,
    solved: solved.filter(Boolean).length,
    baseline: onGivenTests(baseline).filter(passesAll).length,
    chosen: best.filter(Boolean).length / best.length,
  };
}

function testsOf(judged: SuiteVerdicts): Pick<ProblemResult, 'written' | 'valid' | 'inputs' | 'mutants' | 'killed'> {
  const turns = judgedTurns(judged);
  const tests = turns.flatMap((turn) => turn.tests);
  const { kills = [] } = judged.mutants ?? {};
  const first = [...validTests(judged)].slice(0, ATTEMPTS);
  return {
    written: tests.length + turns.reduce((sum, { lost }) => sum + lost, 0),
    valid: tests.filter(({ valid }) => valid).length,
    inputs: new Set(tests.map(({ inputs }) => inputs)).size,
    mutants: new Set(kills.flat()).size, // a mutant that no test kills may be equivalent to the reference
    killed: new Set(first.flatMap((i) => kills[i] ?? [])).size,
  };
}

/** Whether a valid written test catches the base model's program. Returns 'none' if it passes every hidden test. */
function attackOn(judged: SuiteVerdicts | undefined): ProblemResult['attack'] {
  if (!judged || onGivenTests(judged)[0]!.every((verdict) => verdict === 'pass')) return 'none';
  return judgedTurns(judged).some(({ tests }) => tests.some(({ valid, caught }) => valid && caught))
    ? 'caught'
    : 'missed';
}

function coherenceOf(chains: readonly Chain[]): Pick<ProblemResult, 'coherence' | 'transitions'> {
  const pairs = chains.flatMap(({ turns }) =>
    turns.flatMap(({ text }, i) => (i === 0 ? [] : [overlap(turns[i - 1]!.text, text)])),
  );
  return { coherence: pairs.reduce((sum, one) => sum + one, 0), transitions: pairs.length };
}
