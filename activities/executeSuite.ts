// Validates generated tests against the reference, then runs every candidate on its suite in the sandbox.
import { inputKey } from '../core/rewards/suite.js';
import type { Chain } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { Problem, TestCase } from '../core/schema/problem.js';
import {
  type ChainList,
  problemOf,
  readConfig,
  readProblems,
  type SuiteVerdicts,
  type TestBatch,
} from './artifacts.js';
import { chainReader } from './generateTests.js';
import type { Scope } from './scope.js';
import {
  buildSuite,
  candidateJobs,
  codeOf,
  type JudgingTask,
  judge,
  readTurns,
  referenceJobs,
  toSuiteVerdicts,
} from './suites.js';
import type { ExecuteSuiteInput, ExecuteSuiteOutput } from './types.js';

export async function executeSuite(scope: Scope, input: ExecuteSuiteInput): Promise<ExecuteSuiteOutput> {
  const config = await readConfig(scope.store, input.run);
  const { byId } = await readProblems(scope.store, input.run.problems);
  const questions = await readQuestions(scope, input, byId);
  // the chains of targets were written, and checked, before
  const isChecked = config.typeCheck.enabled && input.per === 'problem';
  if (isChecked) await (await scope.deps.sandbox(config)).checkTypes([]); // refused before anything is run
  const judged = await runQuestions(scope, config, questions);
  const { executions } = judged;
  const cells = isChecked ? await withTypes(scope, config, questions, judged.cells) : judged.cells;
  return { verdicts: await scope.store.putJson(cells), executions, ...summarise(cells) };
}

const HEARTBEAT_MS = 1000; // while types are checked

interface Judged {
  cells: SuiteVerdicts[];
  executions: number; // programs run
}

/** Two passes through the sandbox: references on generated inputs, then candidates on the suites. */
export async function runQuestions(scope: Scope, config: RunConfig, questions: JudgingTask[]): Promise<Judged> {
  const sandbox = await scope.deps.sandbox(config);
  const options = { signal: scope.signal, onProgress: (done: number) => scope.heartbeat({ done }) };
  const read = questions.map((question) => readTurns(question, config));
  const references = referenceJobs(questions, read, config.limits);
  const answers = references.jobs.length > 0 ? await sandbox.run(references.jobs, options) : [];
  const answerOf = new Map(references.jobs.map((job, i) => [job.id, answers[i]!]));
  const built = questions.map((question, q) =>
    buildSuite(question, read[q]!, (args) => {
      const place = references.inputs.get(question.problem.id)!.get(inputKey(args))!;
      return answerOf.get(`reference:${question.problem.id}`)!.calls[place]!;
    }),
  );
  const suites = built.map(({ suite }) => suite);
  const { jobs, jobOf } = candidateJobs(questions, suites, config);
  const results = jobs.length > 0 ? await sandbox.run(jobs, options) : [];
  const cells = questions.map((question, q) => {
    const verdicts = question.candidates.map((_, c) => {
      const job = jobOf(q, c);
      return judge(question.problem, suites[q]!, job === undefined ? undefined : results[job]);
    });
    return toSuiteVerdicts(question, config, suites[q]!, built[q]!.turns, verdicts);
  });
  return { cells, executions: references.jobs.length + jobs.length };
}

/** The cells with the types of their candidates. Each distinct program is checked once. */
async function withTypes(
  scope: Scope,
  config: RunConfig,
  questions: JudgingTask[],
  cells: SuiteVerdicts[],
): Promise<SuiteVerdicts[]> {
  const sandbox = await scope.deps.sandbox(config);
  const codes = questions.map(({ problem, candidates }) => candidates.map((chain) => codeOf(chain, problem, config)));
  const distinct = [...new Set(codes.flat())].filter((code) => code !== '');
  const beat = setInterval(() => scope.heartbeat(), HEARTBEAT_MS);
  try {
    const jobs = distinct.map((code, i) => ({ id: String(i), code }));
    const reports = jobs.length > 0 ? await sandbox.checkTypes(jobs, { signal: scope.signal }) : [];
    const verdictOf = new Map(distinct.map((code, i) => [code, reports[i]!.verdict]));
    return cells.map((cell, q) => ({ ...cell, types: codes[q]!.map((code) => verdictOf.get(code) ?? 'unparsed') }));
  } finally {
    clearInterval(beat);
  }
}

async function readQuestions(
  scope: Scope,
  input: ExecuteSuiteInput,
  byId: Map<string, Problem>,
): Promise<JudgingTask[]> {
  const batch = input.tests ? await scope.store.getJson<TestBatch>(input.tests) : undefined;
  if (input.per === 'target') {
    if (!batch) throw new TypeError("executeSuite per 'target' needs tests");
    const chainOf = await chainReader(scope, batch.targets);
    return batch.targets.map((target, t) => {
      const problem = problemOf(byId, target.problemId);
      const turns = Array.from({ length: batch.samples }, (_, g) => t * batch.samples + g);
      return {
        problem,
        candidates: [chainOf(target)],
        turns: turns.map((turn) => ({ turn, sample: batch.turns[turn]! })),
        given: givenTests(problem, input.suite),
      };
    });
  }
  if (!input.chains) throw new TypeError("executeSuite per 'problem' needs chains");
  const groups = groupByProblem(await scope.store.getJson<ChainList>(input.chains));
  return [...groups].map(([problemId, candidates]) => {
    const problem = problemOf(byId, problemId);
    const turns = (batch?.turns ?? []).flatMap((sample, turn) =>
      sample.problemId === problemId ? [{ turn, sample }] : [],
    );
    return { problem, candidates, turns, given: givenTests(problem, input.suite) };
  });
}

/** Hidden tests are for evaluation only; a problem without any is judged on its baseline tests. */
function givenTests(problem: Problem, suite: 'baseline' | 'hidden'): TestCase[] {
  return suite === 'hidden' && problem.hiddenTests.length > 0 ? problem.hiddenTests : problem.baselineTests;
}

/** In order of first appearance, which is the order of the batch. */
export function groupByProblem(chains: Chain[]): Map<string, Chain[]> {
  const groups = new Map<string, Chain[]>();
  for (const chain of chains) groups.set(chain.problemId, [...(groups.get(chain.problemId) ?? []), chain]);
  return groups;
}

function summarise(cells: SuiteVerdicts[]): Omit<ExecuteSuiteOutput, 'verdicts' | 'executions'> {
  const programs = cells.flatMap((cell) => cell.verdicts);
  const judged = cells.flatMap((cell) => cell.turns);
  const tests = judged.flatMap((turn) => turn.tests);
  const share = programs.map((verdicts) => verdicts.filter((v) => v === 'pass').length / Math.max(verdicts.length, 1));
  return {
    programs: programs.length,
    allPass: programs.filter((verdicts) => verdicts.length > 0 && verdicts.every((v) => v === 'pass')).length,
    passRate: mean(share),
    tests: tests.length + judged.reduce((sum, turn) => sum + turn.lost, 0),
    validTests: tests.filter((test) => test.suite !== null).length,
    suiteSize: mean(cells.map((cell) => cell.suite.length)),
  };
}

export const mean = (values: number[]): number =>
  values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length;
