// Finds tests that catch wrong programs which the given tests of a problem let pass. Wrong programs are mutants of the reference and
// the programs that the caller names; a program counts as wrong when a test catches it.
import { RandomStream } from '../../core/base/random.js';
import { judge as compare } from '../../core/comparison/compare.js';
import { constantsIn, dictionaryInputs } from '../../core/inputs/dictionaryInputs.js';
import { knownInputs, negated } from '../../core/inputs/freshInputs.js';
import { resembles } from '../../core/inputs/shape.js';
import { fewestTests, type GivenTest, givenTests, inputKey } from '../../core/rewards/suite.js';
import type { ExecutionJob, Limits } from '../../core/schema/execution.js';
import type { Problem, Rejected, TestCase } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import type { Hardened, HardenProblemsInput, HardenProblemsOutput } from '../../method/judge.js';
import { askProblems, isYes, type Question, sourceTestsOf } from '../../sandbox/judgeSuites.js';
import { mutantsOf } from '../../sandbox/mutants.js';
import type { RunOptions, Sandbox } from '../../sandbox/sandbox.js';
import { type InputSearch, searchInputs } from '../../sandbox/searchInputs.js';
import { readConfig } from '../artifacts.js';
import { examineProblems } from '../run/loadAnswered.js';
import { batchOptions, type Scope } from '../scope.js';
import { runPrograms } from './judging.js';
import { distinct } from './oracle.js';

const MUTANTS = 30; // the most mutants of a reference
const DRAWN = 60; // inputs by each of two ways: a search in the reference, and changes of known inputs
const MANY = 400; // changes of known inputs, if a given program is left
const SEARCHED = 8; // programs of a problem in which a search looks for a difference
const RUNS = 300; // of a search, so that a problem takes seconds
const OF_PROGRAM = 4; // inputs of such a search
const MOST_BYTES = 20_000; // of a test: suites with larger ones are slow

type Judge = Readonly<{ sandbox: Sandbox; limits: Limits; options: RunOptions }>;

/** A problem whose reference passes its given tests, and what is known about its wrong programs. */
interface Open {
  problem: Problem;
  given: GivenTest[];
  programs: string[]; // distinct, without the reference
  tried: string[]; // those that end on the given tests
  passed: string[]; // those that pass the given tests
  found: { test: TestCase; caught: Set<string> }[];
}

export async function hardenProblems(
  scope: Scope,
  { run, part, tests }: HardenProblemsInput,
): Promise<Omit<HardenProblemsOutput, 'seconds'>> {
  const config = await readConfig(scope.store, run);
  const tasks = await scope.store.getJson(part);
  const judge: Judge = {
    sandbox: await scope.deps.sandbox(config),
    limits: config.limits,
    options: batchOptions(scope),
  };
  const { sandbox, limits, options } = judge;
  const outcome = new Map<string, Open | Rejected>();
  for await (const { id, found } of examineProblems(
    scope,
    config,
    tasks.map(({ problem }) => problem),
  ))
    outcome.set(id, 'reason' in found ? { id, reason: found.reason } : openOf(found.problem));
  const open = [...outcome.values()].filter((one) => 'problem' in one);
  const problems = open.map(({ problem }) => problem);
  const sources = await sourceTestsOf(sandbox, problems, limits, options);
  const references = problems.map(({ referenceSolution }) => referenceSolution!);
  const mutants = await mutantsOf(sandbox, references, MUTANTS, options);
  const programsOf = new Map(tasks.map(({ problem, programs }) => [problem.id, programs]));
  for (const [i, one] of open.entries()) {
    const all = distinct([...programsOf.get(one.problem.id)!, ...mutants[i]!]);
    one.programs = all.filter((code) => code !== one.problem.referenceSolution);
    one.given = givenTests(one.problem, 'baseline', sources.get(one.problem.id));
  }
  let executions = 2 * open.length;
  const suites = open.map(({ given, ...one }) => ({ ...one, tests: given }));
  const first = await runPrograms(sandbox, limits, suites, options);
  for (const [i, one] of open.entries()) {
    const verdictsOf = (p: number) => first.runs[i]![p]!.verdicts;
    one.passed = one.programs.filter((_, p) => verdictsOf(p).every((verdict) => verdict === 'pass'));
    one.tried = one.programs.filter((_, p) => !verdictsOf(p).includes('timeout'));
  }
  executions += first.executions + (await tryInputs(judge, await drawn(judge, open)));
  executions += await tryInputs(judge, await differences(judge, open));
  const hard = open.filter((one) => leftOf(one).some((code) => programsOf.get(one.problem.id)!.includes(code)));
  executions += await tryInputs(judge, new Map(hard.map((one) => [one, changed(one, MANY)])));
  const hardened = tasks.map(({ problem: { id }, programs }) => {
    const one = outcome.get(id)!;
    return 'problem' in one ? conclude(one, programs, tests) : one;
  });
  return { hardened: await scope.store.putJson(hardened), executions };
}

