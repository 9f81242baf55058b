// From test turns and candidates to sandbox jobs, and from what the sandbox answers to verdicts. Expected values stay
// here: the sandbox sees programs and inputs only.
import { judge as judgeCall } from '../core/compare.js';
import { extractCode } from '../core/parse/code.js';
import { salvageTests, unusableTests } from '../core/parse/salvage.js';
import { arityOf } from '../core/parse/signature.js';
import { assembleSuite, inputKey, type SuiteTest } from '../core/rewards/suite.js';
import type { Chain, TestTurn } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { CallResult, ExecutionJob, ExecutionResult, Limits, Verdict } from '../core/schema/execution.js';
import type { Problem, TestCase } from '../core/schema/problem.js';
import type { Value } from '../core/schema/value.js';
import type { SuiteVerdicts, ValidatedTurn } from './artifacts.js';

/** What is to be judged together: candidates and the test turns written for them. */
export interface JudgingTask {
  problem: Problem;
  candidates: Chain[];
  turns: { turn: number; sample: TestTurn }[];
  given: TestCase[]; // baseline or hidden tests, known ones of the pool
}

interface ReadTurn {
  turn: number;
  tests: TestCase[];
  lost: number;
}

export function codeOf(chain: Chain, problem: Problem, config: RunConfig): string {
  const last = chain.turns.find((turn) => turn.stage === 5);
  return last ? extractCode(last.text, config.prompts, problem.entry) : '';
}

const arities = new WeakMap<Problem, number | undefined>();

/** Of its function; a problem of a run is asked about again and again. */
function arityOfProblem(problem: Problem): number | undefined {
  if (!arities.has(problem)) arities.set(problem, arityOf(problem.functionSignature, problem.entry));
  return arities.get(problem);
}

export function readTurns({ problem, turns }: JudgingTask, config: RunConfig): ReadTurn[] {
  const arity = arityOfProblem(problem);
  const options = { entry: problem.entry, limit: config.testsPerTurn, ...(arity === undefined ? {} : { arity }) };
  return turns.map(({ turn, sample }) => {
    const salvage = salvageTests(sample.text, options);
    return { turn, tests: salvage.tests, lost: unusableTests(salvage, config.testsPerTurn) };
  });
}

/** The reference on every distinct generated input, one job a problem. */
export function referenceJobs(
  questions: JudgingTask[],
  read: ReadTurn[][],
  limits: Limits,
): { jobs: ExecutionJob[]; inputs: Map<string, Map<string, number>> } {
  const inputs = new Map<string, Map<string, number>>(); // problem → input key → place
  const jobs = new Map<string, ExecutionJob>();
  questions.forEach(({ problem }, q) => {
    for (const { tests } of read[q]!) {
      for (const { args } of tests) {
        const places = inputs.get(problem.id) ?? new Map<string, number>();
        inputs.set(problem.id, places);
        const key = inputKey(args);
        if (places.has(key)) continue;
        places.set(key, places.size);
        const job = jobs.get(problem.id) ?? {
          id: `reference:${problem.id}`,
          code: problem.referenceSolution,
          entry: problem.entry,
          calling: problem.calling,
          inputs: [],
          limits,
        };
        job.inputs.push(args);
        jobs.set(problem.id, job);
      }
    }
  });
  return { jobs: [...jobs.values()], inputs };
}

/** A generated test is valid where the reference gives the expected value; valid ones join the given tests. */
export function buildSuite(
  { problem, given }: JudgingTask,
  read: ReadTurn[],
  reference: (args: Value[]) => CallResult,
): { suite: SuiteTest[]; turns: ValidatedTurn[] } {
  const isValid = (test: TestCase): boolean =>
    judgeCall(reference(test.args), test.expected, problem.comparison) === 'pass';
  const judged = read.map(({ turn, tests, lost }) => ({
    turn,
    lost,
    tests: tests.map((test) => ({ test, valid: isValid(test) })),
  }));
  const valid = judged.flatMap(({ tests }) => tests.filter((t) => t.valid).map((t) => t.test));
  const suite = assembleSuite(given, valid, given.length + valid.length);
  const places = new Map(suite.map(({ test }, i) => [inputKey(test.args), i]));
  const turns = judged.map(
    ({ turn, lost, tests }): ValidatedTurn => ({
      turn,
      lost,
      tests: tests.map(({ test, valid }) => ({ ...test, suite: valid ? places.get(inputKey(test.args))! : null })),
    }),
  );
  return { suite, turns };
}

/** One job a candidate with code; several candidates with the same program share one. */
export function candidateJobs(
  questions: JudgingTask[],
  suites: SuiteTest[][],
  config: RunConfig,
): { jobs: ExecutionJob[]; jobOf: (q: number, c: number) => number | undefined } {
  const jobs: ExecutionJob[] = [];
  const places = new Map<string, number>();
  const jobOf: (number | undefined)[][] = questions.map(({ problem, candidates }, q) =>
    candidates.map((chain) => {
      const code = codeOf(chain, problem, config);
      const suite = suites[q]!;
      if (code === '' || suite.length === 0) return undefined;
      const key = `${q}:${code}`;
      const known = places.get(key);
      if (known !== undefined) return known;
      places.set(key, jobs.length);
      jobs.push({
        id: `${q}:${chain.sample}`,
        code,
        entry: problem.entry,
        calling: problem.calling,
        inputs: suite.map(({ test }) => test.args),
        limits: config.limits,
      });
      return jobs.length - 1;
    }),
  );
  return { jobs, jobOf: (q, c) => jobOf[q]![c] };
}

/** Verdicts of one candidate, one a test; no program, no pass. */
export function judge(problem: Problem, suite: SuiteTest[], result: ExecutionResult | undefined): Verdict[] {
  return suite.map(
    ({ test }, i): Verdict => (result ? judgeCall(result.calls[i]!, test.expected, problem.comparison) : 'error'),
  );
}

export function toSuiteVerdicts(
  question: JudgingTask,
  config: RunConfig,
  suite: SuiteTest[],
  turns: ValidatedTurn[],
  verdicts: Verdict[][],
): SuiteVerdicts {
  return {
    problemId: question.problem.id,
    candidates: question.candidates.map((chain) => ({
      sample: chain.sample,
      empty: codeOf(chain, question.problem, config) === '',
    })),
    suite,
    verdicts,
    turns,
  };
}
