// How well sampled programs are judged without a reference: `node dist/lab/experiments/noReference.js STORE RUN…`. For the latest
// evaluation of each run, programs are judged by given tests and by generated inputs, whose answers come from several sources.
// The truth is whether a program passes the hidden tests. Prints a table, with 95 % bootstrap intervals over the problems of all runs.

import { codeOf } from '../../chains/chainLists.js';
import { parseTests } from '../../chains/judge/judging.js';
import { drawVariants } from '../../chains/judge/variants.js';
import { equalValues, judge } from '../../core/compare.js';
import { compare, type Estimate, estimate } from '../../core/evaluation/bootstrap.js';
import { freshInputs, knownInputs } from '../../core/freshInputs.js';
import { groupBy } from '../../core/groups.js';
import { RandomStream } from '../../core/random.js';
import { type Ballot, takeVote } from '../../core/rewards/agreement.js';
import { inputKey } from '../../core/rewards/suite.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { CallResult } from '../../core/schema/execution.js';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openStore } from '../../store/openStore.js';
import { readEvaluations } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { openSandbox } from '../../workers/openSandbox.js';
import { table } from '../bench/results.js';

const FEW = 15; // random inputs of a problem
const MANY = 115; // as many as a hybrid has
const ROUNDS = 5; // of pass counts
const LABELLED = 10; // problems with a reference

/** The programs of a problem, and what they answer. */
interface Sampled {
  id: string; // of run and problem
  problem: Problem;
  right: boolean[]; // by program: passes the hidden tests
  ballots: Ballot[]; // on the baseline tests and the generated inputs
  reference: CallResult[]; // on the generated inputs
  written: (Value | undefined)[]; // what the discriminator expects of an input
}

/** By input: the answer that counts, if there is one. */
type Answers = (Value | undefined)[];

/** The answers of each problem. */
type Source = (all: readonly Sampled[]) => Answers[];

const each =
  (answer: (own: Sampled) => Answers): Source =>
  (all) =>
    all.map(answer);

const GIVEN = 'given tests only';
const MAJORITY = 'majority vote';
const WRITTEN = 'values of the discriminator';
const SOURCES: Record<string, Source> = {
  [GIVEN]: each(({ reference }) => reference.map(() => undefined)),
  [MAJORITY]: each((own) => majority(own).map(({ value }) => value)),
  'majority, ten labelled problems': labelledMajority,
  'pass counts': each(passCounts),
  'calibrated vote': each(
    ({ ballots, problem }) => takeVote(ballots, problem.baselineTests, problem.comparison).answers,
  ),
  [WRITTEN]: each(({ written }) => written),
  'the reference': each(({ reference }) => reference.map((call) => (call.kind === 'value' ? call.value : undefined))),
};

/** By input: the answer with the most weight, and its share of the weights. */
function majority(
  { problem, ballots, reference }: Sampled,
  weights = ballots.map(() => 1),
): { value: Value | undefined; share: number }[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return reference.map((_, i) => {
    const groups: { value: Value | undefined; weight: number }[] = [];
    for (const [p, { inputs }] of ballots.entries()) {
      const call = inputs[i]!;
      const value = call.kind === 'value' ? call.value : undefined;
      const known = groups.find(
        (one) =>
          one.value === value ||
          (!isAbsent(one.value) && !isAbsent(value) && equalValues(one.value, value, problem.comparison)),
      );
      if (known) known.weight += weights[p]!;
      else groups.push({ value, weight: weights[p]! });
    }
    const { value, weight } = groups.reduce((best, one) => (one.weight > best.weight ? one : best), {
      value: undefined as Value | undefined,
      weight: 0,
    });
    return { value, share: weight / total };
  });
}

/**
 * A majority counts if its share of the programs reaches a bar. The references of ten other problems choose the bar: most of their
 * programs are judged right with it. Of equal bars the highest counts, and above 1 no vote does.
 */
