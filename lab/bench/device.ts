// `npm run bench -- device`: how fast a device scores, trains and samples, and how far its results are from the CPU's.
import { join } from 'node:path';
import { deriveKey } from '../../core/random.js';
import { CUDA_ACTIVATION_MEGABYTES } from '../../core/schema/config.js';
import { ROOT } from '../../infra/root.mjs';
import type { Provider } from '../../ml/device/providers.js';
import type { Engine } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { readAdapterFolder } from '../../ml/hf/peft.js';
import type { Adapter } from '../../ml/nn/layout.js';
import { relativeError } from '../../ml/selfTest/selfTest.js';
import { type Job, makeJob } from './inputs.js';
import { describeIdleMachine, say } from './machine.js';
import { BenchError, commandLine, FLAG, positive, readFlags, TEXT } from './options.js';
import { median, saveJson, table } from './results.js';
import { provideShape, SHAPES, type ShapeName } from './shapes.js';

const USAGE = `npm run bench -- device --name NAME [options]
  --name NAME         cuda, or cpu to compare the CPU with itself
  --shape NAME        of the model, with random weights (default smollm2): ${Object.keys(SHAPES).join(', ')}
  --rounds N          of each kind of work, after one that compiles (default 3)
  --out FILE          write results as JSON (default .cache/bench/device.json)`;

type Numbers = ArrayLike<number>;

interface Work {
  name: string;
  run: (engine: Engine, adapter: Adapter) => Promise<Numbers>;
  compare: (device: Numbers, cpu: Numbers) => string;
}

export interface DeviceFigures {
  name: string;
  seconds: { cpu: number; device: number }; // medians
  difference: string;
}

export async function benchDevice(args: string[]): Promise<void> {
  const flags = readFlags(args, { name: TEXT, shape: TEXT, rounds: TEXT, out: TEXT, help: FLAG });
  if (flags.help) return console.log(USAGE);
  const device = flags.name as Provider | undefined;
  if (device !== 'cuda' && device !== 'cpu') throw new BenchError('--name must be cuda or cpu', 2);
  const shape = (flags.shape ?? 'smollm2') as ShapeName;
  if (!Object.hasOwn(SHAPES, shape))
    throw new BenchError(`--shape must be one of ${Object.keys(SHAPES).join(', ')}`, 2);
  const rounds = positive('rounds', flags.rounds ?? '3');
  const machine = describeIdleMachine();
  const model = provideShape(shape, join(ROOT, '.cache', 'bench', 'random'));
  const figures = await measure(model, device, worksOf(shape), rounds, say);
  const command = commandLine(['device', ...args]);
  saveJson(flags.out ?? join(ROOT, '.cache', 'bench', 'device.json'), { command, machine, figures });
  console.log(deviceTable(device, machine.cores, figures));
}

function worksOf(shape: ShapeName): Work[] {
  const { vocab } = SHAPES[shape];
  const { rows } = makeJob({ kind: 'ragged', problems: 4, samples: 4 }, vocab, 'device', 0) as Job & { kind: 'train' };
  const tokens = rows.reduce((sum, row) => sum + row.tokens.length, 0);
  const compare = (ours: Numbers, cpu: Numbers): string => relativeError(ours, cpu).toExponential(1);
  const sampling = (count: number): Work => {
    const work = { kind: 'decode', rows: count, prompt: 64, newTokens: 64 } as const;
    const { prompts } = makeJob(work, vocab, 'device', 0) as Job & { kind: 'decode' };
    const requests = prompts.map((prompt, i) => ({ prompt, key: deriveKey('device', i) }));
    return {
      name: `sampling 64 tokens for ${count} prompts of 64`,
      async run(engine, adapter) {
        const options = { adapter, maxNewTokens: work.newTokens, temperature: 0, stopTokens: [] };
        return (await engine.generate(requests, options)).flatMap((answer) => answer.tokens);
      },
      compare: (ours, cpu) =>
        `${Array.from(cpu).filter((token, i) => token !== ours[i]).length} of ${cpu.length} tokens`,
    };
  };
  return [
    {
      name: `scoring ${rows.length} chains of ${tokens} tokens`,
      run: async (engine, adapter) => (await engine.logprobs(rows, { adapter, temperature: 1 })).flat(),
      compare,
    },
    {
      name: 'the gradient of PPO for these chains',
      run: async (engine, adapter) =>
        (await engine.gradients(rows, { adapter, loss: { clip: 0.2, temperature: 1 } })).gradients,
      compare,
    },
    sampling(8),
    sampling(64),
  ];
}

/** Seconds, the ratio of the CPU to the device, and differences relative to the largest number. */
export function deviceTable(device: string, cores: number, figures: readonly DeviceFigures[]): string {
  const rows = figures.map(({ name, seconds: { cpu, device: own }, difference }) => [
    name,
    cpu.toFixed(2),
    `${own.toFixed(2)} (${(cpu / own).toFixed(2)}×)`,
    difference,
  ]);
  return table(['seconds', `CPU, ${cores} cores`, device, 'difference'], rows);
}

async function measure(
  model: string,
  device: Provider,
  works: readonly Work[],
  rounds: number,
  say: (line: string) => void,
): Promise<DeviceFigures[]> {
  // both sides cut the work in the same parts, as the workers of one run do
  const activationBytes = device === 'cuda' ? CUDA_ACTIVATION_MEGABYTES * 2 ** 20 : undefined;
  const engines = {
    cpu: await openEngine(model, { activationBytes }),
    device: await openEngine(model, { device, activationBytes }),
  };
  try {
    const adapter = engines.cpu.importAdapter(readAdapterFolder(join(model, 'adapter')));
    const all: DeviceFigures[] = [];
    for (const { name, run, compare } of works) {
      const results = { cpu: await run(engines.cpu, adapter), device: await run(engines.device, adapter) };
      const seconds = { cpu: [] as number[], device: [] as number[] };
      for (let round = 0; round < rounds; round++) {
        for (const side of ['cpu', 'device'] as const) {
          const start = performance.now();
          await run(engines[side], adapter);
          seconds[side].push((performance.now() - start) / 1000);
        }
      }
      const medians = { cpu: median(seconds.cpu), device: median(seconds.device) };
      all.push({ name, seconds: medians, difference: compare(results.device, results.cpu) });
      say(`${name}: CPU ${medians.cpu.toFixed(2)} s, ${device} ${medians.device.toFixed(2)} s`);
    }
    return all;
  } finally {
    await Promise.all([engines.cpu.close(), engines.device.close()]);
  }
}
