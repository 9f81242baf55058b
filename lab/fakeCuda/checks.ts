// The checks of `npm run check:cuda`. main.ts starts them as a process with a CUDA runtime that only counts. Prints the results
// and exits with 1 if a limit is exceeded.
import { table } from '../table.js';
import { type Counts, launches } from './counts.js';
import { runSelfTest, unused, withoutKernel } from './placement.js';
import { decodingStep, gradient, samplingAndTraining } from './smollm2.js';
import { recordedSteps } from './steps.js';

export interface CheckOptions {
  only: string; // selects the checks whose name contains this text
  limits: Record<string, number>; // limits that replace those of all checks with the same name
  json: boolean;
}

export interface Result {
  check: string;
  what: string;
  counted: Found;
  limit: Found;
  holds: boolean;
}
type Found = number | string[];
type Findings = Record<string, Found>;

/** The model, the type of weights and caches, the attention, the way to sample, and the limit of launches. */
const RECORDED = [
  ['SmolLM2-135M', 'float16', 'grouped', {}, 360],
  ['SmolLM2-135M', 'float16', 'grouped', { topK: 40, topP: 0.9 }, 360],
  ['SmolLM2-135M', 'float32', 'scattered', {}, 660],
  ['Qwen2.5-1.5B', 'float16', 'grouped', {}, 370],
] as const;

/** The type in which layers compute, whether activations are recomputed, and the limit of launches. */
const GRADIENTS = [
  ['f32', false, 8500],
  ['f16', false, 9600],
  ['f16', true, 12_000],
] as const;

/** A number must not exceed its limit. A list must equal its limit. */
const CHECKS: { name: string; limits: Findings; find: () => Promise<Findings> }[] = [
  {
    name: 'operations',
    limits: {
      'without a CUDA kernel': ['GroupQueryAttention(float32, int32) → float32'],
      'in no graph': [],
      'programs of the self-test that fail': [], // would name a program if an operation needed cuDNN, which is missing
    },
    async find() {
      const { graphs, failures } = await runSelfTest();
      return {
        'without a CUDA kernel': withoutKernel(graphs),
        'in no graph': unused(graphs),
        'programs of the self-test that fail': failures,
      };
    },
  },
  {
    name: 'a decoding step of 32 rows, SmolLM2-135M in f32',
    limits: { launches: 1300, 'copies to the device': 950, 'copies to the host': 2, allocations: 0 },
    find: async () => usage(await decodingStep(32)),
  },
  ...RECORDED.map(([model, type, attention, sampling, limit]) => ({
    name: ['a recorded decoding step of 64 rows', model, type, ...Object.keys(sampling)].join(', '),
    limits: {
      'launches of a step': limit,
      'copies and allocations while recording': 0,
      'calls of a replayed step': 1,
      'copies of a chunk': 6,
      'bytes left allocated': 0,
    },
    find: async (): Promise<Findings> => ({ ...(await recordedSteps(model, type, attention, sampling)) }),
  })),
  ...GRADIENTS.map(([precision, checkpointing, launches]) => ({
    name: `a PPO gradient of 16 chains, SmolLM2-135M in ${precision}${checkpointing ? ', recomputed' : ''}`,
    limits: {
      launches,
      'copies to the device': 110,
      'copies to the host': 6,
      allocations: 0,
      'memory, in % of the plan': 120,
      'the plan, in % of the memory': 120,
      'bytes left allocated': 0,
    },
    async find() {
      const { counts, left, planned } = await gradient(precision, checkpointing);
      return {
        ...usage(counts.direct),
        ...compared(counts.peakMemory, planned),
        'bytes left allocated': left,
      };
    },
  })),
  {
    name: 'sampling 16 rows and a PPO gradient, SmolLM2-135M in f16',
    limits: { 'memory, in % of the plan': 120, 'the plan, in % of the memory': 120, 'bytes left allocated': 0 },
    async find() {
      const { peak, left, planned } = await samplingAndTraining();
      return { ...compared(peak, planned), 'bytes left allocated': left };
    },
  },
];

const compared = (memory: number, planned: number) => ({
  'memory, in % of the plan': (100 * memory) / planned,
  'the plan, in % of the memory': (100 * planned) / memory,
});

/** The counts that most limits apply to. For a step that is recorded as a CUDA graph, use `counts.captured` of its recording. */
export const usage = (calls: Counts['direct']) => ({
  launches: launches(calls),
  'copies to the device': calls.copiesToDevice,
  'copies to the host': calls.copiesToHost,
  allocations: calls.allocations,
});

export const holds = (counted: Found, limit: Found): boolean =>
  typeof limit === 'number' ? Number(counted) <= limit : JSON.stringify(counted) === JSON.stringify(limit);

async function results({ only, limits: replaced }: CheckOptions): Promise<Result[]> {
  const all: Result[] = [];
  for (const { name, limits, find } of CHECKS.filter(({ name }) => name.includes(only))) {
    console.error(`check:cuda: ${name}`);
    const found = await find();
    for (const [what, own] of Object.entries(limits)) {
      const limit = replaced[what] ?? own;
      all.push({ check: name, what, counted: found[what]!, limit, holds: holds(found[what]!, limit) });
    }
  }
  return all;
}

function printed(all: readonly Result[]): string {
  const text = (found: Found): string =>
    typeof found === 'number' ? String(Math.round(found * 10) / 10) : found.join('; ') || 'none';
  const rows = all.map(({ check, what, counted, limit, holds }) => [
    `${check}: ${what}`,
    text(counted),
    text(limit),
    holds ? 'yes' : 'NO',
  ]);
  return table(['what', 'counted', 'limit', 'holds'], rows);
}

const options = JSON.parse(process.argv[2]!) as CheckOptions;
const all = await results(options);
console.log(options.json ? JSON.stringify(all) : printed(all));
process.exitCode = all.length > 0 && all.every(({ holds }) => holds) ? 0 : 1;
