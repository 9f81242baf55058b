// The figures of a cluster run. docs/chaos.md explains them.
import type { Spread } from '../chaos/figures.js';

export interface ClusterFigures {
  seed: number;
  asked: number;
  faults: string[]; // their kinds
  compared: number;
  differences: string[];
  damaged: string[];
  adapters: { generator: string; discriminator: string };
  activities: number;
  attempts: Record<string, number>; // beyond the first, by activity
  recovery: Spread;
  seconds: number;
}

/** The failed conditions of a cluster run. */
export function complaints({ asked, faults, compared, differences, damaged }: ClusterFigures): string[] {
  const some = (list: string[], what: string): string[] =>
    list.length === 0 ? [] : [`${list.length} ${what}: ${list.slice(0, 10).join(', ')}`];
  return [
    ...(faults.length < asked ? [`only ${faults.length} of ${asked} faults took place before the run ended`] : []),
    ...(compared === 0 ? ['there was nothing to compare'] : []),
    ...some(differences, `of ${compared} digests and figures differ`),
    ...some(damaged, 'artifacts are damaged or missing'),
  ];
}

/** Lines of text for people. */
export function described(figures: ClusterFigures): string[] {
  const { faults, compared, adapters, activities, attempts, recovery, seconds } = figures;
  const list = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const kinds: Record<string, number> = {};
  for (const kind of faults) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return [
    `${faults.length} faults${faults.length === 0 ? '' : `: ${list(kinds)}`}`,
    `${compared} digests and figures compared with the run on one machine`,
    `best adapters: generator ${adapters.generator}, discriminator ${adapters.discriminator}`,
    `recovery: median ${recovery.median.toFixed(1)} s, 90 % ${recovery.p90.toFixed(1)} s, longest ${recovery.max.toFixed(1)} s`,
    `retries beyond ${activities} activities: ${list(attempts) || 'none'}`,
    `${seconds.toFixed(0)} s`,
    ...complaints(figures).map((line) => `FAILED: ${line}`),
  ];
}
