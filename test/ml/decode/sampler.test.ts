// Compares the sampler with the definition: sort all tokens, cut, renormalize and walk the cumulative sum.
import assert from 'node:assert/strict';
import { RandomStream } from '../../../core/base/random.js';
import { outputKindFor, Sampler, type SamplingOptions } from '../../../ml/decode/sampler.js';

const LOGITS = Float32Array.of(0.5, 2, -1, 2, 0, -8);

function softmax(logits: ArrayLike<number>, temperature: number): number[] {
  const largest = Array.from(logits).reduce((a, b) => Math.max(a, b));
  const e = Array.from(logits, (x) => Math.exp((x - largest) / temperature));
  const z = e.reduce((a, b) => a + b, 0);
  return e.map((x) => x / z);
}

/** The output of the graph that the sampler reads. */
const told = (logits: Float32Array, options: SamplingOptions): Float32Array =>
  outputKindFor(options) === 'logits' ? logits : Float32Array.from(softmax(logits, options.temperature));

/** Counts how often each token is sampled over an even grid of uniforms. */
function counts(logits: Float32Array, options: SamplingOptions, n = 10_000, tokens: number[] = []): number[] {
  const sampler = new Sampler(logits.length);
  const next = told(logits, options);
  const out = new Array<number>(logits.length).fill(0);
  for (let i = 0; i < n; i++) out[sampler.sample(next, 0, options, (i + 0.5) / n, tokens).token]!++;
  return out;
}

/** The distribution by its definition. It applies penalty, temperature, top-k and top-p, in this order. */
function defined(logits: Float32Array, options: SamplingOptions, tokens: number[] = []): number[] {
  const { temperature, topK = logits.length, topP = 1, repetitionPenalty = 1 } = options;
  const penalised = logits.map((x, i) => {
    if (!tokens.includes(i)) return x;
    return x > 0 ? x / repetitionPenalty : x * repetitionPenalty;
  });
  let p = softmax(penalised, temperature);
  const keep = (enough: (kept: number, sum: number) => boolean): void => {
    const order = [...p.keys()].filter((i) => p[i]! > 0).sort((a, b) => penalised[b]! - penalised[a]! || a - b);
    let [kept, sum] = [0, 0];
    for (const i of order) {
      if (kept > 0 && enough(kept, sum)) p[i] = 0;
      else {
        kept++;
        sum += p[i]!;
      }
    }
    p = p.map((x) => x / sum);
  };
  keep((kept) => kept >= topK);
  if (topP < 1) keep((_, sum) => sum >= topP);
  return p;
}

describe('sampler', () => {
  it('an even grid of uniforms gives each token its share of the tempered softmax', () => {
    for (const temperature of [0.7, 1, 2])
      softmax(LOGITS, temperature).forEach((p, token) => {
        const seen = counts(LOGITS, { temperature })[token]!;
        assert.ok(Math.abs(seen - p * 10_000) <= 1, `token ${token}: ${seen} of ${p * 10_000}`);
      });
  });

  it("greedy takes the graph's choice, or with a penalty the first of the largest logits", () => {
    const sampler = new Sampler(3);
    assert.deepEqual(sampler.sample(BigInt64Array.of(7n, 2n), 1, { temperature: 0 }, 0.9), { token: 2, logprob: 0 });
    const options = { temperature: 0, repetitionPenalty: 2 };
    const rows = Float32Array.of(9, 9, 9, 4, 3, 3);
    assert.equal(sampler.sample(rows, 1, options, 0.9).token, 0);
    assert.equal(sampler.sample(rows, 1, options, 0.9, [0]).token, 1);
    assert.equal(sampler.sample(Float32Array.of(-1, -1.5, -9), 0, options, 0.9, [0]).token, 1);
  });

  it('refuses logits and probabilities that are not finite', () => {
    const error = { code: 'BAD_MODEL', message: /not finite/ };
    const broken = Float32Array.of(1, Number.NaN, 2);
    for (const options of [{ temperature: 1 }, { temperature: 1, topK: 2 }, { temperature: 1, repetitionPenalty: 2 }])
      assert.throws(() => new Sampler(3).sample(broken, 0, options, 0.5), error, JSON.stringify(options));
  });

  it('top-p keeps the smallest set of most likely tokens that reaches it, renormalized; ties keep the lower index', () => {
    const p = softmax(LOGITS, 1);
    const two = counts(LOGITS, { temperature: 1, topP: p[1]! + p[3]! - 1e-9 });
    assert.deepEqual(
      two.map((n) => n > 0),
      [false, true, false, true, false, false],
    );
    assert.ok(Math.abs(two[1]! - 5000) <= 1);
    assert.equal(counts(LOGITS, { temperature: 1, topP: 1e-6 })[1], 10_000);
    assert.deepEqual(counts(LOGITS, { temperature: 1, topP: 1 }), counts(LOGITS, { temperature: 1 }));
  });

  it('top-k keeps the k most likely tokens; 1 is greedy, and ties keep the lower index', () => {
    assert.equal(counts(LOGITS, { temperature: 3, topK: 1 })[1], 10_000);
    assert.deepEqual(
      counts(LOGITS, { temperature: 3, topK: 3 }).map((n) => n > 0),
      [true, true, false, true, false, false],
    );
  });

  it('every combination of top-k, top-p and penalty follows its definition, with log-probs', () => {
    const random = new RandomStream('sampler');
    for (let round = 0; round < 40; round++) {
      const vocab = random.int(2, 900);
      // few distinct values make ties; some tokens lie beyond the last bucket
      const logits = Float32Array.from(
        { length: vocab },
        () => Math.round(random.normal() * 12) / 4 - (random.uniform() < 0.1 ? 80 : 0),
      );
      const tokens = Array.from({ length: 5 }, () => random.int(0, vocab - 1));
      const options: SamplingOptions = {
        temperature: 0.5 + random.uniform(),
        topK: random.choice([undefined, 1, random.int(1, vocab), vocab + 5]),
        topP: random.choice([undefined, 0.3, 0.95]),
        repetitionPenalty: random.choice([undefined, 1.3]),
      };
      const p = defined(logits, options, [...new Set(tokens)]);
      const next = told(logits, options);
      const sampler = new Sampler(vocab);
      let before = 0;
      for (const [token, share] of p.entries()) {
        if (share > 1e-6) {
          const drawn = sampler.sample(next, 0, options, before + share / 2, tokens);
          assert.equal(drawn.token, token, JSON.stringify({ round, options, vocab }));
          assert.ok(Math.abs(drawn.logprob - Math.log(share)) < 1e-5);
        }
        before += share;
      }
    }
  });

  it('the smallest and largest uniforms select remaining tokens', () => {
    const sampler = new Sampler(LOGITS.length);
    const [first, last] = [2 ** -33, 1 - 2 ** -33];
    const p = told(LOGITS, { temperature: 1 });
    assert.equal(sampler.sample(p, 0, { temperature: 1 }, first).token, 0);
    assert.equal(sampler.sample(p, 0, { temperature: 1 }, last).token, 5);
    assert.equal(sampler.sample(LOGITS, 0, { temperature: 1, topK: 2 }, last).token, 3);
    assert.equal(new Sampler(2).sample(Float32Array.of(1, 0), 0, { temperature: 1 }, 1 - 2 ** -53).token, 0);
    const long = new Float32Array(700).fill(1, 3, 9);
    assert.equal(new Sampler(700).sample(long, 0, { temperature: 1 }, 1).token, 8);
  });
});
