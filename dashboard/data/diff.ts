// Compares two runs: their inputs, their curves, and the first step, problem, token and reward that differ. Artifacts with
// equal digests have equal contents, so only artifacts with different digests are read.
import type { Chain, TestBatch, Turn } from '../../core/schema/chain.js';
import type { StepMetrics } from '../../core/schema/metrics.js';
import type { ObjectStore } from '../../store/objectStore.js';
import type { Ref, Store } from '../../store/store.js';
import type { Chart, DiffView, RewardDifference, RunView, TokenDifference } from '../api.js';
import { charts } from './charts.js';
import { changeOf, type History } from './history.js';
import type { MetricsReader } from './metricsReader.js';
import { readRunRecords, stepsOf } from './records.js';
import { readRollouts } from './rollouts.js';
import { factsOf, fieldsOf } from './run.js';

type Pair<T> = [T, T];

/** @throws GauntletError NOT_FOUND | CORRUPT_ARTIFACT */
export async function readDiff(
  store: ObjectStore,
  reader: MetricsReader,
  history: History,
  runs: Pair<string>,
): Promise<DiffView> {
  const sideOf = async (run: string): Promise<Side> => {
    const records = await readRunRecords(store, run, reader);
    const facts = [...fieldsOf(records.config), ...factsOf(records)];
    return { run, facts, charts: charts(records.metrics), steps: stepsOf(records) };
  };
  const sides: Pair<Side> = [await sideOf(runs[0]), await sideOf(runs[1])];
  const steps = commonSteps(sides[0].steps, sides[1].steps);
  return {
    runs,
    facts: differentFacts(sides),
    charts: bothCharts(sides),
    commonSteps: steps.length,
    problems: await problemChanges(history, steps),
    tokens: await firstTokens(store, steps),
    reward: await firstReward(store, steps),
  };
}

interface Side {
  run: string;
  facts: RunView['facts']; // includes the fields of the configuration
  charts: Chart[];
  steps: StepMetrics[];
}

function commonSteps(a: readonly StepMetrics[], b: readonly StepMetrics[]): Pair<StepMetrics>[] {
  const other = new Map(b.map((record) => [record.step, record]));
  return a.flatMap((record): Pair<StepMetrics>[] => {
    const same = other.get(record.step);
    return same === undefined ? [] : [[record, same]];
  });
}

/** The fields of the configuration and the other inputs that differ. */
function differentFacts(sides: Pair<Side>): DiffView['facts'] {
  const [a, b] = sides.map(({ facts }) => new Map(facts.map(({ name, value }) => [name, value] as const)));
  const names = [...new Set([...a!.keys(), ...b!.keys()])];
  return names
    .filter((name) => a!.get(name) !== b!.get(name))
    .map((name) => ({ name, values: [a!.get(name) ?? '–', b!.get(name) ?? '–'] }));
}

/** Makes a chart for each line of each chart, with the curves of both sides. */
function bothCharts([a, b]: Pair<Side>): Chart[] {
  const titles = [...a.charts, ...b.charts.filter(({ id }) => !a.charts.some((chart) => chart.id === id))];
  const curveOf = ({ run: name, charts }: Side, id: string, line: string, colour: string): Chart['lines'] =>
    (charts.find((chart) => chart.id === id)?.lines ?? [])
      .filter((own) => own.name === line)
      .map(({ points }) => ({ name, colour, points }));
  return titles.flatMap((chart) => {
    const lines = [a, b].flatMap(({ charts }) => charts.find(({ id }) => id === chart.id)?.lines ?? []);
    return [...new Set(lines.map(({ name }) => name))].map((line) => ({
      ...chart,
      id: `${chart.id}.${line}`,
      title: `${chart.title}, ${line}`,
      lines: [...curveOf(a, chart.id, line, 'one'), ...curveOf(b, chart.id, line, 'two')],
    }));
  });
}

/** Compares the last groups of programs that both runs have for a problem, on the tests of both. */
async function problemChanges(history: History, steps: readonly Pair<StepMetrics>[]): Promise<DiffView['problems']> {
  const before = await history.programs(steps.map(([one]) => one));
  const after = await history.programs(steps.map(([, other]) => other));
  return [...before].flatMap(([id, group]) => {
    const other = after.get(id);
    const change = other && changeOf(group, other);
    return change ? [{ id, change }] : [];
  });
}