const openOf = (problem: Problem): Open => ({ problem, given: [], programs: [], tried: [], passed: [], found: [] });

/** The programs that no test has caught yet. */
const leftOf = ({ passed, found }: Open): string[] =>
  passed.filter((code) => !found.some(({ caught }) => caught.has(code)));

/** Whether only the truth value of an answer counts, as in each of the given tests. */
const asksTruth = ({ baselineTests }: Problem): boolean =>
  baselineTests.length > 0 && baselineTests.every(({ truth }) => truth);

const canSearch = ({ problem }: Open): boolean => problem.calling === undefined;

/** The search for a difference between a program and the reference; without a program, for inputs that reach new conditions. */
const searchOf = ({ problem }: Open, program: string, count: number): InputSearch => {
  const { entry, referenceSolution: reference = '' } = problem;
  return { reference, program, entry, known: knownInputs(problem), count, seed: 0, runs: RUNS, grows: program === '' };
};

/** Inputs for each problem: large ones, those that reach new conditions of the reference, and known ones, negated or changed. */
async function drawn({ sandbox, options }: Judge, all: readonly Open[]): Promise<Map<Open, Value[][]>> {
  const open = all.filter(({ programs }) => programs.length > 0);
  const searched = open.filter(canSearch);
  const searches = searched.map((one) => searchOf(one, '', DRAWN));
  const found = await searchInputs(sandbox, searches, options);
  return new Map(
    open.map((one) => {
      const own = found[searched.indexOf(one)] ?? [];
      return [one, [...own, ...knownInputs(one.problem).map(negated), ...changed(one, DRAWN)]];
    }),
  );
}

function changed({ problem, passed }: Open, count: number): Value[][] {
  const { id, description, referenceSolution = '' } = problem;
  const constants = constantsIn(description, referenceSolution, ...passed);
  return dictionaryInputs(knownInputs(problem), constants, count, new RandomStream('harden', id));
}

/** Inputs by a search in some programs that are left. */
async function differences({ sandbox, options }: Judge, all: readonly Open[]): Promise<Map<Open, Value[][]>> {
  const pairs = all.filter(canSearch).flatMap((one) =>
    leftOf(one)
      .slice(0, SEARCHED)
      .map((code) => ({ one, code })),
  );
  const searches = pairs.map(({ one, code }) => searchOf(one, code, OF_PROGRAM));
  const found = await searchInputs(sandbox, searches, options);
  const inputs = new Map<Open, Value[][]>();
  for (const [p, { one }] of pairs.entries()) inputs.set(one, [...(inputs.get(one) ?? []), ...(found[p] ?? [])]);
  return inputs;
}

