// Runs programs in the sandbox and judges them. No process that holds a program receives an expected value or a test.
import { nameOf } from '../../core/parse/asserts.js';
import { salvageInputs } from '../../core/parse/inputs.js';
import { type RejectedTest, salvageTests, unusableTests } from '../../core/parse/salvage.js';
import { fixedArity, parseSignature, type Signature } from '../../core/parse/signature.js';
import { REWARD_RULES } from '../../core/rewards/rewards.js';
import { assembleSuite, type GivenTest, givenTests, type SuiteTest, testKey } from '../../core/rewards/suite.js';
import type { Chain, TestTurn } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { Limits, Verdict } from '../../core/schema/execution.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import type { SuiteVerdicts, ValidatedTest, ValidatedTurn } from '../../core/schema/verdicts.js';
import { judgeSuites, type SuiteJob, type SuiteRun, sourceTestsOf } from '../../sandbox/judgeSuites.js';
import type { RunOptions, Sandbox } from '../../sandbox/sandbox.js';
import { codeOf } from '../chainLists.js';
import { batchOptions, type Scope } from '../scope.js';
import { askOracle, distinct } from './oracle.js';
import { type ParsedTest, ruleTests } from './rulings.js';

/** Candidates that share a suite, and the test turns written for them. */
export interface JudgingTask {
  problem: Problem;
  candidates: Chain[];
  voters?: Chain[]; // the chains whose programs vote on answers; default: the candidates
  turns: { turn: number; sample: TestTurn }[];
  suite: 'baseline' | 'hidden'; // which tests of the problem the suite begins with
  pool?: TestCase[]; // tests of earlier steps, which follow in the suite
  book?: TestCase[]; // tests of the mistake book
}

interface ParsedTurn {
  turn: number;
  tests: ParsedTest[];
  lost: number;
}

/**
 * References or votes answer generated inputs, and references run on test source. Validators and checkers judge the results.
 * Then the candidates run on their suites.
 */
export async function judgeTasks(
  scope: Scope,
  config: RunConfig,
  tasks: JudgingTask[],
): Promise<{ judged: SuiteVerdicts[]; executions: number }> {
  const sandbox = await scope.deps.sandbox(config);
  const options = batchOptions(scope);
  const parsed = tasks.map(({ problem, turns }) =>
    turns.map(({ turn, sample }): ParsedTurn => ({ turn, ...parseTests(sample.text, problem, config) })),
  );
  const programsOf = ({ problem }: JudgingTask, chains: Chain[]) =>
    chains.map((chain) => codeOf(chain, problem, config));
  const candidates = tasks.map((task) => programsOf(task, task.candidates));
  const written = tasks.map((task, t) => ({
    problem: task.problem,
    turns: parsed[t]!,
    votes: isVotedOn(task.problem, task.suite, config),
    programs: task.voters ? programsOf(task, task.voters) : candidates[t]!,
  }));
  const oracle = await askOracle(sandbox, config, written, options);
  const rulingOf = await ruleTests(sandbox, config.limits, written, oracle.answer, options);
  const problems = tasks.map(({ problem }) => problem);
  const sources = await sourceTestsOf(sandbox, problems, config.limits, options);
  const { corrects = false } = REWARD_RULES[config.reward.scheme];
  const built = tasks.map((task, t) => {
    const given = [...givenTests(task.problem, task.suite, sources.get(task.problem.id)), ...(task.pool ?? [])];
    const use = (test: ParsedTest): UsableTest | undefined => {
      const ruling = rulingOf(task.problem, test);
      if (!ruling || !(ruling.isRight || corrects)) return undefined;
      // the answer of the reference is expected, which may be a float where the test has an int
      return { args: test.args, expected: ruling.answer, ...(!ruling.isRight && { corrected: true }) };
    };
    return buildSuite(given, task.book, parsed[t]!, use);
  });
  const all = tasks.map(({ problem }, t) => {
    return { problem, programs: candidates[t]!, tests: built[t]!.suite.map(({ test }) => test) };
  });
  const { runs, executions } = await runPrograms(sandbox, config.limits, all, options);
  const judged = tasks.map((task, t): SuiteVerdicts => {
    const { suite, turns } = built[t]!;
    const votes = oracle.votes(task.problem);
    return {
      problemId: task.problem.id,
      candidates: task.candidates.map((chain, c) => ({
        sample: chain.sample,
        empty: candidates[t]![c] === '',
        ...(!runs[t]![c]!.parses && { unparsed: true }),
      })),
      suite,
      verdicts: runs[t]!.map(({ verdicts }) => verdicts),
      turns,
      ...(votes && { votes }),
    };
  });
  return { judged, executions: oracle.executions + sources.size + executions };
}