function labelledMajority(all: readonly Sampled[]): Answers[] {
  const votes = new Map(all.map((own) => [own, majority(own)]));
  const above = (own: Sampled, bar: number): Answers =>
    votes.get(own)!.map(({ value, share }) => (share >= bar ? value : undefined));
  const shuffled = new RandomStream('labelled problems').shuffle(all);
  const bars = new Map<Sampled, number>();
  for (let start = 0; start < shuffled.length; start += LABELLED) {
    const labelled = Array.from({ length: LABELLED }, (_, i) => shuffled[(start + LABELLED + i) % shuffled.length]!);
    const judgedRight = (bar: number): number =>
      labelled.reduce((sum, own) => sum + countsOf(own, above(own, bar)).judgedRight, 0);
    const programs = labelled[0]!.ballots.length;
    const steps = Array.from({ length: programs + 2 }, (_, k) => k / programs);
    const bar = steps.reduce((best, one) => (judgedRight(one) >= judgedRight(best) ? one : best));
    for (const own of shuffled.slice(start, start + LABELLED)) bars.set(own, bar);
  }
  return all.map((own) => above(own, bars.get(own)!));
}

const isAbsent = (value: Value | undefined): value is undefined => value === undefined;

/** Programs by the tests that they pass, tests by the programs that pass them, several times. */
function passCounts(own: Sampled): Answers {
  const { problem, ballots } = own;
  let weights = ballots.map(() => 1);
  let answers: Answers = [];
  for (let round = 0; round < ROUNDS; round++) {
    answers = majority(own, weights).map(({ value }) => value);
    weights = ballots.map((ballot) => {
      const given = problem.baselineTests.map(({ expected }, g) => passes(ballot.given[g]!, expected, problem));
      const generated = answers.flatMap((answer, i) =>
        isAbsent(answer) ? [] : [passes(ballot.inputs[i]!, answer, problem)],
      );
      return [...given, ...generated].filter(Boolean).length;
    });
  }
  return answers;
}

const passes = (call: CallResult, expected: Value, { comparison }: Problem): boolean =>
  judge(call, expected, comparison) === 'pass';

const KINDS = ['random', 'many random', 'written', 'hybrid'] as const; // hybrid: written, and changes of these
type Kind = (typeof KINDS)[number];

/** The evaluated programs, with inputs of a kind. */
async function sample(store: Store, sandbox: Sandbox, run: string, kind: Kind): Promise<Sampled[]> {
  const evaluations = await readEvaluations(store, run);
  const [, record] = evaluations.sort(([, a], [, b]) => a.at.localeCompare(b.at)).at(-1)!;
  const { artifacts } = record;
  const config = (await store.getJson(artifacts.config)) as RunConfig;
  const problems = await store.getJson(artifacts.problems);
  const byId = new Map([...problems.train, ...problems.validation, ...problems.test].map((one) => [one.id, one]));
  const chains = groupBy(await store.getJson(artifacts.chains), ({ problemId }) => problemId);
  const turns = artifacts.tests ? (await store.getJson(artifacts.tests)).turns : [];
  const sampled: Sampled[] = [];
  for (const { problemId, suite, verdicts } of await store.getJson(artifacts.verdicts)) {
    const problem = byId.get(problemId)!;
    const written = turns
      .filter((turn) => turn.problemId === problemId)
      .flatMap(({ text }) => parseTests(text, problem, config).tests);
    const codes = chains.get(problemId)!.map((chain) => codeOf(chain, problem, config));
    const drawn = (inputs: Value[][]) => inputs.map((args) => ({ args, expected: undefined }));
    const random = (count: number): Value[][] =>
      freshInputs(knownInputs(problem), count, new RandomStream('no reference', problemId));
    const tests: { args: Value[]; expected?: Value | undefined }[] = {
      random: () => drawn(random(FEW)),
      'many random': () => drawn(random(MANY)),
      written: () => written,
      hybrid: () => [...written, ...drawVariants({ ...problem, referenceSolution: undefined }, written, codes, 0)],
    }[kind]();
    const inputs = [...new Map(tests.map((test) => [inputKey(test.args), test])).values()];
    const given = problem.baselineTests.map(({ args }) => args);
    const { entry, calling, referenceSolution } = problem;
    const job = (code: string, id: string) => ({
      id,
      code,
      entry,
      calling,
      inputs: [...given, ...inputs.map(({ args }) => args)],
    });
    const distinct = [...new Set([referenceSolution!, ...codes])].filter((code) => code !== '');
    const results = await sandbox.run(distinct.map((code, i) => job(code, `${problemId}:${i}`)));
    const callsOf = (code: string): CallResult[] =>
      results[distinct.indexOf(code)]?.calls ??
      [...given, ...inputs].map((): CallResult => ({ kind: 'error', message: 'no program' }));
    sampled.push({
      id: `${run} ${problemId}`,
      problem,
      right: verdicts.map((own) => own.every((verdict, i) => suite[i]!.origin !== 'baseline' || verdict === 'pass')),
      ballots: codes.map((code) => {
        const calls = callsOf(code);
        return { given: calls.slice(0, given.length), inputs: calls.slice(given.length) };
      }),
      reference: callsOf(referenceSolution!).slice(given.length),
      written: inputs.map(({ expected }) => expected),
    });
  }
  return sampled;
}

