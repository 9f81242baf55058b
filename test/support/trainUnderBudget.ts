// Samples and trains with the shipped model on rows of many lengths, and prints the digest of all results, the peak of
// resident memory, and the memory after half of the steps and at the end, in bytes.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { RandomStream } from '../../core/base/random.js';
import { shippedModelPath } from '../../data/paths.js';
import { openEngine } from '../../ml/engine/ortEngine.js';

const STEPS = 10;
const memory = (field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'latin1'))![1]) * 1024;

const engine = await openEngine(shippedModelPath('tiny'), { cores: 2 });
const random = new RandomStream('budget');
const digest = createHash('sha256');
const rowOf = (length: number): number[] => Array.from({ length }, () => random.int(5, engine.info.vocabSize - 1));
let adapter = engine.initAdapter({ rank: 8, alpha: 16 }, 1);
let state = engine.newOptimizerState(adapter);
let half = 0;
for (let step = 0; step < STEPS; step++) {
  const prompts = Array.from({ length: 16 }, () => rowOf(random.int(20, 120)));
  const requests = prompts.map((prompt, i) => ({ prompt, key: [step, i] as const }));
  const answers = await engine.generate(requests, { adapter, maxNewTokens: 24, temperature: 1, stopTokens: [] });
  digest.update(JSON.stringify(answers));
  const longest = 60 + 20 * (step % 9);
  const rows = Array.from({ length: 16 }, () => {
    const tokens = rowOf(random.int(40, longest));
    return { tokens, mask: tokens.map(() => 1), oldLogprobs: tokens.map(() => -5), advantage: random.uniform() - 0.5 };
  });
  const scores = await engine.scores(rows, { adapter, temperature: 1 });
  digest.update(JSON.stringify(scores));
  const sums = await engine.gradients(rows, { adapter, loss: { clip: 0.2, temperature: 1 } });
  const adamw = { learningRate: 1e-3, betas: [0.9, 0.99] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };
  ({ adapter, state } = await engine.applyUpdate(adapter, state, sums, adamw));
  digest.update(adapter.values);
  if (step === STEPS / 2) half = memory('RssAnon');
}
console.log(JSON.stringify({ digest: digest.digest('hex'), peak: memory('VmHWM'), half, end: memory('RssAnon') }));
await engine.close();