type Called = Pick<Problem, 'functionSignature' | 'entry' | 'calling'>;
const signatures = new WeakMap<Called, Signature | undefined>(); // a run parses the tests of a problem many times

function signatureOf(problem: Called): Signature | undefined {
  if (!signatures.has(problem))
    signatures.set(problem, parseSignature(problem.functionSignature, nameOf(problem.entry)));
  return signatures.get(problem);
}

/** The tests in an answer of the discriminator, and how many are lost. */
export function parseTests(text: string, problem: Called, config: RunConfig): { tests: ParsedTest[]; lost: number } {
  const read = readTests(text, problem, config);
  return { tests: read.tests, lost: unusableTests(read, config.testsPerTurn) };
}

/** The tests in an answer of the discriminator, and why others cannot be read. */
export function readTests(
  text: string,
  problem: Called,
  config: RunConfig,
): { tests: ParsedTest[]; rejected: Pick<RejectedTest, 'reason'>[] } {
  const { testsPerTurn, discriminator, prompts } = config;
  const style = problem.calling?.style ?? 'call';
  const signature = style === 'call' ? signatureOf(problem) : undefined; // others do not pass arguments to a function
  const arity = style === 'call' ? signature && fixedArity(signature) : style === 'stdio' ? 1 : 2;
  const options = { entry: problem.entry, limit: testsPerTurn, signature, arity };
  if (discriminator.expected === 'reference' && prompts !== 'tiny') {
    const { inputs, rejected } = salvageInputs(text, options);
    return { tests: inputs.map((args) => ({ args })), rejected };
  }
  const salvage = salvageTests(text, options);
  // the shipped model always writes whole tests
  if (discriminator.expected === 'model') return salvage;
  return { tests: salvage.tests.map(({ args }) => ({ args })), rejected: salvage.rejected };
}

/** Measurements use the reference if the problem has one. Rewards use it only if the run allows it. */
const isVotedOn = (problem: Problem, suite: JudgingTask['suite'], { reference }: RunConfig): boolean =>
  problem.referenceSolution === undefined || (reference === 'none' && suite === 'baseline');

type UsableTest = Required<Pick<ValidatedTest, 'args' | 'expected'>> & Pick<ValidatedTest, 'corrected'>;

/**
 * Valid tests join the given tests, and so do corrected ones if the reward scheme corrects tests.
 * @param use returns a valid or corrected test; undefined if the test cannot be used
 */
function buildSuite(
  given: readonly GivenTest[],
  book: readonly TestCase[] | undefined,
  parsed: ParsedTurn[],
  use: (test: ParsedTest) => UsableTest | undefined,
): { suite: SuiteTest[]; turns: ValidatedTurn[] } {
  const usable = new Map<ParsedTest, UsableTest>();
  for (const test of parsed.flatMap(({ tests }) => tests)) {
    const used = use(test);
    if (used) usable.set(test, used);
  }
  const generated = [...usable.values()].map(({ args, expected }): TestCase => ({ args, expected }));
  const suite = assembleSuite(given, generated, book);
  const positions = new Map(suite.map(({ test }, i) => [testKey(test), i]));
  const turns = parsed.map(
    (own): ValidatedTurn => ({
      ...own,
      tests: own.tests.map((test) => {
        const known = usable.get(test);
        return known ? { ...known, suite: positions.get(testKey(known))! } : { ...test, suite: null };
      }),
    }),
  );
  return { suite, turns };
}

/** Programs of a problem ('' for a missing program), and the tests that judge these programs. */
interface ProgramSuite {
  problem: Problem;
  programs: readonly string[];
  tests: readonly GivenTest[];
}
type ProgramRun = SuiteRun;

/** Runs every distinct program of a suite once. A missing program passes nothing. @returns runs by suite and program */
export async function runPrograms(
  sandbox: Sandbox,
  limits: Limits,
  suites: readonly ProgramSuite[],
  options: RunOptions,
): Promise<{ runs: ProgramRun[][]; executions: number }> {
  const jobs = suites.map(({ problem, programs, tests }, s) => {
    const codes = tests.length === 0 ? [] : distinct(programs);
    return codes.map((code, p): SuiteJob => ({ id: `${s}:${p}`, code, problem, tests, limits }));
  });
  const results = (await judgeSuites(sandbox, jobs.flat(), options)).values();
  const runs = suites.map(({ programs, tests }, s) => {
    const runOf = new Map(jobs[s]!.map(({ code }) => [code, results.next().value!]));
    const none: ProgramRun = { verdicts: tests.map((): Verdict => 'error'), parses: true };
    return programs.map((code) => runOf.get(code) ?? none);
  });
  return { runs, executions: jobs.flat().length };
}
