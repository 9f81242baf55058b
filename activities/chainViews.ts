// A batch of solved problems as people read it: answers, tests with their verdicts, and the rewards of both roles.
import { formatArguments, formatValue } from '../core/parse/format.js';
import { REWARD_RULES } from '../core/rewards/rewards.js';
import type { ChainView, ShownTest } from '../core/schema/chainView.js';
import type { RunConfig } from '../core/schema/config.js';
import type { Problem } from '../core/schema/problem.js';
import type { Value } from '../core/schema/value.js';
import { type ChainList, problemOf, type SuiteVerdicts, type TestBatch } from './artifacts.js';
import { judgeTurn } from './computeRewards.js';

/** One view per chain, in the order of `chains`; tests are shown at the chain that they were written for. */
export function chainViews(
  chains: ChainList,
  cells: readonly SuiteVerdicts[],
  byId: Map<string, Problem>,
  config: RunConfig,
  batch?: TestBatch,
): ChainView[] {
  const cellOf = new Map(cells.map((cell) => [cell.problemId, cell]));
  const rule = REWARD_RULES[config.reward.scheme];
  return chains.map((chain): ChainView => {
    const problem = problemOf(byId, chain.problemId);
    const cell = cellOf.get(chain.problemId)!;
    const candidate = cell.candidates.findIndex(({ sample }) => sample === chain.sample);
    const verdicts = cell.verdicts[candidate] ?? [];
    const shown = (args: Value[], expected: Value, at: number | null): ShownTest => ({
      call: `${problem.entry}${formatArguments(args)}`,
      expected: formatValue(expected),
      valid: at !== null,
      ...(at === null || verdicts[at] === undefined ? {} : { verdict: verdicts[at] }),
    });
    const turns = cell.turns.filter(({ turn }) => batch?.turns[turn]?.chainSample === chain.sample);
    return {
      problemId: problem.id,
      description: problem.description,
      signature: problem.functionSignature,
      stages: chain.turns.map(({ stage, text }) => {
        const written = turns.filter(({ turn }) => batch!.turns[turn]!.stage === stage);
        return {
          stage,
          text,
          tests: written.flatMap(({ tests }) => tests.map((test) => shown(test.args, test.expected, test.suite))),
          lost: written.reduce((sum, { lost }) => sum + lost, 0),
        };
      }),
      baseline: cell.suite.flatMap(({ origin, test }, at) =>
        origin === 'baseline' ? [shown(test.args, test.expected, at)] : [],
      ),
      rewards: {
        generator: rule.generator(verdicts),
        discriminator: turns.map((turn) => rule.discriminator([judgeTurn(cell, turn, candidate)], config.reward)[0]!),
      },
    };
  });
}
