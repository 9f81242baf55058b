// The results of a run and their tables. A ratio is the median of theirs divided by ours; above 1, ours is faster or smaller.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { table } from '../table.js';
import { type Case, CONTENDERS, type Contender, tokensOf } from './cases.js';
import type { Machine } from './machine.js';

export interface Measured {
  seconds: number[]; // has one entry per round; empty for memory
  median: number; // in seconds, or in bytes for memory
  min: number;
  cpuSeconds?: number; // the median over the rounds, for all threads
}

export interface CaseResult extends Pick<Case, 'id' | 'group' | 'shape' | 'work' | 'series' | 'goals'> {
  figures: Partial<Record<Contender, Measured>>;
  ratios: Partial<Record<Contender, number>>;
  /** Greedy decoding: the share of equal tokens. Training and scoring: the largest difference of the first loss. */
  agreement: Partial<Record<Contender, number>>;
  scores?: Partial<Record<Contender, number>>; // for a step: differences of the mean scored log-prob in the last round
  failures: Partial<Record<Contender, string>>;
  parts?: Partial<Record<Contender, Record<string, number>>>; // the seconds of each part of a step in the last round
  redecoded?: number; // the number of tokens that our side decoded twice in the last round of a step
  at: string; // the time of the measurement
  foreignCores: number; // the mean number of cores that other processes used
}

