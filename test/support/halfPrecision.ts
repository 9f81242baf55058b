// Scores and gradients of a model in 16 bits, which tests compare with those in f32 on real text.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../core/base/random.js';
import { ROOT } from '../../infra/root.mjs';
import { openBase, sessionModel } from '../../ml/engine/base.js';
import type { Adapter } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { digestModel } from '../../ml/hf/digest.js';
import { describeModel } from '../../ml/hf/model.js';
import type { Quantization } from '../../ml/hf/packed.js';
import { layoutSize, loraLayout } from '../../ml/nn/layout.js';
import { TrainSession } from '../../ml/train/trainSession.js';

export const LOSS = { clip: 0.2, temperature: 1 } as const;
const LENGTH = 120;

/** A model with a random adapter, and rows of a text as its tokens: an early README, since the errors depend on the text. */
export async function openModel(path: string, quantization?: Quantization) {
  const files = describeModel(path);
  const { config } = files;
  const { base } = await openBase(files, await digestModel(path), quantization);
  const model = sessionModel(config, base);
  const shape = { rank: 8, alpha: 16 };
  const random = new RandomStream('half');
  const values = Float32Array.from(
    { length: layoutSize(loraLayout(config, shape.rank)) },
    () => 0.01 * random.normal(),
  );
  const engine = await openEngine(path, { workers: 1, threads: 1 });
  const ids = engine.encode(readFileSync(join(ROOT, 'test/support/text.md'), 'utf8'));
  await engine.close();
  const rows = [0, 1, 2, 3].map((i) => ids.slice(i * LENGTH, (i + 1) * LENGTH));
  return { model, adapter: { ...shape, values } as Adapter, rows };
}
export type Opened = Awaited<ReturnType<typeof openModel>>;

export const trajectoryOf = (tokens: number[], oldLogprobs: number[], scale = 1) => ({
  tokens,
  oldLogprobs,
  mask: tokens.map((_, t) => (t > 40 ? 1 : 0)),
  advantage: 0,
  advantages: tokens.map((_, t) => scale * Math.sin(7 * t)),
});

/** The log-probs of all tokens, and the gradient at them. @param scale multiplies the advantages */
export async function compute({ model, adapter, rows }: Opened, half?: 'float16', scale = 1) {
  const session = new TrainSession(model, { half });
  const logprobs = await session.use(2).score(
    rows.map((tokens) => ({ tokens })),
    adapter,
    1,
  );
  const parts = rows.map((tokens, i) => trajectoryOf(tokens, logprobs[i]!, scale));
  const sums = await session.ppo(parts, adapter, LOSS);
  await session.close();
  return { logprobs: logprobs.flatMap((row) => row.slice(1)), ...sums };
}

export function cosine(a: Float32Array, b: Float32Array): number {
  let [dot, aa, bb] = [0, 0, 0];
  a.forEach((x, i) => {
    dot += x * b[i]!;
    aa += x * x;
    bb += b[i]! * b[i]!;
  });
  return dot / Math.sqrt(aa * bb);
}

export async function assertClose(opened: Opened): Promise<void> {
  const [exact, half] = [await compute(opened), await compute(opened, 'float16')];
  const differences = exact.logprobs.map((x, i) => Math.abs(x - half.logprobs[i]!)).sort((x, y) => x - y);
  assert.ok(differences[Math.floor(0.99 * differences.length)]! < 0.02, 'log-probs of 99 % of the tokens');
  assert.notDeepEqual(half.logprobs, exact.logprobs);
  assert.ok(cosine(exact.gradients, half.gradients) > 0.999, `cosine ${cosine(exact.gradients, half.gradients)}`);
  assert.ok(Math.abs(norm(half.gradients) / norm(exact.gradients) - 1) < 0.01, 'the length of the gradient');
  assert.equal(half.ratio / half.tokens, 1, 'the scoring graph and the gradient graph compute the same log-probs');
}
export const norm = (x: Float32Array): number => Math.hypot(...x.subarray(0, 50_000));
