// The figures of a chaos run and their limits. docs/chaos.md explains every field.
import type { Victim } from './plan.js';

export interface ChaosFigures {
  seed: number;
  sandbox: 'wasm' | 'docker';
  asked: number;
  killed: number;
  kills: Partial<Record<Victim, number>>;
  atWrite: number;
  storeFaults: number;
  forgotten: number; // the number of containers that a killed daemon left behind
  workersStarted: number;
  compared: number;
  differences: string[];
  damaged: string[];
  orphans: { processes: string[]; containers: string[] };
  repeated: {
    activities: number;
    attempts: number;
    byActivity: Record<string, number>;
    seconds: number;
    tokens: { undisturbed: number; disturbed: number };
  };
  recovery: Spread & { byVictim: Partial<Record<Victim, number>> };
  undisturbedSeconds: number;
  disturbedSeconds: number;
}

/** Statistics of a list of durations in seconds. */
export interface Spread {
  median: number;
  p90: number;
  max: number;
}

/** Percentiles by the nearest rank; zeros if there are no values. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = (q: number): number => sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0;
  return { median: rank(0.5), p90: rank(0.9), max: rank(1) };
}

const some = (list: string[], what: string): string[] =>
  list.length === 0 ? [] : [`${list.length} ${what}: ${list.slice(0, 10).join(', ')}`];

/** Lists the faults in the results of a disturbed run. */
export const wrongResults = (found: Pick<ChaosFigures, 'compared' | 'differences' | 'damaged'>): string[] => [
  ...(found.compared === 0 ? ['there was nothing to compare'] : []),
  ...some(found.differences, `of ${found.compared} digests and figures differ`),
  ...some(found.damaged, 'artifacts are damaged or missing'),
];

/** Lists the failed conditions of a chaos run. */
export function complaints({ asked, killed, orphans, ...results }: ChaosFigures): string[] {
  return [
    ...(killed < asked ? [`only ${killed} of ${asked} kills took place before the run ended`] : []),
    ...wrongResults(results),
    ...some(orphans.processes, 'processes are left'),
    ...some(orphans.containers, 'containers are left'),
  ];
}

export const list = (counts: object): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

export const recoveryLine = ({ median, p90, max }: Spread): string =>
  `recovery: median ${median.toFixed(1)} s, 90 % ${p90.toFixed(1)} s, longest ${max.toFixed(1)} s`;

/** Describes the figures in lines of text. */
export function described(figures: ChaosFigures): string[] {
  const { killed, compared, recovery, repeated, undisturbedSeconds, disturbedSeconds } = figures;
  const { tokens } = repeated;
  return [
    `${killed} kills (${figures.atWrite} within a write): ${list(figures.kills)}; ${figures.storeFaults} writes failed`,
    `${compared} digests and figures compared`,
    recoveryLine(recovery),
    `retries: ${repeated.attempts} attempts for ${repeated.activities} activities (${list(repeated.byActivity)}), ${repeated.seconds.toFixed(0)} s`,
    `tokens sampled: ${tokens.undisturbed} undisturbed, ${tokens.disturbed} with kills`,
    `${undisturbedSeconds.toFixed(0)} s undisturbed, ${disturbedSeconds.toFixed(0)} s with kills, ${figures.workersStarted} worker processes`,
    ...(figures.forgotten > 0 ? [`containers orphaned by a killed daemon and ended later: ${figures.forgotten}`] : []),
    ...complaints(figures).map((line) => `FAILED: ${line}`),
  ];
}
