// Answers the inputs of generated tests: with the problem's reference, or else by a vote of the programs that were sampled for
// the problem.
import { groupBy } from '../../core/base/groups.js';
import { truthTests } from '../../core/comparison/compare.js';
import { type Ballot, takeVote, type Vote } from '../../core/rewards/agreement.js';
import { inputKey } from '../../core/rewards/suite.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { CallResult, ExecutionJob } from '../../core/schema/execution.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import type { VoteCounts } from '../../core/schema/verdicts.js';
import type { RunOptions, Sandbox } from '../../sandbox/sandbox.js';
import { timeOfTurns } from './rulings.js';

/** The inputs that were generated for a problem. */
export interface Asked {
  problem: Problem;
  turns: readonly { tests: readonly { args: Value[] }[] }[];
  programs: readonly string[]; // one per sample, '' if it has none
  votes: boolean; // whether the programs vote, because no reference answers
}

export interface Oracle {
  answer(problem: Problem, args: Value[]): CallResult;
  /** How the programs of a problem voted; undefined if they did not. */
  votes(problem: Problem): VoteCounts | undefined;
  executions: number;
}

/** Runs references, or all programs of a problem, on every distinct input. */
export async function askOracle(
  sandbox: Sandbox,
  config: RunConfig,
  asked: readonly Asked[],
  options: RunOptions,
): Promise<Oracle> {
  const questions = new Map([...groupBy(asked, ({ problem }) => problem.id)].map(([id, own]) => [id, questionOf(own)]));
  const open = [...questions.values()].filter(({ inputs }) => inputs.length > 0);
  const jobs = open.map((question) => jobsOf(question, config));
  const results = (await sandbox.run(jobs.flat(), options)).values();
  const calls = jobs.map((own) => own.map(() => results.next().value!.calls));
  const answers = new Map<Question, CallResult[]>();
  const counts = new Map<Question, VoteCounts>();
  for (const [q, question] of open.entries()) {
    if (!question.votes) answers.set(question, calls[q]![0]!);
    else {
      const { baselineTests, comparison } = question.problem;
      const vote = takeVote(ballotsOf(question, calls[q]!), baselineTests, comparison);
      const toCall = (value: Value | undefined): CallResult =>
        value === undefined ? NO_ANSWER : { kind: 'value', value };
      answers.set(question, vote.answers.map(toCall));
      counts.set(question, countsOf(vote));
    }
  }
  return {
    answer(problem, args) {
      const question = questions.get(problem.id)!;
      return answers.get(question)![question.places.get(inputKey(args))!]!;
    },
    votes(problem) {
      const question = questions.get(problem.id)!;
      return counts.get(question) ?? (question.votes ? NO_VOTES : undefined);
    },
    executions: jobs.flat().length,
  };
}

const NO_VOTES: VoteCounts = { inputs: 0, dropped: 0, agreement: 0, given: 0, wrong: 0 };
const NO_ANSWER: CallResult = { kind: 'error', message: 'the programs do not agree on an answer' };

interface Question {
  problem: Problem;
  votes: boolean;
  programs: readonly string[];
  inputs: Value[][];
  places: Map<string, number>; // input key → index in `inputs`
  turns: number;
}

function questionOf(asked: readonly Asked[]): Question {
  const { problem, votes } = asked[0]!;
  const turns = asked.flatMap((one) => one.turns).filter(({ tests }) => tests.length > 0);
  const inputs = new Map<string, Value[]>();
  for (const { args } of turns.flatMap(({ tests }) => tests))
    if (!inputs.has(inputKey(args))) inputs.set(inputKey(args), args);
  return {
    problem,
    votes,
    programs: asked.flatMap(({ programs }) => programs),
    inputs: [...inputs.values()],
    places: new Map([...inputs.keys()].map((key, i) => [key, i])),
    turns: turns.length,
  };
}

/** Jobs that run the reference on all inputs, or run each distinct program on the given tests and then on the inputs. */
function jobsOf({ problem, votes, programs, inputs, turns }: Question, { limits }: RunConfig): ExecutionJob[] {
  const { id, entry, calling, baselineTests: given, referenceSolution } = problem;
  const common = { entry, calling, limits: timeOfTurns(limits, turns) };
  if (!votes) return [{ ...common, id: `reference:${id}`, code: referenceSolution!, inputs }];
  const all = [...given.map(({ args }) => args), ...inputs];
  const job = { ...common, inputs: all, truth: truthTests(given) };
  return distinct(programs).map((code, p) => ({ ...job, id: `vote:${id}:${p}`, code }));
}

export const distinct = (programs: readonly string[]): string[] => [...new Set(programs)].filter((code) => code !== '');

function ballotsOf({ problem, programs, inputs }: Question, calls: readonly CallResult[][]): Ballot[] {
  const { length } = problem.baselineTests;
  const missing: CallResult = { kind: 'error', message: 'no program' };
  const callsOf = new Map(distinct(programs).map((code, p) => [code, calls[p]!]));
  return programs.map((code) => {
    const own = callsOf.get(code) ?? Array.from({ length: length + inputs.length }, () => missing);
    return { given: own.slice(0, length), inputs: own.slice(length) };
  });
}

function countsOf({ answers, agreement, given }: Vote): VoteCounts {
  return {
    inputs: answers.length,
    dropped: answers.filter((answer) => answer === undefined).length,
    agreement: agreement.reduce((sum, one) => sum + one, 0),
    given: given.votes,
    wrong: given.wrong,
  };
}
