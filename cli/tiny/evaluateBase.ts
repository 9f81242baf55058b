// Pass rates of a base model before reinforcement learning, for the model card: its chains and test turns, judged by
// hidden tests in the sandbox.
import { judge } from '../../core/compare.js';
import { extractCode } from '../../core/parse/code.js';
import { salvageTests } from '../../core/parse/salvage.js';
import { discriminatorPrompt, generatorContinuation, generatorOpening } from '../../core/prompts/prompts.js';
import { deriveKey, RandomStream } from '../../core/random.js';
import { STAGES, type Stage } from '../../core/schema/chain.js';
import type { CallResult } from '../../core/schema/execution.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import type { Engine } from '../../ml/engine/engine.js';
import type { Sandbox } from '../../sandbox/sandbox.js';

const MAX_STAGE_TOKENS = 96;
const MAX_TEST_TOKENS = 288;
const TESTS_PER_TURN = 2;
const REQUEST = { testsPerTurn: TESTS_PER_TURN, expected: 'model' } as const;

export interface BaseRates {
  problems: number;
  passRate: number; // sampled: passes every hidden test
  greedyPassRate: number;
  testValidity: number; // share of the requested tests
  bugCatchRate: number; // of the sampled programs that fail a hidden test, the share that a valid test of the turn fails
}

interface Answer {
  tokens: number[];
  endToken?: number; // absent: the answer was truncated
  text: string;
}

async function answers(
  engine: Engine,
  prompts: number[][],
  key: (row: number) => readonly [number, number],
  temperature: number,
  maxNewTokens: number,
): Promise<Answer[]> {
  const stopTokens = engine.info.eosTokens;
  const rows = prompts.map((prompt, row) => ({ prompt, key: key(row) }));
  const generated = await engine.generate(rows, { temperature, maxNewTokens, stopTokens });
  return generated.map(({ tokens, finished }) => ({
    tokens,
    ...(finished && { endToken: tokens.at(-1)! }),
    text: engine.decode(finished ? tokens.slice(0, -1) : tokens),
  }));
}

/** Five stage texts per problem. */
async function chains(engine: Engine, problems: Problem[], temperature: number): Promise<string[][]> {
  const chat = engine.chat();
  const sequences: number[][] = problems.map(() => []);
  const texts: string[][] = problems.map(() => []);
  let previous: Answer[] = [];
  for (const stage of STAGES) {
    for (const [i, problem] of problems.entries()) {
      const prompt =
        stage === 1
          ? chat.openingTokens(generatorOpening('tiny', problem))
          : chat.continuationTokens(generatorContinuation('tiny', problem, stage), previous[i]!.endToken);
      sequences[i]!.push(...prompt);
    }
    const key = (i: number): readonly [number, number] => deriveKey('base-evaluation', 'chain', problems[i]!.id, stage);
    previous = await answers(engine, sequences, key, temperature, MAX_STAGE_TOKENS);
    for (const [i, answer] of previous.entries()) {
      sequences[i]!.push(...answer.tokens);
      texts[i]!.push(answer.text);
    }
  }
  return texts;
}

const passesAll = (calls: CallResult[], tests: TestCase[]): boolean =>
  tests.every((test, i) => judge(calls[i]!, test.expected, 'strict') === 'pass');

async function run(sandbox: Sandbox, programs: { code: string; tests: TestCase[] }[]): Promise<CallResult[][]> {
  const jobs = programs.map(({ code, tests }, i) => ({
    id: `${i}`,
    code,
    entry: 'solve',
    inputs: tests.map((test) => test.args),
  }));
  return (await sandbox.run(jobs)).map((result) => result.calls);
}

const mean = (flags: boolean[]): number => flags.filter(Boolean).length / Math.max(1, flags.length);

/** Rates on `problems`: one sample per problem at `temperature`, and one greedy chain. */
export async function evaluateBase(
  engine: Engine,
  sandbox: Sandbox,
  problems: Problem[],
  temperature: number,
): Promise<BaseRates> {
  const passes = async (texts: string[][]): Promise<boolean[]> => {
    const programs = texts.map((stages, i) => ({
      code: extractCode(stages[4]!, 'tiny'),
      tests: problems[i]!.hiddenTests,
    }));
    const calls = await run(sandbox, programs);
    return programs.map(({ tests }, i) => passesAll(calls[i]!, tests));
  };
  const sampled = await chains(engine, problems, temperature);
  const correct = await passes(sampled);
  const greedy = await passes(await chains(engine, problems, 0));
  const { valid, catches } = await judgeTests(engine, sandbox, problems, sampled, temperature);
  const faulty = correct.map((flag) => !flag);
  return {
    problems: problems.length,
    passRate: mean(correct),
    greedyPassRate: mean(greedy),
    testValidity: valid / (TESTS_PER_TURN * problems.length),
    bugCatchRate: mean(catches.filter((_, i) => faulty[i])),
  };
}

/** One test turn per chain, at a random stage: the number of valid tests, and which chains fail a valid one. */
async function judgeTests(
  engine: Engine,
  sandbox: Sandbox,
  problems: Problem[],
  texts: string[][],
  temperature: number,
): Promise<{ valid: number; catches: boolean[] }> {
  const stages = problems.map(
    (problem): Stage => new RandomStream('base-evaluation', 'stage', problem.id).choice(STAGES),
  );
  const prompts = problems.map((problem, i) =>
    engine.chat().openingTokens(discriminatorPrompt('tiny', problem, stages[i]!, texts[i]![stages[i]! - 1]!, REQUEST)),
  );
  const key = (i: number): readonly [number, number] => deriveKey('base-evaluation', 'tests', problems[i]!.id);
  const turns = await answers(engine, prompts, key, temperature, MAX_TEST_TOKENS);
  const suites = turns.map(({ text }, i) => {
    const arity = problems[i]!.hiddenTests[0]!.args.length;
    return salvageTests(text, { entry: 'solve', arity, limit: TESTS_PER_TURN }).tests;
  });
  const judged = (code: (i: number) => string): Promise<CallResult[][]> =>
    run(
      sandbox,
      suites.map((tests, i) => ({ code: code(i), tests })),
    );
  const truth = await judged((i) => problems[i]!.referenceSolution);
  const verdicts = await judged((i) => extractCode(texts[i]![4]!, 'tiny'));
  let valid = 0;
  const catches = suites.map((tests, i) => {
    const passing = tests.filter((test, j) => judge(truth[i]![j]!, test.expected, 'strict') === 'pass');
    valid += passing.length;
    return passing.some((test) => judge(verdicts[i]![tests.indexOf(test)]!, test.expected, 'strict') !== 'pass');
  });
  return { valid, catches };
}
