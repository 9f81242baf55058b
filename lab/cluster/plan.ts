// Plans the faults of a cluster run: the host, the kind, and the time. The plan depends only on the seed.
import { RandomStream } from '../../core/base/random.js';

// A cut unplugs the network for a while, a kill ends the worker process, and a crash turns the host off for a while.
const KINDS = ['cut', 'kill', 'crash'] as const;

export interface Fault {
  host: string;
  kind: (typeof KINDS)[number];
  after: number; // the number of results in the store
  delay: number; // the milliseconds after that
  outage: number; // in milliseconds
}

const LAST = 0.6; // no faults after this share of the results, so that even a short run is still active
const DELAY_MS = 500;
const OUTAGE_MS = { shortest: 1000, longest: 30_000 };

export interface FaultPlan {
  faults: number;
  seed: number;
  results: number; // the number of results of the run on one machine
  hosts: readonly string[];
}

/** The faults, sorted by time. Every kind of fault hits every host once before it hits a host again. */
export function planFaults({ faults, seed, results, hosts }: FaultPlan): Fault[] {
  const random = new RandomStream('cluster', seed, 'plan');
  const deck = hosts.flatMap((host) => KINDS.map((kind) => ({ host, kind })));
  const drawn: typeof deck = [];
  while (drawn.length < faults) drawn.push(...random.shuffle(deck));
  const moments = Array.from({ length: faults }, () => random.int(0, Math.floor(LAST * results)));
  moments.sort((a, b) => a - b);
  return moments.map((after, index) => ({
    ...drawn[index]!,
    after,
    delay: random.int(0, DELAY_MS),
    outage: random.int(OUTAGE_MS.shortest, OUTAGE_MS.longest),
  }));
}
