// Compares answers of two decoders whose logits differ in their last bits, because they add attention in different orders. For
// about one token in 30,000, two tokens are so close that these bits decide.
import assert from 'node:assert/strict';
import { uniformAt } from '../../core/base/random.js';
import type { DecodeOptions } from '../../ml/decode/decodeSession.js';
import { Sampler } from '../../ml/decode/sampler.js';
import { GraphSession, tensor } from '../../ml/device/runtime.js';
import type { Generated, GenerateRequest } from '../../ml/engine/engine.js';
import type { DecoderConfig } from '../../ml/nn/config.js';
import { buildDecodeGraph } from '../../ml/nn/decodeGraph.js';
import { FUSED_WEIGHTS, FusedWeights, fuseWeights } from '../../ml/nn/fusedWeights.js';

const CLOSE = 1e-5; // the tolerance of a probability or a logit
const DECIDED_BY_ROUNDING = 0.05; // the largest share of such rows

type Weights = Parameters<typeof fuseWeights>[1];

/** Asserts that all answers are equal, except after a token that rounding decides. */
export async function assertSameAnswers(
  model: { config: DecoderConfig; weights: Weights },
  requests: readonly GenerateRequest[],
  options: DecodeOptions,
  actual: readonly Generated[],
  expected: readonly Generated[],
): Promise<void> {
  assert.equal(actual.length, expected.length);
  let others = 0;
  for (const [row, answer] of expected.entries()) {
    const at = answer.tokens.findIndex((token, i) => token !== actual[row]!.tokens[i]);
    if (at < 0) {
      assert.deepEqual(actual[row], answer, `row ${row}`);
      continue;
    }
    const { prompt, key } = requests[row]!;
    const logits = await logitsAfter(model, [...prompt, ...answer.tokens.slice(0, at)]);
    const possible = closeTokens(logits, options, uniformAt(key, at));
    const both = [answer.tokens[at]!, actual[row]!.tokens[at]!];
    assert.ok(
      both.every((token) => possible.includes(token)),
      `row ${row}, token ${at}: ${both[1]} instead of ${both[0]}; possible: ${possible.join()}`,
    );
    others++;
  }
  assert.ok(others <= DECIDED_BY_ROUNDING * expected.length, `${others} of ${expected.length} rows differ`);
}

/** The tokens that small changes of the logits can give. */
function closeTokens(logits: Float32Array, options: DecodeOptions, uniform: number): number[] {
  if (options.temperature === 0) {
    const most = logits.reduce((a, b) => Math.max(a, b));
    return [...logits.keys()].filter((token) => logits[token]! > most - CLOSE);
  }
  const sampler = new Sampler(logits.length);
  const fromLogits = { ...options, topK: options.topK ?? logits.length };
  const [low, high] = [-CLOSE, CLOSE].map((by) => {
    const moved = Math.min(1 - Number.EPSILON, Math.max(Number.EPSILON, uniform + by));
    return sampler.sample(logits, 0, fromLogits, moved).token;
  }) as [number, number];
  return Array.from({ length: high - low + 1 }, (_, i) => low + i); // the probabilities between the two limits are nearly impossible
}

/** The logits after the last of these tokens, as the engine computes them. */
async function logitsAfter(
  { config: c, weights }: { config: DecoderConfig; weights: Weights },
  tokens: readonly number[],
): Promise<Float32Array> {
  const graph = buildDecodeGraph(c, (g) => new FusedWeights(g, c), { positions: tokens.length, output: 'logits' });
  const session = await GraphSession.open(graph, {
    memory: { location: FUSED_WEIGHTS, data: fuseWeights(c, weights) },
  });
  const n = tokens.length;
  const none = tensor(new Float32Array(0), [1, c.kvHeads, 0, c.headDim]);
  const all = {
    ids: tensor(BigInt64Array.from(tokens, BigInt), [n]),
    batch: tensor(BigInt64Array.of(1n, BigInt(n), -1n), [3]),
    seqlensK: tensor(Int32Array.of(n - 1), [1]),
    totalSequenceLength: tensor(Int32Array.of(n), []),
    kvIndices: tensor(new BigInt64Array(0), [0, 3]),
    last: tensor(BigInt64Array.of(BigInt(n - 1)), [1]),
    positions: tensor(
      BigInt64Array.from(tokens, (_, i) => BigInt(i)),
      [n, 1],
    ),
  };
  const caches = Object.fromEntries(
    graph.inputs.filter(({ name }) => /^[kv]\d+$/.test(name)).map(({ name }) => [name, none]),
  );
  const names = new Set(graph.inputs.map(({ name }) => name));
  const feeds = Object.entries({ ...all, ...caches }).filter(([name]) => names.has(name));
  const { next } = await session.run(Object.fromEntries(feeds));
  await session.close();
  return next!.data as Float32Array;
}
