// Tests that sampling inside a graph gives the tokens of the sampler on the host.
import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import { graphSampling, Sampler, type SamplingOptions } from '../../ml/decode/sampler.js';
import { callInputs } from '../../ml/decode/stepInputs.js';
import { GraphSession, tensor } from '../../ml/device/runtime.js';
import { Graph } from '../../ml/ir/graph.js';
import type { DecoderConfig } from '../../ml/nn/config.js';
import { NOT_FINITE, sampleTokens } from '../../ml/nn/samplingGraph.js';

const LOWEST = 0.5 / 2 ** 32; // the first and the last number that uniformAt returns
const HIGHEST = 1 - LOWEST;

/** The tokens that a graph samples for logits [uniforms.length, vocab]. */
async function tokensOf(logits: Float32Array, vocab: number, uniforms: number[], options: SamplingOptions) {
  const rows = uniforms.length;
  const g = new Graph();
  const given = options.temperature === 0 ? undefined : g.input('uniforms', 'float64', [rows, 1]);
  g.output(
    'tokens',
    sampleTokens(g, g.input('logits', 'float32', [rows, vocab]), graphSampling(options, vocab)!, given),
  );
  const session = await GraphSession.open(g);
  const { ends: _, ...inputs } = callInputs({ vocab } as DecoderConfig, {
    ...options,
    maxNewTokens: 1,
    stopTokens: [],
  });
  const out = await session.run({
    logits: tensor(logits, [rows, vocab]),
    ...(given && { uniforms: tensor(Float64Array.from(uniforms), [rows, 1]) }),
    ...Object.fromEntries(Object.entries(inputs).map(([name, { data, dims }]) => [name, tensor(data, dims)])),
  });
  await session.close();
  return Array.from(out.tokens!.data as BigInt64Array, Number);
}

/** The tokens of the host's sampler. It takes logits only if there is a topK, which is the whole vocabulary by default. */
function expectedOf(logits: Float32Array, vocab: number, uniforms: number[], options: SamplingOptions): number[] {
  const sampler = new Sampler(vocab);
  return uniforms.map((uniform, row) => {
    return sampler.sample(logits, row, { ...options, topK: options.topK ?? vocab }, uniform).token;
  });
}

const random = new RandomStream('sampling graph');
const logitsOf = (rows: number, vocab: number, spread: number): Float32Array =>
  Float32Array.from({ length: rows * vocab }, () => spread * random.normal());
const uniformsOf = (rows: number): number[] => [
  LOWEST,
  HIGHEST,
  ...Array.from({ length: rows - 2 }, () => random.uniform()),
];

describe('sampling inside a graph', () => {
  const KINDS: Record<string, SamplingOptions> = {
    greedy: { temperature: 0 },
    'all tokens': { temperature: 0.7 },
    topK: { temperature: 1.3, topK: 7 },
    'topK and topP': { temperature: 1, topK: 40, topP: 0.6 },
    topP: { temperature: 1, topP: 0.9 },
    'topK of more than all tokens': { temperature: 1, topK: 5000 },
  };
  for (const [name, options] of Object.entries(KINDS))
    it(`gives the tokens of the host's sampler for vocabularies of any size: ${name}`, async () => {
      for (const vocab of [61, 394, 512, 1000]) {
        const uniforms = uniformsOf(40);
        const logits = logitsOf(40, vocab, 2);
        assert.deepEqual(
          await tokensOf(logits, vocab, uniforms, options),
          expectedOf(logits, vocab, uniforms, options),
          `${vocab} tokens`,
        );
      }
    });

  it('keeps the lower numbers among equally likely tokens at the border', async () => {
    const logits = Float32Array.from({ length: 20 * 16 }, (_, i) => [0, 1, 1, 2][i % 4]!);
    const uniforms = uniformsOf(20);
    for (const options of [
      { temperature: 1, topK: 6 },
      { temperature: 1, topK: 16, topP: 0.5 },
    ]) {
      const tokens = await tokensOf(logits, 16, uniforms, options);
      assert.deepEqual(tokens, expectedOf(logits, 16, uniforms, options));
      assert.ok(new Set(tokens).size > 2);
    }
  });

  it('never gives a token without probability', async () => {
    const vocab = 512;
    const uniforms = uniformsOf(64);
    const logits = new Float32Array(64 * vocab).fill(-1e9);
    for (let row = 0; row < 64; row++) logits[row * vocab + ((row * 37) % vocab)] = 0;
    const only = uniforms.map((_, row) => (row * 37) % vocab);
    assert.deepEqual(await tokensOf(logits, vocab, uniforms, { temperature: 1 }), only);
    assert.deepEqual(await tokensOf(logits, vocab, uniforms, { temperature: 1, topK: 50, topP: 0.9 }), only);
  });

  it('marks rows whose probabilities are not finite', async () => {
    const logits = logitsOf(3, 61, 1);
    logits[61 + 5] = Number.NaN;
    for (const topK of [undefined, 9]) {
      const tokens = await tokensOf(logits, 61, [0.2, 0.5, 0.8], { temperature: 1, topK });
      assert.deepEqual(
        tokens.map((token) => token === NOT_FINITE),
        [false, true, false],
      );
    }
  });

  it('is not offered for penalties and log-probs, and keeps 1,024 tokens for topP alone', () => {
    assert.equal(graphSampling({ temperature: 1, repetitionPenalty: 1.1 }, 100), undefined);
    assert.equal(graphSampling({ temperature: 0, repetitionPenalty: 1.1 }, 100), undefined);
    assert.equal(graphSampling({ temperature: 1, logprobs: true }, 100), undefined);
    assert.deepEqual(graphSampling({ temperature: 1, topP: 1, repetitionPenalty: 1 }, 100), {});
    assert.deepEqual(graphSampling({ temperature: 1, topP: 0.9 }, 50_000), { topK: 1024, topP: true });
  });
});