export interface BenchResults {
  command: string;
  startedAt: string;
  commit: string; // the commit of the checkout; ends with -dirty if there were uncommitted changes
  seconds: number;
  threads: number;
  machine: Machine;
  versions: Record<string, string>;
  cases: CaseResult[];
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('the median of an empty list');
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function summarise(seconds: readonly number[], cpuSeconds: readonly number[]): Measured {
  return {
    seconds: [...seconds],
    median: median(seconds),
    min: Math.min(...seconds),
    cpuSeconds: median(cpuSeconds),
  };
}

/** Divides the medians of the other contenders by ours. */
export function ratiosOf(figures: CaseResult['figures']): CaseResult['ratios'] {
  const ours = figures.ours;
  if (!ours) return {};
  const ratios: CaseResult['ratios'] = {};
  for (const name of CONTENDERS)
    if (name !== 'ours' && figures[name]) ratios[name] = figures[name].median / ours.median;
  return ratios;
}

/** Lists the goals that are met and the goals that are not. */
export function verdict({ goals = {}, ratios }: Pick<CaseResult, 'goals' | 'ratios'>): string {
  const lines = Object.entries(goals).flatMap(([name, { least, aim }]) => {
    const ratio = ratios[name as Contender];
    if (ratio === undefined) return [];
    if (least !== undefined && ratio < least) return [`**${PEERS[name as Contender]} short of ${least}×**`];
    if (aim !== undefined && ratio < aim) return [`${PEERS[name as Contender]} short of the aim ${aim}×`];
    return [`${PEERS[name as Contender]} met (${[least, aim].filter((x) => x !== undefined).join(', aim ')}×)`];
  });
  return lines.join('; ');
}

const PEERS: Record<Contender, string> = {
  ours: 'gauntlet',
  torch: 'torch',
  'torch-trained': 'torch, trained positions',
  llama: 'llama.cpp',
};
const TITLES: Record<Case['group'], string> = {
  step: 'Whole step (five-stage chains, tests of every stage, log-probs, PPO update), seconds',
  training: 'Training step (PPO forward, backward, AdamW; LoRA of rank 8 on seven projections), milliseconds',
  decoding: 'Decoding (greedy, prefill included), new tokens per second',
  prefill: 'Prefill (a prompt and its first new token), prompt tokens per second',
  scoring: 'Scoring (log-probs of given tokens, with the adapter), tokens per second',
  memory: 'Memory peak of a fresh process (largest resident set), MB',
  growth: 'Growth',
};

export function markdown(results: BenchResults): string {
  const { machine, versions, cases } = results;
  const parts = [
    `\`${results.command}\`, ${results.startedAt.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ` +
      `load at start ${machine.loadAtStart}, commit ${results.commit}, ${results.threads} threads on each side, ${Math.round(results.seconds)} s. ` +
      `${Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(', ')}.`,
  ];
  const earlier = cases.filter(({ at }) => at < results.startedAt).map(({ id, at }) => `${id} (${at.slice(0, 16)})`);
  if (earlier.length > 0) parts.push(`From earlier runs: ${earlier.join(', ')}.`);
  for (const [group, title] of Object.entries(TITLES) as [Case['group'], string][]) {
    const members = cases.filter((c) => c.group === group);
    if (members.length === 0) continue;
    parts.push(`### ${title}`, ...(group === 'growth' ? growthTables(members) : [groupTable(members)]));
    if (group === 'step') parts.push(...members.map(partsTable));
  }
  return parts.join('\n\n');
}

function groupTable(cases: readonly CaseResult[]): string {
  const others = CONTENDERS.filter((name) => name !== 'ours' && cases.some(({ figures }) => figures[name]));
  const head = ['case', 'gauntlet', ...others.flatMap((name) => [PEERS[name], 'ratio']), 'goal', 'agreement', 'rounds'];
  return table(
    head,
    cases.map((c) => [
      c.id.replace(/^\w+ /, ''),
      figure(c, 'ours'),
      ...others.flatMap((name) => [figure(c, name), times(c.ratios[name])]),
      verdict(c),
      agreement(c) + (c.foreignCores > 0.5 ? ` (others used ${c.foreignCores.toFixed(1)} cores)` : ''),
      `${c.figures.ours?.seconds.length || 1}`,
    ]),
  );
}

/** Makes the table with the times of the parts of a step. */
function partsTable({ parts = {}, redecoded }: CaseResult): string {
  const present = CONTENDERS.filter((name) => parts[name]);
  const names = Object.keys(parts.ours ?? {});
  const rows = present.map((who) => [PEERS[who], ...names.map((name) => parts[who]![name]?.toFixed(1) ?? '–')]);
  const again = redecoded === undefined ? '' : `\n\nTokens of chains that gauntlet decoded twice: ${redecoded}.`;
  return table(['seconds, last round', ...names], rows) + again;
}

/** Makes one table per series, with the points of the series as columns. */
function growthTables(cases: readonly CaseResult[]): string[] {
  return [...new Set(cases.map((c) => c.series!.name))].map((name) => {
    const points = cases.filter((c) => c.series!.name === name);
    const present = CONTENDERS.filter((who) => points.some(({ figures }) => figures[who]));
    const rows = present.map((who) => [`${PEERS[who]}, ms`, ...points.map((c) => milliseconds(c.figures[who]))]);
    const ratio = points.some((c) => c.ratios.torch) ? [['ratio', ...points.map((c) => times(c.ratios.torch))]] : [];
    return table([name, ...points.map((c) => `${c.series!.at}`)], [...rows, ...ratio]);
  });
}

const times = (ratio: number | undefined): string => (ratio === undefined ? '–' : `${ratio.toFixed(2)}×`);
const milliseconds = (m: Measured | undefined): string =>
  m === undefined ? '–' : (m.median * 1000).toFixed(m.median < 0.1 ? 1 : 0);

function figure(c: CaseResult, name: Contender): string {
  const measured = c.figures[name];
  if (!measured) return c.failures[name] === undefined ? '–' : 'failed';
  if (c.group === 'memory') return `${Math.round(measured.median / 1e6)}`;
  if (c.group === 'training') return `${milliseconds(measured)} (min ${(measured.min * 1000).toFixed(0)})`;
  if (c.work.kind === 'step' || c.work.kind === 'ragged') return measured.median.toFixed(1);
  const speed = tokensOf(c.work) / measured.median;
  return speed.toFixed(speed < 100 ? 1 : 0);
}

function agreement({ work, agreement, scores }: CaseResult): string {
  return Object.entries(agreement)
    .map(([key, x]) => {
      const name = key as Contender;
      if (work.kind !== 'decode' && work.kind !== 'step') return `loss ±${x.toExponential(0)}`;
      const scored = scores?.[name];
      const tokens = `${PEERS[name]} ${(100 * x).toFixed(x === 1 ? 0 : 1)} % of tokens`;
      return scored === undefined ? tokens : `${tokens}, log-prob ±${scored.toExponential(0)}`;
    })
    .join(', ');
}

const MARKS = {
  models: ['<!-- results: npm run bench -- --record writes between these lines -->', '<!-- end of results -->'],
  real: ['<!-- real: npm run bench -- real --record writes between these lines -->', '<!-- end of real -->'],
} as const;

/** Replaces the results of one part of the page. @throws RangeError if the page has no marks for them */
export function withResults(page: string, text: string, part: keyof typeof MARKS = 'models'): string {
  const [begin, end] = MARKS[part];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new RangeError(`the page lacks the lines ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}

export function saveJson(file: string, value: object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(value, null, 1)}\n`);
}

/** Replaces one part of lab/bench/results.json and lab/bench/BENCHMARKS.md. */
export function recordPart(part: Exclude<keyof typeof MARKS, 'models'>, results: object, text: string): void {
  const file = join(ROOT, 'lab', 'bench', 'results.json');
  const earlier = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as object) : {};
  saveJson(file, { ...earlier, [part]: results });
  const page = join(ROOT, 'lab', 'bench', 'BENCHMARKS.md');
  writeFileSync(page, withResults(readFileSync(page, 'utf8'), text, part));
}
