// Examples of the warm start: for the generator reference solutions, and reasoning if the problem has some; for the
// discriminator tests about the reference solution, whose expected values the reference computed on fresh inputs.
import { GauntletError } from '../../core/base/errors.js';
import { RandomStream } from '../../core/base/random.js';
import { type FreshTests, freshInputs, knownInputs } from '../../core/inputs/freshInputs.js';
import { stageAnswer, testAnswer } from '../../core/prompts/answers.js';
import { testRequest } from '../../core/prompts/prompts.js';
import { type TokenTurn, trainedRows } from '../../core/rl/trajectories.js';
import type { Stage } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { Problem, ProblemSet, TestCase } from '../../core/schema/problem.js';
import type { RunRef } from '../../core/schema/runRef.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import type {
  AnswerFreshInputsOutput,
  ScoreExamplesInput,
  ScoreExamplesOutput,
  WriteExamplesInput,
  WriteExamplesOutput,
} from '../../method/warmStart.js';
import type { Chat } from '../../ml/engine/engine.js';
import { askProblems, isYes } from '../../sandbox/judgeSuites.js';
import { openRole, readConfig, readProblems } from '../artifacts.js';
import { stagePrompt, testPrompt } from '../sample/sampling.js';
import { batchOptions, type Scope } from '../scope.js';

const STEP_PROBLEMS = 32;
const FRESH_TESTS = 16; // tests per problem
const VALIDATION_PROBLEMS = 16;

/** Runs the references of all problems that the discriminator may learn from. An input without a value makes no test. */
export async function answerFreshInputs(scope: Scope, { run }: { run: RunRef }): Promise<AnswerFreshInputsOutput> {
  const config = await readConfig(scope.store, run);
  const { set } = await readProblems(scope.store, run.problems);
  const steps = stepProblems(set, config).slice(0, config.warmStart.discriminatorSteps);
  const problems = [...new Set([...steps.flat(), ...validationProblems(set)])].filter(
    ({ referenceSolution }) => referenceSolution !== undefined,
  );
  const sandbox = await scope.deps.sandbox(config);
  const jobs = problems.map((problem) => {
    const { id, referenceSolution: code = '', entry, calling } = problem;
    const inputs = freshInputs(knownInputs(problem), FRESH_TESTS, new RandomStream(config.seed, 'fresh-inputs', id));
    return { id, code, entry, calling, inputs, limits: config.limits };
  });
  const results = await sandbox.run(jobs, batchOptions(scope));
  const allowed = await askProblems(
    sandbox,
    jobs.map(({ id, inputs, limits }, j) => ({ id, code: problems[j]!.validator, entry: 'validator', inputs, limits })),
    batchOptions(scope),
  );
  const tests: FreshTests = Object.fromEntries(
    jobs.map(({ id, inputs }, j) => {
      const calls = results[j]!.calls;
      const answered = inputs.flatMap((args, i): TestCase[] => {
        const call = calls[i]!;
        const isLegal = problems[j]!.validator === undefined || isYes(allowed[j]![i]!);
        return call.kind === 'value' && isLegal ? [{ args, expected: call.value }] : [];
      });
      return [id, answered];
    }),
  );
  return { tests: await scope.store.putJson(tests), executions: jobs.length };
}

/** The problems of each step. The train split is used up before a problem repeats. */
function stepProblems({ train }: ProblemSet, { warmStart, seed }: RunConfig): Problem[][] {
  const { discriminatorSteps, generatorSteps } = warmStart;
  const steps = Math.max(discriminatorSteps, generatorSteps);
  const order: Problem[] = [];
  for (let pass = 0; order.length < steps * STEP_PROBLEMS; pass++)
    order.push(...new RandomStream(seed, 'warm-start', 'problems', pass).shuffle(train));
  return Array.from({ length: steps }, (_, i) => order.slice(i * STEP_PROBLEMS, (i + 1) * STEP_PROBLEMS));
}

const validationProblems = ({ validation }: ProblemSet): Problem[] =>
  new RandomStream('warm-start', 'validation').sample(validation, VALIDATION_PROBLEMS);

