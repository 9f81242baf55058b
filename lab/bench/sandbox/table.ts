// The sandbox figures as Markdown: speed and latency of each contender, and its ratio to the default.
import type { Machine } from '../machine.js';
import { table } from '../results.js';
import { CONTENDERS, type Contender, GOALS } from './contenders.js';
import type { Figure, SandboxFigures } from './measure.js';

export interface SandboxResults extends SandboxFigures {
  command: string;
  startedAt: string;
  seconds: number;
  machine: Machine;
  versions: Record<string, string>;
}

const REFERENCE: Contender = 'docker'; // the default backend

export function sandboxMarkdown(results: SandboxResults): string {
  const { machine, versions, figures, failures, foreignCores, stolenCores } = results;
  const stolen = stolenCores === undefined ? '' : `, the host of this machine took ${stolenCores.toFixed(2)}`;
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const head =
    `\`${results.command}\`, ${results.startedAt.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores, load at start ` +
    `${machine.loadAtStart}, others used ${foreignCores.toFixed(2)} cores in the pauses${stolen}, ${Math.round(results.seconds)} s. ${named.join(', ')}.`;
  const levels = [...new Set(figures.map(({ inFlight }) => inFlight))].sort((a, b) => a - b);
  const names = (Object.keys(CONTENDERS) as Contender[]).filter((name) => figures.some((f) => f.contender === name));
  const at = (name: Contender, level: number) => figures.find((f) => f.contender === name && f.inFlight === level);
  const speed = table(
    ['executions per second (p50 / p95 ms)', ...levels.map((level) => `${level} in flight`), 'memory, MB'],
    names.map((name) => [name, ...levels.map((level) => cell(at(name, level))), megabytes(figures, name)]),
  );
  const ratios = table(
    [`${REFERENCE}, times as fast as`, ...levels.map((level) => `${level} in flight`), 'goal at 1'],
    names
      .filter((name) => name !== REFERENCE && at(REFERENCE, levels[0]!) !== undefined)
      .map((name) => [name, ...levels.map((level) => times(ratio(figures, name, level))), goal(figures, name)]),
  );
  const failed = Object.entries(failures).map(([name, why]) => `Not measured: ${name} (${why}).`);
  return [head, ...failed, speed, ratios].join('\n\n');
}

/** How many times as fast the default is; undefined if one of the two was not measured. */
export function ratio(figures: readonly Figure[], name: Contender, level: number): number | undefined {
  const [ours, theirs] = [REFERENCE, name].map((who) =>
    figures.find(({ contender, inFlight }) => contender === who && inFlight === level),
  );
  return ours && theirs ? ours.perSecond / theirs.perSecond : undefined;
}

export function goal(figures: readonly Figure[], name: Contender): string {
  const [least, reached] = [GOALS[name], ratio(figures, name, 1)];
  if (least === undefined || reached === undefined) return '';
  return reached >= least ? `met (${least}×)` : `**short of ${least}×**`;
}

const times = (x: number | undefined): string => (x === undefined ? '–' : `${x.toFixed(x < 10 ? 2 : 1)}×`);
const milliseconds = (seconds: number): string => (seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0);
const cell = (f: Figure | undefined): string =>
  f === undefined
    ? '–'
    : `${f.perSecond.toFixed(f.perSecond < 100 ? 1 : 0)} (${milliseconds(f.p50)} / ${milliseconds(f.p95)})`;
const megabytes = (figures: readonly Figure[], name: Contender): string =>
  `${Math.round(Math.max(...figures.filter(({ contender }) => contender === name).map(({ bytes }) => bytes)) / 1e6)}`;
