// Who is struck when: a pure function of the seed. Strikes come by the progress of the run (after so many results, and
// a moment later), so that all of them fall into it, however fast the machine is and however long a recovery takes.
import { WORKER_ROLES } from '../../core/queues.js';
import { RandomStream } from '../../core/random.js';

export const VICTIMS = [...WORKER_ROLES, 'server', 'everything', 'guest', 'container', 'daemon', 'disk'] as const;
export type Victim = (typeof VICTIMS)[number];

/** Of a worker that dies in the middle of a write to the store: which one from now, and where in it. */
export interface DeathAtWrite {
  write: number; // 0: the next one
  moment: (typeof MOMENTS)[number];
}
const MOMENTS = ['before', 'during', 'after'] as const;

export interface Strike {
  victim: Victim;
  after: number; // results in the store
  delay: number; // ms from then
  atWrite?: DeathAtWrite; // absent: at once
  draw: number; // in (0, 1): which guest, how long an outage
}

export interface PlanOptions {
  kills: number;
  seed: number;
  results: number; // that the undisturbed run left
  sandbox: 'wasm' | 'docker';
  disk: boolean;
}

const LAST = 0.95; // of the results: the end of the run stays free, so that the last strike still finds it going on
const DELAY_MS = 1000;

/** In the order in which they come. Every victim has its share; workers, which differ by role, have two each. */
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
