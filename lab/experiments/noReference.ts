// How well sampled programs are judged without a reference: `node dist/lab/experiments/noReference.js STORE RUN…`. For the latest
// evaluation of each run, programs are judged by given tests and by generated inputs, whose answers come from several sources.
// The truth is whether a program passes the hidden tests. Prints a table.

import { codeOf } from '../../chains/chainLists.js';
import { parseTests } from '../../chains/judge/judging.js';
import { equalValues, judge } from '../../core/compare.js';
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

const RANDOM_INPUTS = 15; // of a problem
const ROUNDS = 5; // of pass counts

/** The programs of a problem, and what they answer. */
interface Sampled {
  problem: Problem;
  right: boolean[]; // by program: passes the hidden tests
  ballots: Ballot[]; // on the baseline tests and the generated inputs
  reference: CallResult[]; // on the generated inputs
  written: (Value | undefined)[]; // what the discriminator expects of an input
}

/** The answers that count, by input. */
type Source = (sampled: Sampled) => (Value | undefined)[];

const SOURCES: Record<string, Source> = {
  'given tests only': ({ reference }) => reference.map(() => undefined),
  'majority vote': (own) =>
    majority(
      own,
      own.ballots.map(() => 1),
    ),
  'pass counts': passCounts,
  'calibrated vote': ({ ballots, problem }) => takeVote(ballots, problem.baselineTests, problem.comparison).answers,
  'values of the discriminator': ({ written }) => written,
  'the reference': ({ reference }) => reference.map((call) => (call.kind === 'value' ? call.value : undefined)),
};

function majority({ problem, ballots, reference }: Sampled, weights: number[]): (Value | undefined)[] {
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
    return groups.reduce((best, one) => (one.weight > best.weight ? one : best), {
      value: undefined as Value | undefined,
      weight: 0,
    }).value;
  });
}

const isAbsent = (value: Value | undefined): value is undefined => value === undefined;

/** Programs by the tests that they pass, tests by the programs that pass them, several times. */
function passCounts(own: Sampled): (Value | undefined)[] {
  const { problem, ballots } = own;
  let weights = ballots.map(() => 1);
  let answers: (Value | undefined)[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    answers = majority(own, weights);
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

/** The evaluated programs, with inputs of a kind. */
async function sample(store: Store, sandbox: Sandbox, run: string, kind: 'random' | 'written'): Promise<Sampled[]> {
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
    const random = freshInputs(knownInputs(problem), RANDOM_INPUTS, new RandomStream('no reference', problemId));
    const tests = kind === 'written' ? written : random.map((args) => ({ args, expected: undefined }));
    const inputs = [...new Map(tests.map((test) => [inputKey(test.args), test])).values()];
    const codes = chains.get(problemId)!.map((chain) => codeOf(chain, problem, config));
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

/** Precision and recall of "the program is right", and the share of problems solved by the program that passes most tests. */
function measure(all: readonly Sampled[], source: Source): string {
  let [claimed, right, both, chosen, usable, correct] = [0, 0, 0, 0, 0, 0];
  for (const own of all) {
    const { problem, ballots } = own;
    const answers = source(own);
    const known = answers.flatMap((answer, i) => (isAbsent(answer) ? [] : [{ answer, i }]));
    usable += known.length;
    correct += known.filter(({ answer, i }) => passes(own.reference[i]!, answer, problem)).length;
    const passed = ballots.map(({ given, inputs }) => [
      ...problem.baselineTests.map(({ expected }, g) => passes(given[g]!, expected, problem)),
      ...known.map(({ answer, i }) => passes(inputs[i]!, answer, problem)),
    ]);
    const counts = passed.map((each) => each.filter(Boolean).length);
    const best = own.right.filter((_, p) => counts[p] === Math.max(...counts));
    chosen += best.filter(Boolean).length / best.length / all.length;
    for (const [p, each] of passed.entries()) {
      const isClaimed = each.every(Boolean);
      claimed += Number(isClaimed);
      right += Number(own.right[p]);
      both += Number(isClaimed && own.right[p]);
    }
  }
  const percent = (part: number, of: number): string => (of === 0 ? '–' : `${((100 * part) / of).toFixed(1)} %`);
  return [
    percent(both, claimed),
    percent(both, right),
    percent(chosen, 1),
    String(usable),
    percent(correct, usable),
  ].join(' | ');
}

const [place, ...runs] = process.argv.slice(2);
const store = await openStore(place);
const sandbox = await openSandbox('docker');
console.log('| run | inputs | answers from | precision | recall | best of the samples | tests | right answers |');
for (const run of runs)
  for (const kind of ['random', 'written'] as const) {
    const all = await sample(store, sandbox, run, kind);
    for (const [name, source] of Object.entries(SOURCES)) {
      if (name.startsWith('values') && kind === 'random') continue;
      console.log(`| ${run} | ${kind} | ${name} | ${measure(all, source)} |`);
    }
  }
await sandbox.close();
