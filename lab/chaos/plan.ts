// Plans the strikes of a chaos run. The plan depends only on the seed. A strike is timed by the progress of the run, so that
// all strikes hit the run, whatever the speed of the machine.

import { RandomStream } from '../../core/base/random.js';
import { WORKER_ROLES } from '../../core/temporal/queues.js';

export const VICTIMS = [...WORKER_ROLES, 'server', 'everything', 'guest', 'container', 'daemon', 'disk'] as const;
export type Victim = (typeof VICTIMS)[number];

/** The death of a worker during a write to the store: the number of the write, counted from now, and a moment in this write. */
export interface DeathAtWrite {
  write: number; // 0 is the next write
  moment: (typeof MOMENTS)[number];
}
const MOMENTS = ['before', 'during', 'after'] as const;

export interface Strike {
  victim: Victim;
  after: number; // the number of results in the store
  delay: number; // the milliseconds after that
  atWrite?: DeathAtWrite; // if absent, the victim dies immediately
  draw: number; // a number in (0, 1) that chooses a guest or the length of an outage
}

export interface PlanOptions {
  kills: number;
  seed: number;
  results: number; // the number of results of the undisturbed run
  sandbox: 'wasm' | 'docker';
  disk: boolean;
}

const LAST = 0.95; // no strikes after this share of the results, because the run may end before the strike
const DELAY_MS = 1000;

/** The strikes, sorted by time. Every victim gets one share of the strikes; each worker role gets two shares. */
export function planStrikes({ kills, seed, results, sandbox, disk }: PlanOptions): Strike[] {
  const random = new RandomStream('chaos', seed, 'plan');
  const deck: Victim[] = [
    ...WORKER_ROLES,
    ...WORKER_ROLES,
    'server',
    'everything',
    'guest',
    ...(sandbox === 'docker' ? (['container', 'daemon'] as const) : []),
    ...(disk ? (['disk'] as const) : []),
  ];
  const drawn: Victim[] = [];
  while (drawn.length < kills) drawn.push(...random.shuffle(deck));
  const victims = random.shuffle(drawn.slice(0, kills));
  const moments = victims.map(() => random.int(0, Math.floor(LAST * results))).sort((a, b) => a - b);
  return victims.map((victim, index) => {
    const mayWrite = victim === 'gpu' || victim === 'sandbox' || victim === 'cpu'; // the orchestrator writes nothing
    const writes = mayWrite && random.uniform() < 0.5;
    return {
      victim,
      after: moments[index]!,
      delay: random.int(0, DELAY_MS),
      draw: random.uniform(),
      ...(writes && { atWrite: { write: random.int(0, 5), moment: random.choice(MOMENTS) } }),
    };
  });
}
