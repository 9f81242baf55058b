// The faults of a cluster run: which host, what, and when. Depends only on the seed.
import { RandomStream } from '../../core/base/random.js';

// cut: the network is unplugged for a while. kill: the worker process. crash: the host is off for a while.
const KINDS = ['cut', 'kill', 'crash'] as const;

export interface Fault {
  host: string;
  kind: (typeof KINDS)[number];
  after: number; // number of results in the store
  delay: number; // ms after that
  outage: number; // ms
}

const LAST = 0.6; // share of the results after which nothing happens: a short run must still be active
const DELAY_MS = 500;
const OUTAGE_MS = { shortest: 1000, longest: 30_000 };

export interface FaultPlan {
  faults: number;
  seed: number;
  results: number; // of the run on one machine
  hosts: readonly string[];
}

/** In order of time. Every kind hits every host before any hits one again. */
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