/**
 * The examples of a step or of the validation split, as rows of training.
 * @throws GauntletError BAD_INPUT if a step has none
 */
export async function writeExamples(scope: Scope, input: WriteExamplesInput): Promise<WriteExamplesOutput> {
  const { run, role, step } = input;
  const { config, engine, chat } = await openRole(scope, run, role);
  const { set } = await readProblems(scope.store, run.problems);
  const problems = step === undefined ? validationProblems(set) : stepProblems(set, config)[step - 1]!;
  const tests = input.tests === undefined ? {} : await scope.store.getJson(input.tests);
  const turns = problems.flatMap((problem): TokenTurn[][] => {
    if (role === 'generator') return [generatorTurns(chat, config, problem)];
    const path = ['warm-start', 'tests', step ?? 'validation', problem.id];
    return discriminatorTurns(chat, config, problem, tests[problem.id] ?? [], new RandomStream(config.seed, ...path));
  });
  const rows = turns
    .flatMap((each) => trainedRows(each, each[0]!.stage, 'suffix'))
    .filter(({ tokens }) => tokens.length <= engine.info.contextLength)
    .map((row): Trajectory => ({ ...row, oldLogprobs: row.mask.map(() => 0), advantage: 1 }));
  if (rows.length === 0 && step !== undefined) {
    const what = role === 'generator' ? 'no solution' : 'no test with literal arguments';
    throw new GauntletError(
      'BAD_INPUT',
      `the problems of a step give the ${role} ${what} that it could learn: set warmStart.${role}Steps to 0`,
    );
  }
  return { examples: await scope.store.putJson(rows), rows: rows.length };
}

/** A chain of the stages whose answers the problem provides: all of them, or the code only. */
function generatorTurns(chat: Chat, config: RunConfig, problem: Problem): TokenTurn[] {
  const { prompts, stages } = config;
  const turns: TokenTurn[] = [];
  for (const stage of stages) {
    const answer = stageAnswer(prompts, problem, stage);
    if (answer === undefined) continue;
    turns.push(turnOf(chat, stage, stagePrompt(chat, config, problem, turns, stage, stages.length === 1), answer));
  }
  return turns;
}

/** Tests for one stage of the reference's work; none if the reference answered no fresh input. */
function discriminatorTurns(
  chat: Chat,
  config: RunConfig,
  problem: Problem,
  tests: readonly TestCase[],
  random: RandomStream,
): TokenTurn[][] {
  const { prompts, stages } = config;
  const known = stages.filter((stage) => stageAnswer(prompts, problem, stage) !== undefined);
  if (known.length === 0) return [];
  const stage: Stage = random.choice(known);
  const request = testRequest(config);
  const chosen = random.sample(tests, request.testsPerTurn);
  if (chosen.length === 0) return [];
  const text = stageAnswer(prompts, problem, stage)!;
  const asked = testPrompt(chat, config, problem, [{ stage, text }], stage);
  return [[turnOf(chat, stage, asked, testAnswer(prompts, request, problem.entry, chosen))]];
}

function turnOf(
  chat: Chat,
  stage: Stage,
  { prompt: promptTokens, begun = '' }: ReturnType<typeof stagePrompt>,
  answer: string,
): TokenTurn {
  const answerTokens = chat.answerTokens(answer.slice(begun.length));
  const thinking = chat.thinkingRange(promptTokens, answerTokens);
  return { stage, promptTokens, answerTokens, thinking };
}

/** The mean cross entropy of the answers; none if there is no example. */
export async function scoreExamples(scope: Scope, input: ScoreExamplesInput): Promise<ScoreExamplesOutput> {
  const rows = await scope.store.getJson(input.examples);
  const { engine, adapter } = await openRole(scope, input.run, input.role);
  const logprobs = await engine.logprobs(rows, {
    adapter: await adapter(input.adapter),
    temperature: 1,
    signal: scope.signal,
  });
  let [sum, tokens] = [0, 0];
  rows.forEach(({ mask }, r) => {
    mask.forEach((trained, t) => {
      sum -= trained * logprobs[r]![t]!;
      tokens += trained;
    });
  });
  return tokens === 0 ? {} : { loss: sum / tokens };
}
