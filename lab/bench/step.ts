// Makes a training step from real text: the prompts of chains with five stages, and of the discriminator, as tokens. Answers
// are greedy, so that every contender writes the same ones. From stage 2 on, the number of the chain in the prompt makes the
// chains of one problem different.

import { RandomStream } from '../../core/base/random.js';
import { PROMPTS, textOf } from '../../core/prompts/prompts.js';
import { STAGES } from '../../core/schema/chain.js';
import { loadProblems } from '../../data/problems.js';
import { EngineFiles } from '../../ml/engine/engineFiles.js';
import { describeModel } from '../../ml/hf/model.js';
import type { StepWork } from './cases.js';

export interface StepJob {
  kind: 'step';
  openings: number[][]; // has one entry per chain
  /** The tokens after an answer, by later stage and chain. They depend on whether the answer ended or was truncated. */
  continuations: { ended: number[]; truncated: number[] }[][];
  tests: number[][]; // the discriminator's prompts, each about a fixed text of a stage
  newTokens: number;
  testTokens: number;
  endTokens: number[];
  advantages: number[]; // has one entry per chain
}

const { train: PROBLEMS } = await loadProblems('steps');
const STAGE_TEXT =
  'Read the values from left to right, keep what the statement asks for, and return it in the same order.';

export function makeStep(work: StepWork, model: string, id: string, round: number): StepJob {
  const random = new RandomStream('bench', id, round);
  const description = describeModel(model);
  const chat = new EngineFiles(description).chat();
  const problems = random.sample(PROBLEMS, work.problems);
  const [endToken] = description.eosTokens;
  const continuation = (stage: (typeof STAGES)[number], sample: number) => {
    const content = `${textOf(PROMPTS.instruct.continuation(problems[0]!, stage))}\nThis is attempt ${sample + 1}.`;
    return { ended: chat.continuationTokens(content, endToken), truncated: chat.continuationTokens(content) };
  };
  const samples = Array.from({ length: work.samples }, (_, sample) => sample);
  const request = { testsPerTurn: 3, expected: 'reference' } as const;
  return {
    kind: 'step',
    openings: problems.flatMap((problem) => {
      const opening = chat.openingTokens(PROMPTS.instruct.opening(problem));
      return samples.map(() => opening);
    }),
    continuations: STAGES.slice(1).map((stage) => {
      const one = samples.map((sample) => continuation(stage, sample));
      return problems.flatMap(() => one);
    }),
    tests: problems.flatMap((problem) =>
      STAGES.map((stage) => chat.openingTokens(PROMPTS.instruct.discriminator(problem, stage, STAGE_TEXT, request))),
    ),
    newTokens: work.newTokens,
    testTokens: work.testTokens,
    endTokens: description.eosTokens,
    advantages: Array.from({ length: work.problems * work.samples }, () => random.normal()),
  };
}