/** Runs the programs on inputs that are allowed and that the reference answers twice the same. */
async function tryInputs(judge: Judge, inputs: Map<Open, Value[][]>): Promise<number> {
  const open = [...inputs.keys()];
  const asked = open.map((one) => {
    const known = new Set(
      [...one.given, ...one.found.map(({ test }) => test)].map((test) => 'args' in test && inputKey(test.args)),
    );
    const { validator, hiddenTests } = one.problem;
    const isUsual = resembles([...knownInputs(one.problem), ...hiddenTests.map(({ args }) => args)]);
    const own = new Map(inputs.get(one)!.map((args) => [inputKey(args), args]));
    const isNew = (key: string): boolean => !known.has(key) && key.length <= MOST_BYTES;
    const fitting = [...own].filter(([key, args]) => isNew(key) && (validator !== undefined || isUsual(args)));
    return { problem: one.problem, inputs: fitting.map(([, args]) => args) };
  });
  const tests = await testsOf(judge, asked);
  const suites = open.map(({ problem, tried }, i) => ({ problem, programs: tried, tests: tests[i]! }));
  const { runs, executions } = await runPrograms(judge.sandbox, judge.limits, suites, judge.options);
  for (const [i, { tried, found }] of open.entries())
    for (const [t, test] of tests[i]!.entries())
      found.push({ test, caught: new Set(tried.filter((_, p) => runs[i]![p]!.verdicts[t] !== 'pass')) });
  return 2 * open.length + executions;
}

/** The tests with those inputs that the validator allows and that the reference answers twice the same. */
export async function testsOf(
  { sandbox, limits, options }: Judge,
  asked: readonly { problem: Problem; inputs: Value[][] }[],
): Promise<TestCase[][]> {
  const jobs = asked.flatMap(({ problem, inputs }) =>
    [1, 2].map((time): ExecutionJob => {
      const { id, entry, calling, referenceSolution: code = '' } = problem;
      const truth = asksTruth(problem) ? [...inputs.keys()] : undefined;
      return { id: `reference:${id}:${time}`, code, entry, calling, inputs, truth, limits };
    }),
  );
  const answers = (await sandbox.run(jobs, options)).map(({ calls }) => calls);
  const validators = asked.map(({ problem: { id, validator: code }, inputs }): Question => {
    return { id: `validator:${id}`, code, entry: 'validator', inputs, limits };
  });
  const allowed = await askProblems(sandbox, validators, options);
  return asked.map(({ problem, inputs }, i) =>
    inputs.flatMap((args, k): TestCase[] => {
      const [once, again] = [answers[2 * i]![k]!, answers[2 * i + 1]![k]!];
      if (once.kind !== 'value' || compare(again, once.value, 'strict') !== 'pass') return [];
      if (problem.validator !== undefined && !isYes(allowed[i]![k]!)) return [];
      const test: TestCase = { args, expected: once.value, ...(asksTruth(problem) && { truth: true }) };
      return JSON.stringify(once.value).length > MOST_BYTES ? [] : [test];
    }),
  );
}

/**
 * First the tests for given programs that pass the given tests, then for such mutants, then the largest input, on which slow programs
 * fail. The others catch each program once more, and then again.
 */
function conclude({ problem, programs, passed, found }: Open, given: readonly string[], most: number): Hardened {
  const cheating = passed.filter((code) => found.some(({ caught }) => caught.has(code)));
  const taken: Open['found'] = [];
  const uncaught = (codes: readonly string[]) => codes.filter((code) => !taken.some(({ caught }) => caught.has(code)));
  for (const codes of [cheating.filter((code) => given.includes(code)), cheating]) {
    const open = uncaught(codes);
    const tests = found.map((one) => ({ one, caught: new Set(open.filter((code) => one.caught.has(code))) }));
    taken.push(...fewestTests(tests, most - taken.length).map(({ one }) => one));
  }
  const left = uncaught(cheating);
  const size = (one: Open['found'][number]): number => inputKey(one.test.args).length;
  const [largest] = found.toSorted((a, b) => size(b) - size(a));
  if (largest && taken.length < most && !taken.includes(largest)) taken.push(largest);
  for (let round = 0; round < most; round++) {
    const rest = found.filter((one) => !taken.includes(one));
    taken.push(...fewestTests(rest, most - taken.length));
  }
  return {
    problem: { ...problem, baselineTests: [...problem.baselineTests, ...taken.map(({ test }) => test)] },
    added: taken.length,
    wrong: programs.length - passed.length + cheating.length,
    cheating,
    left: left.length,
  };
}
