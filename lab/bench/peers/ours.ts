// Runs this project's engine as a contender. It uses the public port, in a process that answers JSON lines.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { deriveKey } from '../../../core/base/random.js';
import type { Adapter, Engine, OptimizerState } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { readAdapterFolder } from '../../../ml/hf/peft.js';
import type { Quantized } from '../cases.js';
import type { Job } from '../inputs.js';
import type { Outcome } from '../runner.js';
import type { StepJob } from '../step.js';
import { samplePeakMemory } from './peakMemory.js';
import { serve } from './serve.js';

/** The learning rate is tiny, so that every round trains nearly the same weights and losses can be compared. */
const ADAMW = { learningRate: 1e-9, betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0.01, maxGradNorm: 1 };

const peakMemory = samplePeakMemory();
let engine: Engine | undefined;
let trained: { adapter: Adapter; state: OptimizerState } | undefined;

interface Request {
  id: number;
  op: string;
  model: string;
  quantization?: Quantized;
  job: Job;
}

const handlers: Record<string, (request: Request) => unknown> = {
  hello: () => {
    const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as { version: string };
    return { node: process.versions.node, 'onnxruntime-node': version };
  },
  async open({ model, quantization }) {
    await engine?.close();
    const bits = quantization === 'int4' ? 4 : 8;
    engine = await openEngine(model, quantization && { quantization: { bits, groupSize: 32 } });
    const adapter = engine.importAdapter(readAdapterFolder(join(model, 'adapter')));
    trained = { adapter, state: engine.newOptimizerState(adapter) };
    return {};
  },
  memory: () => ({ bytes: peakMemory() }),
  run: ({ job }) => run(job),
};

async function run(job: Job): Promise<unknown> {
  if (!engine || !trained) throw new Error('no model is open');
  const { adapter } = trained;
  const start = performance.now();
  const seconds = (): number => (performance.now() - start) / 1000;
  switch (job.kind) {
    case 'train': {
      const sums = await engine.gradients(job.rows, { adapter, loss: { clip: 0.2, temperature: 1 } });
      const next = await engine.applyUpdate(adapter, trained.state, sums, ADAMW);
      trained = next;
      return { seconds: seconds(), loss: next.stats.loss };
    }
    case 'score': {
      const rows = await engine.logprobs(job.rows, { adapter, temperature: 1 });
      const spent = seconds();
      const all = rows.flatMap((row) => row.slice(1));
      return { seconds: spent, loss: -all.reduce((a, b) => a + b, 0) / all.length };
    }
    case 'decode': {
      const { prompts, newTokens: maxNewTokens, temperature } = job;
      const rows = prompts.map((prompt, i) => ({ prompt, key: deriveKey('bench', i) }));
      const options = { maxNewTokens, temperature, stopTokens: [], ...(job.adapter && { adapter }) };
      const answers = await engine.generate(rows, options);
      return { seconds: seconds(), tokens: answers.map(({ tokens }) => tokens) };
    }
    case 'step':
      return step(job, engine, trained);
  }
}

async function step(job: StepJob, engine: Engine, { adapter, state }: NonNullable<typeof trained>): Promise<Outcome> {
  const parts: Record<string, number> = {};
  const began = performance.now();
  const timed = async <T>(part: string, work: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    const result = await work();
    parts[part] = (parts[part] ?? 0) + (performance.now() - start) / 1000;
    return result;
  };
  const before = engine.stats().redecoded;
  const greedy = { adapter, temperature: 0, stopTokens: job.endTokens };
  const options = { ...greedy, maxNewTokens: job.newTokens };
  const chains = job.openings.map((opening) => ({ tokens: [...opening], mask: opening.map(() => 0) }));
  const answers: number[][] = [];
  for (const continuations of [undefined, ...job.continuations]) {
    const requests = chains.map(({ tokens, mask }, i) => {
      const isEnded = job.endTokens.includes(tokens.at(-1)!);
      const prompt = continuations?.[i]?.[isEnded ? 'ended' : 'truncated'] ?? [];
      tokens.push(...prompt);
      mask.push(...prompt.map(() => 0));
      return { prompt: [...tokens], sampled: ranges(mask), key: deriveKey('bench', i) };
    });
    const sampled = await timed('chains', () => engine.generate(requests, options));
    sampled.forEach(({ tokens }, i) => {
      answers.push(tokens);
      chains[i]!.tokens.push(...tokens);
      chains[i]!.mask.push(...tokens.map(() => 1));
    });
  }
  const asked = job.tests.map((prompt, i) => ({ prompt, key: deriveKey('test', i) }));
  const tests = await timed('tests', () => engine.generate(asked, { ...greedy, maxNewTokens: job.testTokens }));
  const old = await timed('scoring', () => engine.logprobs(chains, { adapter, temperature: 1 }));
  const rows = chains.map((chain, i) => ({ ...chain, oldLogprobs: old[i]!, advantage: job.advantages[i]! }));
  trained = await timed('update', async () => {
    const sums = await engine.gradients(rows, { adapter, loss: { clip: 0.2, temperature: 1 } });
    return engine.applyUpdate(adapter, state, sums, ADAMW);
  });
  const seconds = (performance.now() - began) / 1000;
  const tokens = [...answers, ...tests.map((test) => test.tokens)];
  const scored = chains.flatMap(({ mask }, i) => old[i]!.filter((_, t) => mask[t] === 1));
  const loss = -scored.reduce((a, b) => a + b, 0) / scored.length;
  return { seconds, tokens, loss, parts, redecoded: engine.stats().redecoded - before };
}

/** The ranges of a mask where it is 1. */
function ranges(mask: readonly number[]): [number, number][] {
  const starts = [...mask.keys()].filter((t) => mask[t] === 1 && mask[t - 1] !== 1);
  return starts.map((from) => [from, mask.indexOf(0, from) < 0 ? mask.length : mask.indexOf(0, from)]);
}

await serve<Request>(handlers);
await engine?.close();
