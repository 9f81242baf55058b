// One full PPO update of a model of published size, in a process of its own: peak of resident memory and time. Results
// are printed as JSON lines.
//   node dist/bench/memory.js --shape 1.5B --quantize 4 [--layers N] [--length 512] [--group 32] [--rank 16] [--no-checkpointing]
import { fork } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { RandomStream } from '../core/random.js';
import { packageRoot } from '../data/paths.js';
import { openEngine } from '../ml/session/ortEngine.js';
import { type RealShape, writeRealShape } from '../test/support/realShapes.js';

const { values: options } = parseArgs({
  options: {
    shape: { type: 'string', default: '1.5B' },
    layers: { type: 'string' },
    dtype: { type: 'string', default: 'BF16' },
    length: { type: 'string', default: '512' },
    rank: { type: 'string', default: '16' },
    quantize: { type: 'string' }, // bits
    group: { type: 'string', default: '32' },
    threads: { type: 'string' },
    'no-checkpointing': { type: 'boolean', default: false },
    generate: { type: 'string' }, // tokens to decode, for two rows
    keep: { type: 'boolean', default: false }, // the folder of the model
    child: { type: 'string' }, // that folder
  },
});

const status = (field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 2 ** 20;

async function update(folder: string): Promise<void> {
  const [length, rank] = [Number(options.length), Number(options.rank)];
  const opened = performance.now();
  const engine = await openEngine(folder, {
    threads: options.threads ? Number(options.threads) : undefined,
    checkpointing: options['no-checkpointing'] ? false : undefined,
    quantization: options.quantize
      ? { bits: Number(options.quantize) as 4 | 8, groupSize: Number(options.group) }
      : undefined,
  });
  const random = new RandomStream('memory');
  const tokens = Array.from({ length }, () => random.int(0, engine.info.vocabSize - 1));
  const adapter = engine.initAdapter({ rank, alpha: 2 * rank }, 1);
  const row = {
    tokens,
    mask: tokens.map((_, t) => (t < length / 4 ? 0 : 1)),
    oldLogprobs: tokens.map(() => -12),
    advantage: 1,
  };
  const seconds: Record<string, number> = { open: (performance.now() - opened) / 1000 };
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    const result = await work();
    seconds[name] = (performance.now() - start) / 1000;
    return result;
  };
  if (options.generate) {
    const rows = [1, 2].map((n) => ({ prompt: tokens.slice(0, 64), key: [n, n] as const }));
    await timed('generate', () =>
      engine.generate(rows, { maxNewTokens: Number(options.generate), temperature: 1, stopTokens: [] }),
    );
  }
  const sums = await timed('gradients', () =>
    engine.gradients([row], { adapter, loss: { clip: 0.2, temperature: 1 } }),
  );
  const adamw = { learningRate: 1e-4, betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };
  const { stats } = await timed('update', () =>
    engine.applyUpdate(adapter, engine.newOptimizerState(adapter), sums, adamw),
  );
  const gib = { peak: status('VmHWM'), anonymous: status('RssAnon'), mapped: status('RssFile') };
  console.log(
    JSON.stringify({ ...options, child: undefined, parameters: engine.info.parameters, seconds, gib, stats }),
  );
  await engine.close();
}

if (options.child) await update(options.child);
else {
  const name = [options.shape, options.layers ?? 'all', options.dtype].join('-');
  const folder = join(packageRoot(), '.cache', 'memory', name);
  if (!existsSync(join(folder, 'done'))) {
    mkdirSync(folder, { recursive: true });
    const layers = options.layers ? Number(options.layers) : undefined;
    writeRealShape(folder, options.shape as RealShape, { layers, dtype: options.dtype as 'BF16' | 'F32' });
    writeFileSync(join(folder, 'done'), '');
  }
  const child = fork(process.argv[1]!, ['--child', folder, ...process.argv.slice(2)], {
    env: { ...process.env, GAUNTLET_CACHE: join(packageRoot(), '.cache', 'memory') },
  });
  const status = await new Promise<number | null>((resolve) => child.on('exit', resolve));
  if (!options.keep) rmSync(folder, { recursive: true });
  process.exitCode = status ?? 1;
}
