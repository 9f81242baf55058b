// The figures of a cluster run. docs/chaos.md explains them.
import { list, recoveryLine, type Spread, wrongResults } from '../chaos/figures.js';

export interface ClusterFigures {
  seed: number;
  asked: number;
  faults: string[]; // the kinds of the faults that hit the run, in their order
  compared: number;
  differences: string[];
  damaged: string[];
  adapters: { generator: string; discriminator: string };
  activities: number;
  attempts: Record<string, number>; // activity → attempts after the first one
  recovery: Spread;
  seconds: number;
}

/** Lists the failed conditions of a cluster run. */
export const complaints = ({ asked, faults, ...results }: ClusterFigures): string[] => [
  ...(faults.length < asked ? [`only ${faults.length} of ${asked} faults took place before the run ended`] : []),
  ...wrongResults(results),
];

/** Describes the figures in lines of text. */
export function described(figures: ClusterFigures): string[] {
  const { faults, compared, adapters, activities, attempts, recovery, seconds } = figures;
  const kinds: Record<string, number> = {};
  for (const kind of faults) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return [
    `${faults.length} faults${faults.length === 0 ? '' : `: ${list(kinds)}`}`,
    `${compared} digests and figures compared with the run on one machine`,
    `best adapters: generator ${adapters.generator}, discriminator ${adapters.discriminator}`,
    recoveryLine(recovery),
    `retries beyond ${activities} activities: ${list(attempts) || 'none'}`,
    `${seconds.toFixed(0)} s`,
    ...complaints(figures).map((line) => `FAILED: ${line}`),
  ];
}
