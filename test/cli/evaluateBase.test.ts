// Counts the rates of a base model with a scripted engine and a sandbox that implements one problem family.
import assert from 'node:assert/strict';
import { evaluateBase } from '../../cli/tiny/evaluateBase.js';
import { type Content, type Message, textOf } from '../../core/prompts/prompts.js';
import { RandomStream } from '../../core/random.js';
import { STAGES } from '../../core/schema/chain.js';
import { tinyCorpus } from '../../data/tiny/corpusProblems.js';
import { allProblems, type Reading, type TinyProblem } from '../../data/tiny/family.js';
import { type Args, interpret } from '../../data/tiny/interpret.js';
import { toProblem } from '../../data/tiny/problems.js';
import { renderCode, renderDescription, renderStage } from '../../data/tiny/render.js';
import { renderTest } from '../../data/tiny/tests.js';
import { vocabularyOf } from '../../data/tiny/vocabulary.js';
import type { Engine } from '../../ml/engine/engine.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

const vocabulary = vocabularyOf(tinyCorpus());
const eos = vocabulary.idOf('<eos>');
const problems = allProblems()
  .filter(({ source, filter, reduce }) => source === 'list' && filter === 'even' && reduce === 'max')
  .slice(0, 6);

/** Every second sampled program lacks its guard; greedy ones are correct. A turn has one valid and one invalid test. */
function answer(text: string, temperature: number): string {
  const problem = problems.find((candidate) => text.includes(renderDescription(candidate)))!;
  if (text.startsWith('<disc>')) return `${renderTest(problem, [[]], 0)}\n${renderTest(problem, [[2]], 99)}`;
  const stage = [...STAGES].reverse().find((number) => text.includes(`<s${number}>`))!;
  const flawed = temperature > 0 && problems.indexOf(problem) % 2 === 1;
  return renderStage(stage === 5 ? { ...problem, noGuard: flawed } : problem, stage, new RandomStream('any'));
}

const engine = {
  info: { eosTokens: [eos] },
  chat: () => ({
    openingTokens: (messages: Message[]) => vocabulary.encode(messages.map(({ content }) => textOf(content)).join('')),
    continuationTokens: (content: Content) => vocabulary.encode(textOf(content)),
  }),
  decode: (tokens: number[]) => vocabulary.decode(tokens),
  generate: async (rows: { prompt: number[] }[], options: { temperature: number }) =>
    rows.map(({ prompt }) => ({
      tokens: [...vocabulary.encode(answer(vocabulary.decode(prompt), options.temperature)), eos],
      finished: true,
    })),
} as unknown as Engine;

function familySandbox(set: readonly TinyProblem[]): Sandbox {
  const programs = new Map<string, Reading>();
  for (const problem of set) {
    for (const reading of [problem, { ...problem, noGuard: true }]) programs.set(renderCode(reading), reading);
  }
  return {
    info: { kind: 'wasm', description: 'interpreter', boundary: false },
    runTests: async () => [],
    checkTypes: async () => [],
    run: async (jobs) =>
      jobs.map(({ id, code, inputs }) => ({
        id,
        ms: 0,
        calls: inputs.map((args) => {
          const outcome = interpret(programs.get(code)!, args as unknown as Args);
          return 'error' in outcome
            ? ({ kind: 'error', message: outcome.error } as const)
            : ({ kind: 'value', value: outcome.value } as const);
        }),
      })),
    close: async () => {},
  };
}

describe('evaluateBase', () => {
  it('counts solved problems, valid tests and the bugs that valid tests catch', async () => {
    const rates = await evaluateBase(engine, familySandbox(problems), problems.map(toProblem), 0.8);
    assert.deepEqual(rates, { problems: 6, passRate: 0.5, greedyPassRate: 1, testValidity: 0.5, bugCatchRate: 1 });
  });
});