/** What is counted of a problem. */
interface Counts {
  id: string;
  claimed: number; // programs that pass everything that counts
  right: number;
  both: number;
  judgedRight: number; // of the programs, claimed and right or neither
  best: number; // of the programs that pass most, those that are right
  tests: number; // that count
  correct: number; // of these, with the answer of the reference
}

function countsOf(own: Sampled, answers: Answers): Counts {
  const { problem, ballots, right, reference } = own;
  const known = answers.flatMap((answer, i) => (isAbsent(answer) ? [] : [{ answer, i }]));
  const passed = ballots.map(({ given, inputs }) => [
    ...problem.baselineTests.map(({ expected }, g) => passes(given[g]!, expected, problem)),
    ...known.map(({ answer, i }) => passes(inputs[i]!, answer, problem)),
  ]);
  const scores = passed.map((each) => each.filter(Boolean).length);
  const best = right.filter((_, p) => scores[p] === Math.max(...scores));
  const claimed = passed.map((each) => each.every(Boolean));
  const count = (list: readonly boolean[]): number => list.filter(Boolean).length;
  return {
    id: own.id,
    claimed: count(claimed),
    right: count(right),
    both: count(claimed.map((is, p) => is && right[p]!)),
    judgedRight: count(claimed.map((is, p) => is === right[p]!)),
    best: count(best) / best.length,
    tests: known.length,
    correct: count(known.map(({ answer, i }) => passes(reference[i]!, answer, problem))),
  };
}

type Figure = (problems: readonly Counts[]) => number | undefined;
const ratio =
  (part: keyof Omit<Counts, 'id'>, of?: keyof Omit<Counts, 'id'>): Figure =>
  (problems) => {
    const sum = (field: keyof Omit<Counts, 'id'>): number => problems.reduce((total, one) => total + one[field], 0);
    const whole = of === undefined ? problems.length : sum(of);
    return whole === 0 ? undefined : (100 * sum(part)) / whole;
  };
const FIGURES: Record<string, Figure> = {
  precision: ratio('both', 'claimed'),
  recall: ratio('both', 'right'),
  'best of the samples': ratio('best'),
};

const [place, ...runs] = process.argv.slice(2);
const store = await openStore(place);
const sandbox = await openSandbox('docker');
const interval = ({ value, low, high }: Estimate): string =>
  `${value.toFixed(1)} (${low.toFixed(1)} to ${high.toFixed(1)})`;
const rows: string[][] = [];
const controls = new Map<string, Counts[]>(); // by source, on random inputs
for (const kind of KINDS) {
  const all = (await Promise.all(runs.map((run) => sample(store, sandbox, run, kind)))).flat();
  for (const [name, source] of Object.entries(SOURCES)) {
    if (name === GIVEN ? kind !== 'random' : name === WRITTEN && kind !== 'written') continue;
    const answers = source(all);
    const counts = all.map((own, i) => countsOf(own, answers[i]!));
    if (kind === 'random') controls.set(name, counts);
    const control = controls.get(name);
    const figures = Object.values(FIGURES).map((figure) => {
      const known = estimate(counts, figure);
      return known ? interval(known) : '–';
    });
    const gains = ['precision', 'best of the samples'].map(
      (figure) => control && compare(control, counts, FIGURES[figure]!),
    );
    rows.push([
      name === GIVEN ? '–' : kind,
      name,
      ...figures,
      ...gains.map((gain) => (gain ? interval(gain) : '')),
      String(counts.reduce((sum, { tests }) => sum + tests, 0)),
      ratio('correct', 'tests')(counts)?.toFixed(1) ?? '–',
    ]);
  }
}
const gain = (of: string): string => `${of}, more than on random inputs`;
console.log(
  table(
    [
      'inputs',
      'answers from',
      ...Object.keys(FIGURES),
      gain('precision'),
      gain('best'),
      'tests that count',
      'right answers',
    ],
    rows,
  ),
);
await sandbox.close();