async function firstTokens(store: Store, steps: readonly Pair<StepMetrics>[]): Promise<TokenDifference | undefined> {
  for (const [a, b] of steps) {
    const { step, role } = a;
    if (a.role !== b.role) return { step, what: otherRoles(a, b) };
    const [one, other] = [a.artifacts, b.artifacts];
    const chains = await artifactDifference(store, [one.chains, other.chains], (list) => list.map(sampleOfChain));
    if (chains) return { step, role: 'generator', ...chains };
    const tests = await artifactDifference(store, [one.tests, other.tests], samplesOfTests);
    if (tests) return { step, role: 'discriminator', ...tests };
    if (!one.chains !== !other.chains || !one.tests !== !other.tests)
      return { step, role, what: 'only one of the runs has these samples' };
  }
  return undefined;
}

/** Compares an artifact of two runs. Undefined if the artifacts are equal or a run has none. */
async function artifactDifference<T>(
  store: Store,
  [one, other]: Pair<Ref<T> | undefined>,
  samplesOf: (artifact: T) => Sample[],
): Promise<Difference | undefined> {
  if (one === other || one === undefined || other === undefined) return undefined;
  return firstDifference(samplesOf(await store.getJson(one)), samplesOf(await store.getJson(other)));
}

interface Sample {
  problemId: string;
  sample: number;
  turns: Pick<Turn, 'stage' | 'text' | 'promptTokens' | 'answerTokens'>[];
}

const sampleOfChain = ({ problemId, sample, turns }: Chain): Sample => ({ problemId, sample, turns });
const samplesOfTests = ({ turns }: TestBatch): Sample[] =>
  turns.map((turn) => ({ problemId: turn.problemId, sample: turn.sample, turns: [turn] }));

type Difference = Omit<TokenDifference, 'step' | 'role'>;

function firstDifference(a: readonly Sample[], b: readonly Sample[]): Difference | undefined {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const [one, other] = [a[i], b[i]];
    if (one === undefined || other === undefined)
      return { what: `one run has ${a.length} samples, the other ${b.length}` };
    const { problemId, sample } = one;
    const isSameProblem = problemId === other.problemId;
    for (let t = 0; t < Math.max(one.turns.length, other.turns.length); t++) {
      const [turn, same] = [one.turns[t], other.turns[t]];
      if (turn === undefined || same === undefined) return { problemId, sample, what: 'only one run has this stage' };
      for (const part of ['promptTokens', 'answerTokens'] as const) {
        const token = firstUnequal(turn[part], same[part]);
        if (token === undefined) continue;
        const ids: Pair<number | undefined> = [turn[part][token], same[part][token]];
        const place = { sample, stage: turn.stage, token, ids };
        if (!isSameProblem) return { what: 'another problem', ...place, problems: [problemId, other.problemId] };
        if (part === 'promptTokens') return { what: 'another prompt', ...place, problemId };
        return { what: 'another token', ...place, problemId, texts: around(turn.text, same.text) };
      }
    }
    if (!isSameProblem) return { what: 'another problem', sample, problems: [problemId, other.problemId] };
  }
  return undefined;
}

/** The first index where two lists differ. If one list begins with the whole other one, this is the other's length. */
function firstUnequal<T>(a: readonly T[], b: readonly T[]): number | undefined {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return i;
  return undefined;
}

const CONTEXT = 120; // characters before and after the first one that differs

function around(a: string, b: string): Pair<string> {
  const at = firstUnequal([...a], [...b]) ?? 0;
  const from = Math.max(0, at - CONTEXT);
  const cut = (text: string): string => [...text].slice(from, at + CONTEXT).join('');
  return [cut(a), cut(b)];
}

async function firstReward(store: Store, steps: readonly Pair<StepMetrics>[]): Promise<RewardDifference | undefined> {
  for (const [a, b] of steps) {
    const { step } = a;
    if (a.role !== b.role) return { step, what: otherRoles(a, b) };
    const isSame = (['verdicts', 'config', 'tests'] as const).every((name) => a.artifacts[name] === b.artifacts[name]);
    if (isSame) continue;
    const [one, other] = [await readRollouts(store, a), await readRollouts(store, b)];
    for (const [group, { problemId }] of one.judged.entries()) {
      const judged = other.judged[group];
      if (judged === undefined) break;
      const [rewards, others] = [one.rewards_P_G[group]!, other.rewards_P_G[group]!];
      const sample = firstUnequal(rewards, others);
      if (sample === undefined) continue;
      const values: RewardDifference['values'] = [rewards[sample], others[sample]];
      const place = { step, group, sample, values };
      if (judged.problemId === problemId) return { ...place, what: 'another reward', problemId };
      return { ...place, what: 'another problem', problems: [problemId, judged.problemId] };
    }
    const [groups, more] = [one.judged.length, other.judged.length];
    if (groups !== more) return { step, what: `one run has ${groups} groups, the other ${more}` };
  }
  return undefined;
}

const otherRoles = (a: StepMetrics, b: StepMetrics): string => `one run trains the ${a.role}, the other the ${b.role}`;
