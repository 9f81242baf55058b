// The figures of orchestration as a page.
import type { Machine } from '../machine.js';
import { median, table } from '../results.js';
import { type OrchestrationFigures, PARTS } from './measure.js';
import { WORK } from './spans.js';

export interface OrchestrationResults {
  command: string;
  startedAt: string;
  seconds: number;
  machine: Machine;
  foreignCores: number; // that other processes kept busy before the run
  sandbox: string; // as it says itself
  runs: OrchestrationFigures[];
}

export const GOALS = { overhead: 0.035, eventsPerStep: 32 } as const;

const MEANINGS: Record<(typeof PARTS)[number], string> = {
  model: 'the model works',
  sandbox: 'the sandbox works',
  store: 'the store works (memo rows, blobs, records)',
  'activity code': 'activities’ own code: parsing, rewards, JSON',
  'workflow code': 'workflow tasks on a worker',
  'activity dispatch': 'activity tasks from the server to a worker',
  'activity transport': 'inputs and results on their way, and their record',
  'workflow dispatch': 'workflow tasks from the server to a worker',
  other: 'the server starts the run, or its next execution',
};

export function orchestrationMarkdown(results: OrchestrationResults): string {
  const { machine, runs, foreignCores } = results;
  const head =
    `\`${results.command}\`, ${results.startedAt.slice(0, 10)}: ${machine.cpu}, ${machine.cores} cores, load at start ` +
    `${machine.loadAtStart}, others used ${foreignCores.toFixed(2)} cores before the run, ${Math.round(results.seconds)} s. ${results.sandbox}.`;
  const middle = (value: (run: OrchestrationFigures) => number): number => median(runs.map(value));
  const wall = middle((run) => run.wallSeconds);
  const overhead = middle((run) => run.overhead);
  const perStep = middle((run) => run.events / run.steps);
  const { steps, activities } = runs[0]!;
  const parts = PARTS.map((part) => {
    const seconds = middle((run) => run.seconds[part]);
    return [MEANINGS[part], seconds.toFixed(2), share(seconds / wall)];
  });
  const rows = [
    ...parts.slice(0, WORK.length),
    [
      '**overhead**: none of the three',
      (overhead * wall).toFixed(2),
      `${share(overhead)}, ${verdict(overhead, GOALS.overhead, '3.5 %')}`,
    ],
    ...parts.slice(WORK.length).map(([meaning, ...rest]) => [`– ${meaning}`, ...rest]),
    ['the run', wall.toFixed(2), ''],
  ];
  const counts = `${steps} steps, ${activities} activities, ${runs[0]!.events} events: ${perStep.toFixed(1)} events a step, ${verdict(perStep, GOALS.eventsPerStep, '32')}.`;
  return [head, table(['of the wall time', 'seconds', 'share'], rows), counts].join('\n\n');
}

const share = (x: number): string => `${(100 * x).toFixed(2)} %`;
const verdict = (value: number, limit: number, name: string): string =>
  value <= limit ? `met (at most ${name})` : `**over ${name}**`;
