// A readable view of solved problems: answers, tests with verdicts, and the rewards of both roles.
import { formatArguments, formatValue } from '../../core/parse/format.js';
import { programOutcome, turnOutcome } from '../../core/rewards/outcomes.js';
import { REWARD_RULES } from '../../core/rewards/rewards.js';
import { rewardOf } from '../../core/rewards/rule.js';
import type { SourceTest } from '../../core/rewards/suite.js';
import type { Chain, TestBatch } from '../../core/schema/chain.js';
import type { ChainView, ShownTest } from '../../core/schema/chainView.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { Verdict } from '../../core/schema/execution.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import type { SuiteVerdicts, ValidatedTest } from '../../core/schema/verdicts.js';
import { problemOf } from '../artifacts.js';
import { generatorTerms, isValid, judgeTurn } from '../train/computeRewards.js';

/** One view per chain, in the order of `chains`. Tests are shown with the chain that they were written for. */
export function chainViews(
  chains: Chain[],
  judged: readonly SuiteVerdicts[],
  byId: Map<string, Problem>,
  config: RunConfig,
  batch?: TestBatch,
): ChainView[] {
  const judgedOf = new Map(judged.map((one) => [one.problemId, one]));
  const rule = REWARD_RULES[config.reward.scheme];
  return chains.map((chain): ChainView => {
    const problem = problemOf(byId, chain.problemId);
    const own = judgedOf.get(chain.problemId)!;
    const candidate = own.candidates.findIndex(({ sample }) => sample === chain.sample);
    const verdicts = own.verdicts[candidate] ?? [];
    const shown = (test: ValidatedTest): ShownTest => shownTest(test, problem, verdicts);
    const turns = own.turns.filter(({ turn }) => batch?.turns[turn]?.chainSample === chain.sample);
    const judgedTurns = turns.map((turn) => judgeTurn(own, turn, candidate));
    const terms = {
      generator: generatorTerms(rule, own, candidate),
      discriminator: judgedTurns.map((turn) => rule.discriminatorTerms([turn])[0]!),
    };
    return {
      problemId: problem.id,
      description: problem.description,
      signature: problem.functionSignature,
      stages: chain.turns.map(({ stage, text }) => {
        const written = turns.filter(({ turn }) => batch!.turns[turn]!.stage === stage);
        return {
          stage,
          text,
          tests: written.flatMap(({ tests }) => tests.map(shown)),
          lost: written.reduce((sum, { lost }) => sum + lost, 0),
        };
      }),
      baseline: own.suite.flatMap(({ origin, test }, at) =>
        origin === 'baseline' ? [{ ...shownCall(problem.entry, test), valid: true, verdict: verdicts[at] }] : [],
      ),
      rewards: {
        generator: rewardOf(terms.generator),
        discriminator: terms.discriminator.map(rewardOf),
        scheme: config.reward.scheme,
        terms,
      },
      outcomes: {
        generator: programOutcome(own.candidates[candidate]!, verdicts),
        discriminator: judgedTurns.map(turnOutcome),
      },
    };
  });
}

/** A test as text: a call, or the name of a test of the source. */
export function shownCall(
  entry: string,
  test: ValidatedTest | TestCase | SourceTest,
): Pick<ShownTest, 'call' | 'expected'> {
  if ('source' in test) return { call: test.source, expected: 'pass' };
  const { args, expected } = test;
  return {
    call: `${entry}${formatArguments(args)}`,
    expected: expected === undefined ? 'illegal input' : formatValue(expected),
  };
}

/** A test as shown to people, with the program's verdict on it. @param verdicts the program's verdicts on the suite */
export const shownTest = (
  test: ValidatedTest,
  { entry }: Pick<Problem, 'entry'>,
  verdicts: readonly Verdict[],
): ShownTest => ({
  ...shownCall(entry, test),
  valid: isValid(test),
  verdict: test.suite === null ? undefined : verdicts[test.suite],
});
