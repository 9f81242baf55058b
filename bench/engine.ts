// Speed of the engine at the shape of the embedded model: tokens/s of generation, scoring and gradients by number of
// workers. Run: node dist/bench/engine.js [repeats]. Prints one JSON line per measurement; the best of the repeats.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deriveKey, RandomStream } from '../core/random.js';
import { type ModelConfig, writeModelConfig } from '../ml/hf/config.js';
import { writeSafetensors } from '../ml/hf/safetensors.js';
import { parameterLayout } from '../ml/nn/decoder.js';
import type { Adapter, Engine } from '../ml/session/engine.js';
import { openEngine } from '../ml/session/ortEngine.js';

const config: ModelConfig = {
  architecture: 'Qwen2ForCausalLM',
  hidden: 128,
  layers: 4,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  ffn: 352,
  vocab: 394,
  contextLength: 512,
  normEps: 1e-6,
  ropeTheta: 10000,
  biases: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  qkNorm: false,
  tied: true,
};

function randomModel(folder: string): void {
  const random = new RandomStream('bench');
  const weights = parameterLayout(config).map(({ name, shape }) => {
    const size = shape.reduce((a, b) => a * b, 1);
    const std = name.includes('norm') ? 0 : 1 / Math.sqrt(shape.at(-1)!);
    const data = Float32Array.from({ length: size }, () => (name.includes('norm') ? 1 : std * random.normal()));
    return [name, { shape, data }] as const;
  });
  writeFileSync(join(folder, 'model.safetensors'), writeSafetensors(new Map(weights)));
  writeFileSync(join(folder, 'config.json'), JSON.stringify(writeModelConfig(config, { eos: 1, pad: 0 })));
}

const random = new RandomStream('rows');
const sequence = (length: number): number[] => Array.from({ length }, () => random.int(2, config.vocab - 1));
const prompts = Array.from({ length: 128 }, () => sequence(60));
const rows = prompts.map((prompt, i) => ({ prompt, key: deriveKey(i) }));
const grouped = rows.map(({ key }, i) => ({ prompt: prompts[i >> 2]!, key })); // four samples of each prompt
const whole = Array.from({ length: 128 }, () => sequence(120));
const trained = whole.map((tokens) => ({
  tokens,
  mask: tokens.map((_, t) => (t >= 60 ? 1 : 0)),
  oldLogprobs: tokens.map(() => -6),
  advantage: 1,
}));

const cases: Record<string, { tokens: number; run: (engine: Engine, adapter: Adapter) => Promise<unknown> }> = {
  'generate, 128 prompts': {
    tokens: 128 * 60,
    run: (engine, adapter) => engine.generate(rows, { adapter, maxNewTokens: 60, temperature: 0.8, stopTokens: [] }),
  },
  'generate, 32 prompts x 4': {
    tokens: 128 * 60,
    run: (engine, adapter) => engine.generate(grouped, { adapter, maxNewTokens: 60, temperature: 0.8, stopTokens: [] }),
  },
  'score, 128 x 120': {
    tokens: 128 * 120,
    run: (engine, adapter) =>
      engine.logprobs(
        whole.map((tokens) => ({ tokens })),
        { adapter, temperature: 0.8 },
      ),
  },
  'gradients, 128 x 120': {
    tokens: 128 * 120,
    run: (engine, adapter) => engine.gradients(trained, { adapter, loss: { clip: 0.2, temperature: 0.8 } }),
  },
};

const repeats = Number(process.argv[2] ?? 5);
const folder = mkdtempSync(join(tmpdir(), 'bench-'));
try {
  randomModel(folder);
  for (const workers of [1, 2]) {
    const engine = await openEngine(folder, { workers });
    const adapter = engine.initAdapter({ rank: 8, alpha: 16 }, 0);
    for (const [name, { tokens, run }] of Object.entries(cases)) {
      await run(engine, adapter); // compiles the graphs
      let [ms, cpuMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
      for (let i = 0; i < repeats; i++) {
        const [start, cpu] = [performance.now(), process.cpuUsage()];
        await run(engine, adapter);
        ms = Math.min(ms, performance.now() - start);
        const { user, system } = process.cpuUsage(cpu);
        cpuMs = Math.min(cpuMs, (user + system) / 1000); // of all threads: what a busy machine does not distort
      }
      const perSecond = (time: number): number => Math.round((tokens / time) * 1000);
      const speed = { tokensPerSecond: perSecond(ms), tokensPerCpuSecond: perSecond(cpuMs) };
      console.log(JSON.stringify({ name, workers, ms: Math.round(ms), cpuMs: Math.round(cpuMs), ...speed }));
    }
    await engine.close();
  }
} finally {
  rmSync(folder, { recursive: true });
}
