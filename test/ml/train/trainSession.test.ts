// Guarantees of a training session besides its numbers (parity.test.ts): padding and other rows do not matter, runs agree
// bit for bit, and bad rows are refused.
import assert from 'node:assert/strict';
import { deriveKey, uniformAt } from '../../../core/base/random.js';
import { OpenGraphs } from '../../../ml/device/openGraphs.js';
import type { Adapter } from '../../../ml/engine/engine.js';
import type { DecoderConfig } from '../../../ml/nn/config.js';
import { layoutSize, loraLayout, parameterLayout, viewsOf } from '../../../ml/nn/layout.js';
import { relativeError } from '../../../ml/selfTest/selfTest.js';
import { TrainSession } from '../../../ml/train/trainSession.js';

const CONFIG: DecoderConfig = {
  hidden: 16,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 4,
  ffn: 24,
  vocab: 23,
  normEps: 1e-6,
  ropeTheta: 1e4,
  biases: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  qkNorm: false,
  tied: true,
};
const LOSS = { clip: 0.2, temperature: 0.9 };

function uniforms(size: number, name: string): Float32Array {
  const key = deriveKey(name);
  return Float32Array.from({ length: size }, (_, k) => 0.6 * (uniformAt(key, k) - 0.5));
}
const parameters = uniforms(layoutSize(parameterLayout(CONFIG)), 'parameters');
const weights = viewsOf(parameterLayout(CONFIG), parameters);
const adapterOf = (rank: number): Adapter => ({
  rank,
  alpha: 2 * rank,
  values: uniforms(layoutSize(loraLayout(CONFIG, rank)), 'adapter'),
});
const rowOf = (length: number, name: string) => {
  const key = deriveKey(name);
  const tokens = Array.from({ length }, (_, t) => Math.floor(uniformAt(key, t) * CONFIG.vocab));
  return {
    tokens,
    mask: tokens.map((_, t): number => (t > length / 2 ? 1 : 0)),
    oldLogprobs: tokens.map((_, t) => (t === 0 ? 0 : -3)),
    advantage: uniformAt(key, length) - 0.5,
  };
};

