// The example of a run: a chain of the best checkpoint, which the run recorded at its end.
import { STAGE_SPECS } from '../../core/prompts/stages.js';
import { countsOf, programReason, testReason } from '../../core/rewards/explain.js';
import type { ChainView } from '../../core/schema/chainView.js';
import type { ExampleView } from '../api.js';
import { shownTerm, writtenTest } from './rollouts.js';

/** @param by the checkpoint that wrote the chain */
export function exampleOf({ rewards, outcomes, ...chain }: ChainView, by?: string): ExampleView {
  let next = 0; // the rewards of tests are listed in the order of the stages; a stage without tests has none
  return {
    by,
    problemId: chain.problemId,
    description: chain.description,
    signature: chain.signature,
    stages: chain.stages.map(({ stage, text, tests, lost }) => {
      const at = tests.length + lost > 0 ? next++ : -1;
      return {
        stage,
        title: STAGE_SPECS[stage].title.toLowerCase(),
        text,
        tests: tests.map(writtenTest),
        lost,
        reward: rewards.discriminator[at],
        outcome: outcomes.discriminator[at],
        terms: rewards.terms?.discriminator[at]?.map((own) => shownTerm(own, testReason(own, countsOf(tests, lost)))),
      };
    }),
    given: chain.baseline.map(({ call, expected, verdict }) => ({ call, expected, verdict })),
    reward: rewards.generator,
    outcome: outcomes.generator,
    terms: rewards.terms?.generator.map((own) => shownTerm(own, programReason(own))),
  };
}
