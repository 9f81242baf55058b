// This project's engine as a contender: its public port, in a process that answers JSON lines.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { deriveKey } from '../../core/random.js';
import type { Adapter, Engine, OptimizerState } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import type { Job } from '../inputs.js';
import { serve } from './serve.js';

/** The learning rate is tiny, so every round trains the same weights and losses can be compared. */
const ADAMW = { learningRate: 1e-9, betas: [0.9, 0.999] as const, eps: 1e-8, weightDecay: 0.01, maxGradNorm: 1 };

let engine: Engine | undefined;
let trained: { adapter: Adapter; state: OptimizerState } | undefined;

interface Request {
  id: number;
  op: string;
  model: string;
  job: Job;
}

const handlers: Record<string, (request: Request) => unknown> = {
  hello: () => {
    const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as { version: string };
    return { node: process.versions.node, 'onnxruntime-node': version };
  },
  async open({ model }) {
    await engine?.close();
    engine = await openEngine(model);
    const folder = join(model, 'adapter');
    const files = readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))] as const);
    const adapter = engine.importAdapter(new Map(files));
    trained = { adapter, state: engine.newOptimizerState(adapter) };
    return {};
  },
  memory: () => ({ bytes: peakBytes() }),
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
      const answers = await engine.generate(rows, { maxNewTokens, temperature, stopTokens: [] });
      return { seconds: seconds(), tokens: answers.map(({ tokens }) => tokens) };
    }
  }
}

/** The peak of this process's resident memory. */
function peakBytes(): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}

await serve<Request>(handlers);
await engine?.close();