describe('a training session', () => {
  let session: TrainSession;
  before(() => {
    session = new TrainSession({ config: CONFIG, weights });
  });
  after(() => session.close());
  const rows = [rowOf(30, 'a'), rowOf(11, 'b'), rowOf(25, 'c')];

  it('scores a row with the same bits alone and in a batch', async () => {
    const adapter = adapterOf(2);
    const together = await session.score(rows, adapter, 1);
    for (const [k, row] of rows.entries()) assert.deepEqual((await session.score([row], adapter, 1))[0], together[k]);
  });

  it('gives nearly the same results if the run sets its activation memory: attention is then one block', async () => {
    const [adapter, long] = [adapterOf(2), [rowOf(70, 'd'), rowOf(50, 'e')]]; // blocks of a small model have 32 queries
    const one = new TrainSession({ config: CONFIG, weights }, { activationBytes: 1e9 });
    const [blocks, whole] = [await session.ppo(long, adapter, LOSS), await one.ppo(long, adapter, LOSS)];
    assert.ok(relativeError(whole.gradients, blocks.gradients) < 1e-5);
    const together = await one.score(long, adapter, 1);
    for (const [k, row] of long.entries()) assert.deepEqual((await one.score([row], adapter, 1))[0], together[k]);
    await one.close();
  });

  it('gives the entropy of the distribution of each token, and the same log-probs as without entropies', async () => {
    const adapter = adapterOf(2);
    const { tokens } = rowOf(7, 'a');
    const temperature = 0.7;
    const [row] = await session.scoreWithEntropies([{ tokens }], adapter, temperature);
    assert.deepEqual(row!.logprobs, (await session.score([{ tokens }], adapter, temperature))[0]);
    assert.equal(row!.entropies[0], 0);
    for (let t = 1; t < tokens.length; t++) {
      const ends = Array.from({ length: CONFIG.vocab }, (_, token) => ({ tokens: [...tokens.slice(0, t), token] }));
      const logprobs = (await session.score(ends, adapter, temperature)).map((own) => own[t]!);
      const entropy = -logprobs.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0);
      assert.ok(Math.abs(row!.entropies[t]! - entropy) < 1e-5, `token ${t}: ${row!.entropies[t]}, not ${entropy}`);
    }
  });

  it('scores do not depend on padding, bit for bit', async () => {
    const padded = await session.score([...rows, rowOf(90, 'd')], undefined, 1);
    assert.deepEqual(padded.slice(0, rows.length), await session.score(rows, undefined, 1));
  });

  it('an adapter whose B is zero scores like the base, any other does not', async () => {
    const adapter = adapterOf(2);
    const base = (await session.score(rows, undefined, 1)).flat();
    assert.ok(relativeError((await session.score(rows, adapter, 1)).flat(), base) > 1e-3);
    for (const [name, view] of viewsOf(loraLayout(CONFIG, 2), adapter.values))
      if (name.includes('lora_B')) view.data.fill(0);
    assert.ok(relativeError((await session.score(rows, adapter, 1)).flat(), base) < 1e-6);
  });

  it('gradients are the same bits in a repeated run and in a new session with other threads', async () => {
    const adapter = adapterOf(2);
    const first = await session.ppo(rows, adapter, LOSS);
    assert.deepEqual(await session.ppo(rows, adapter, LOSS), first);
    const other = new TrainSession({ config: CONFIG, weights }).use(2);
    assert.deepEqual(await other.ppo(rows, adapter, LOSS), first);
    await other.close();
  });

  it('every ratio is 1 if the session itself scored the old log-probs with the same adapter', async () => {
    const adapter = adapterOf(2);
    const scored = await session.score(rows, adapter, LOSS.temperature);
    const sums = await session.ppo(
      rows.map((row, k) => ({ ...row, oldLogprobs: scored[k]! })),
      adapter,
      LOSS,
    );
    assert.equal(sums.ratio, sums.tokens);
    assert.equal(sums.approxKl, 0);
    assert.equal(
      sums.tokens,
      rows.flatMap((row) => row.mask).reduce((a, b) => a + b),
    );
  });

  it('a step against the gradient lowers the loss', async () => {
    const { gradients, lossSum, tokens } = await session.sft(parameters, rows);
    const moved = parameters.map((p, k) => p - 0.001 * gradients[k]!);
    const after = await session.sft(moved, rows);
    assert.ok(after.lossSum < lossSum, `${after.lossSum} is not below ${lossSum}`);
    assert.equal(tokens, 14 + 5 + 12);
  });

  it('the default supervised mask selects every token except the first', async () => {
    const { tokens } = await session.sft(
      parameters,
      rows.map((row) => ({ tokens: row.tokens })),
    );
    assert.equal(tokens, 29 + 10 + 24);
  });

  it('an empty batch has no log-probs and zero gradients', async () => {
    const adapter = adapterOf(2);
    assert.deepEqual(await session.score([], adapter, 1), []);
    const sums = await session.ppo([], adapter, LOSS);
    assert.deepEqual(
      [sums.tokens, sums.gradients.length, sums.gradients.some((x) => x !== 0)],
      [0, adapter.values.length, false],
    );
    assert.equal((await session.sft(parameters, [])).gradients.length, parameters.length);
  });

  it('keeps a limited number of compiled graphs', async () => {
    const small = new TrainSession({ config: CONFIG, weights }, { graphs: new OpenGraphs(0) });
    const first = await small.score([rows[1]!], undefined, 1);
    await small.score([rowOf(40, 'd')], undefined, 1);
    assert.deepEqual(await small.score([rows[1]!], undefined, 1), first);
    await small.close();
  });

  it('refuses empty rows and unknown tokens in one line', async () => {
    await assert.rejects(session.score([{ tokens: [] }], undefined, 1), { code: 'BAD_INPUT' });
    await assert.rejects(session.score([{ tokens: [1, 23] }], undefined, 1), {
      code: 'BAD_INPUT',
      message: /outside 0\.\.22/,
    });
  });
});
