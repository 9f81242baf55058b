// Runs one PPO update, or generates a batch of answers, with a model of a published size in a separate process. Prints one
// line of JSON with the peak of resident memory, the estimate of it, and times.
//   node dist/lab/bench/memory.js --shape 1.5B --quantize 4 [--layers N] [--vocab N] [--length 512] [--rank 16]
//     [--task train|decode] [--rows 2] [--group 32] [--no-checkpointing] [--keep]
import { fork } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { RandomStream } from '../../core/base/random.js';
import { ROOT } from '../../infra/root.mjs';
import type { Adapter, Engine } from '../../ml/engine/engine.js';
import { estimateMemory } from '../../ml/engine/memory.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { describeModel } from '../../ml/hf/model.js';
import { type RealShape, writeRealShape } from '../../test/support/realShapes.js';

const { values: options } = parseArgs({
  options: {
    shape: { type: 'string', default: '1.5B' },
    layers: { type: 'string' },
    vocab: { type: 'string' },
    dtype: { type: 'string', default: 'BF16' },
    length: { type: 'string', default: '512' },
    rank: { type: 'string', default: '16' },
    quantize: { type: 'string' }, // bits per weight
    group: { type: 'string', default: '32' },
    threads: { type: 'string' },
    'no-checkpointing': { type: 'boolean', default: false },
    task: { type: 'string', default: 'train' }, // 'train' or 'decode', for which half of a sequence is the prompt
    rows: { type: 'string', default: '2' }, // the number of rows to decode
    keep: { type: 'boolean', default: false }, // keeps the model's folder
    child: { type: 'string' }, // for internal use: the model's folder
  },
});

const status = (field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 2 ** 20;

const quantization = options.quantize
  ? { bits: Number(options.quantize) as 4 | 8, groupSize: Number(options.group) }
  : undefined;
const checkpointing = options['no-checkpointing'] ? false : undefined;

async function measure(folder: string): Promise<void> {
  const [length, rank] = [Number(options.length), Number(options.rank)];
  const seconds: Record<string, number> = {};
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    const result = await work();
    seconds[name] = (performance.now() - start) / 1000;
    return result;
  };
  const threads = options.threads ? Number(options.threads) : undefined;
  const engine = await timed('open', () => openEngine(folder, { threads, checkpointing, quantization }));
  const random = new RandomStream('memory');
  const tokens = Array.from({ length }, () => random.int(0, engine.info.vocabSize - 1));
  const adapter = engine.initAdapter({ rank, alpha: 2 * rank }, 1);
  const train = options.task === 'train';
  const rows = train ? 1 : Number(options.rows);
  if (train) await update(engine, adapter, tokens, timed);
  else {
    const prompt = tokens.slice(0, length / 2);
    const requests = Array.from({ length: rows }, (_, i) => ({ prompt, key: [i, i] as const }));
    const answer = { adapter, maxNewTokens: length / 2, temperature: 1, stopTokens: [] };
    await timed('generate', () => engine.generate(requests, answer));
  }
  const use = { task: train ? 'train' : 'decode', sequences: rows, length, rank, quantization, checkpointing } as const;
  const gib = { peak: status('VmHWM'), estimate: estimateMemory(describeModel(folder), use) / 2 ** 30 };
  console.log(JSON.stringify({ ...options, child: undefined, parameters: engine.info.parameters, seconds, gib }));
  await engine.close();
}

async function update(
  engine: Engine,
  adapter: Adapter,
  tokens: number[],
  timed: <T>(name: string, work: () => Promise<T>) => Promise<T>,
): Promise<void> {
  const row = {
    tokens,
    mask: tokens.map(() => 1),
    oldLogprobs: tokens.map(() => -12),
    advantage: 1,
  };
  const loss = { clip: 0.2, temperature: 1 };
  const sums = await timed('gradients', () => engine.gradients([row], { adapter, loss }));
  const adamw = { learningRate: 1e-4, betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };
  await timed('update', () => engine.applyUpdate(adapter, engine.newOptimizerState(adapter), sums, adamw));
}

if (options.child) await measure(options.child);
else {
  const name = [options.shape, options.layers ?? 'all', options.vocab ?? 'all', options.dtype].join('-');
  const cache = process.env.GAUNTLET_CACHE ?? join(ROOT, '.cache', 'memory');
  const folder = join(cache, name);
  if (!existsSync(join(folder, 'done'))) {
    mkdirSync(folder, { recursive: true });
    const [layers, vocab] = [options.layers, options.vocab].map((n) => (n ? Number(n) : undefined));
    writeRealShape(folder, options.shape as RealShape, { layers, vocab, dtype: options.dtype as 'BF16' | 'F32' });
    writeFileSync(join(folder, 'done'), '');
  }
  const child = fork(process.argv[1]!, ['--child', folder, ...process.argv.slice(2)], {
    env: { ...process.env, GAUNTLET_CACHE: cache },
  });
  const status = await new Promise<number | null>((resolve) => child.on('exit', resolve));
  if (!options.keep) rmSync(folder, { recursive: true });
  process.exitCode = status ?? 1;
}
