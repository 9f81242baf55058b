// Compares the loss graphs with plain arithmetic, and the manual gradient of the output projection with the automatic
// one and with finite differences, in the f64 interpreter.
import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import { backward } from '../../ml/autodiff/backward.js';
import { Graph } from '../../ml/ir/graph.js';
import type { Value } from '../../ml/ir/op.js';
import { rowChunks, rowsOf, scoreTokens } from '../../ml/loss/head.js';
import { type PpoLoss, ppoObjective, ppoSums } from '../../ml/loss/objectives.js';
import { interpret, interpretAll, type NdArray, ndarray } from './reference/interpret.js';

const [ROWS, WIDTH, VOCAB] = [7, 4, 9];
const random = new RandomStream('loss');
const draw = (...shape: number[]): NdArray =>
  ndarray(
    shape,
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 2 * random.uniform() - 1),
  );
const close = (a: number, b: number, why: string, tolerance = 1e-12): void =>
  assert.ok(Math.abs(a - b) < tolerance * Math.max(1, Math.abs(b)), `${why}: ${a} is not ${b}`);
const allClose = (a: NdArray, b: NdArray, why: string): void => {
  assert.deepEqual([...a.shape], [...b.shape]);
  a.data.forEach((v, k) => {
    close(v, b.data[k]!, `${why}[${k}]`);
  });
};

/** Central differences of a function of some entries of a feed. */
function differences(f: (data: number[]) => number, at: ArrayLike<number>, step = 1e-6): number[] {
  return Array.from(at, (_, k) => {
    const moved = (by: number): number => f(Array.from(at, (v, i) => (i === k ? v + by : v)));
    return (moved(step) - moved(-step)) / (2 * step);
  });
}

describe('token log-probs', () => {
  const feeds = {
    hidden: draw(ROWS, WIDTH),
    head: draw(VOCAB, WIDTH),
    target: ndarray([ROWS, 1], [3, 0, 3, 8, 1, 1, 5]),
    d: draw(ROWS, 1),
    e: draw(ROWS, 1),
  };
  const inputs = (g: Graph): [hidden: Value, head: Value, target: Value, d: Value, e: Value] => [
    g.input('hidden', 'float32', [ROWS, WIDTH]),
    g.input('head', 'float32', [VOCAB, WIDTH]),
    g.input('target', 'int64', [ROWS, 1]),
    g.input('d', 'float32', [ROWS, 1]),
    g.input('e', 'float32', [ROWS, 1]),
  ];

  it('are the log softmax of the tempered logits at the target, with the entropy of that softmax', () => {
    const g = new Graph();
    const [hidden, head, target] = inputs(g);
    const scored = scoreTokens(g, hidden, head, target, { temperature: 0.5, entropy: true });
    g.output('logprob', scored.logprob);
    g.output('entropy', scored.entropy!);
    const { logprob, entropy } = interpret(g, feeds);
    for (let r = 0; r < ROWS; r++) {
      const logits = Array.from(
        { length: VOCAB },
        (_, v) =>
          Array.from(
            { length: WIDTH },
            (_, k) => feeds.hidden.data[r * WIDTH + k]! * feeds.head.data[v * WIDTH + k]!,
          ).reduce((a, b) => a + b) / 0.5,
      );
      const total = Math.log(logits.reduce((s, z) => s + Math.exp(z), 0));
      close(logprob!.data[r]!, logits[feeds.target.data[r]!]! - total, `row ${r}`);
      const expected = logits.reduce((s, z) => s - Math.exp(z - total) * (z - total), 0);
      close(entropy!.data[r]!, expected, `entropy of row ${r}`);
    }
  });

  for (const entropy of [false, true]) {
    it(`have the gradient of automatic differentiation, ${entropy ? 'with' : 'without'} entropy`, () => {
      const g = new Graph();
      const [hidden, head, target, d, e] = inputs(g);
      const scored = scoreTokens(g, hidden, head, target, { temperature: 0.5, entropy });
      const outputs = [{ output: scored.logprob, seed: d }];
      if (entropy) outputs.push({ output: scored.entropy!, seed: e });
      const derived = backward(g, outputs, [hidden, head]);
      const before = g.constant('before', [VOCAB, WIDTH], new Float32Array(VOCAB * WIDTH).fill(3));
      const local = scored.backward({ logprob: d, entropy: entropy ? e : undefined }, before);
      const added = g.add(derived.get(head)!, before);
      const alone = scored.backward({ logprob: d, entropy: entropy ? e : undefined });
      const values = interpretAll(g, feeds);
      allClose(values.get(local.hidden)!, values.get(derived.get(hidden)!)!, 'hidden');
      allClose(values.get(local.head!)!, values.get(added)!, 'head');
      allClose(values.get(alone.hidden)!, values.get(local.hidden)!, 'hidden alone');
      assert.equal(alone.head, undefined);
    });
  }

  it('have an entropy whose gradient equals finite differences', () => {
    const build = (): { g: Graph; entropy: Value; gradient: Value } => {
      const g = new Graph();
      const [hidden, head, target, d, e] = inputs(g);
      const scored = scoreTokens(g, hidden, head, target, { temperature: 0.5, entropy: true });
      const zero = g.scale(d, 0);
      return { g, entropy: scored.entropy!, gradient: scored.backward({ logprob: zero, entropy: e }).hidden };
    };
    const { g, entropy, gradient } = build();
    const objective = (hidden: number[]): number =>
      interpretAll(g, { ...feeds, hidden: ndarray([ROWS, WIDTH], hidden) })
        .get(entropy)!
        .data.reduce((sum, v, r) => sum + v * feeds.e.data[r]!, 0);
    const expected = differences(objective, feeds.hidden.data);
    interpretAll(g, feeds)
      .get(gradient)!
      .data.forEach((v, k) => {
        close(v, expected[k]!, `entry ${k}`, 1e-7);
      });
  });
});

describe('chunks of rows', () => {
  it('cover all rows in order, with 256 rows or more, but 96 if the vocabulary is large', () => {
    for (const [rows, vocab, sizes] of [
      [100, 2048, [100]],
      [1280, 2048, [512, 512, 256]],
      [1024, 49152, [256, 256, 256, 256]],
      [300, 151936, [96, 96, 96, 12]],
    ] as const) {
      const chunks = rowChunks(rows, vocab);
      assert.deepEqual(
        chunks.map(({ start, end }) => end - start),
        sizes,
      );
      chunks.forEach(({ start }, i) => {
        assert.equal(start, i === 0 ? 0 : chunks[i - 1]!.end);
      });
    }
  });

  it('rowsOf returns a slice for some rows and the value itself for all rows', () => {
    const g = new Graph();
    const x = g.input('x', 'float32', [4, 2]);
    assert.equal(rowsOf(g, x, { start: 0, end: 4 }), x);
    g.output('y', rowsOf(g, x, { start: 1, end: 3 }));
    const { y } = interpret(g, { x: ndarray([4, 2], [0, 1, 2, 3, 4, 5, 6, 7]) });
    assert.deepEqual([...y!.data], [2, 3, 4, 5]);
  });
});

describe('objectives', () => {
  const N = 8;
  const logprob = [-1, -1, -1, -1, -0.2, -2, -3, -0.5];
  const old = [-1, -1.6, -0.4, -1.1, -0.9, -1.3, -3, -0.1];
  const advantage = [1, 1, 1, -1, -2, -0.5, 0.3, 1];
  const mask = [1, 1, 1, 1, 1, 1, 0, 1];
  const weight = [0.5, 0.5, 0.2, 0.2, 0.2, 0.2, 0, 0.2];
  const reference = [-1.2, -0.7, -1, -1.4, -0.1, -2.5, -1, -0.3];
  const entropy = [0.3, 1.2, 0.7, 0.1, 2, 0.4, 0.9, 1.5];
  const column = (data: readonly number[]): NdArray => ndarray([N, 1], data);
  const feeds = Object.fromEntries(
    Object.entries({ logprob, old, advantage, mask, weight, reference, entropy }).map(([k, v]) => [k, column(v)]),
  );
  const PLAIN: PpoLoss = { clip: 0.2, clipHigh: 0.2, entropyBonus: 0, klCoefficient: 0 };
  const FULL: PpoLoss = { clip: 0.2, clipHigh: 0.35, entropyBonus: 0.03125, klCoefficient: 0.375 };

  /** Runs the graph. Returns the sums by name and the gradients of the loss. */
  function run(options: PpoLoss, weighted: boolean, at: Record<string, NdArray> = feeds) {
    const g = new Graph();
    const v = Object.fromEntries(Object.keys(feeds).map((name) => [name, g.input(name, 'float32', [N, 1])]));
    const { logprob, entropy, old, advantage, mask, weight, reference } = v as Record<string, Value> &
      Record<'logprob' | 'entropy' | 'old' | 'advantage' | 'mask' | 'weight' | 'reference', Value>;
    const objective = ppoObjective(
      g,
      { logprob, entropy },
      { old, advantage, mask, weight: weighted ? weight : mask, reference },
      options,
    );
    g.output('loss', objective.loss);
    const gradients = backward(g, [{ output: objective.loss, seed: g.scalar(1) }], [logprob, entropy]);
    const values = interpretAll(g, at);
    const perToken = values.get(objective.perToken)!;
    const names = ppoSums(options);
    assert.deepEqual([...perToken.shape], [N, names.length]);
    const sum = (k: number): number =>
      Array.from({ length: N }, (_, t) => perToken.data[t * names.length + k]!).reduce((a, b) => a + b);
    return {
      loss: values.get(objective.loss)!.data[0]!,
      sums: Object.fromEntries(names.map((name, k) => [name, sum(k)])),
      dLogprob: [...values.get(gradients.get(logprob)!)!.data],
      dEntropy: [...values.get(gradients.get(entropy)!)!.data],
    };
  }

  it('PPO is the clipped surrogate with its statistics, summed over trained tokens', () => {
    const { loss, sums } = run(PLAIN, false);
    const expected = { loss: 0, ratio: 0, approxKl: 0, clipped: 0, entropy: 0, tokens: 0 };
    for (let t = 0; t < N; t++) {
      if (mask[t] === 0) continue;
      const r = Math.exp(logprob[t]! - old[t]!);
      expected.loss -= Math.min(r * advantage[t]!, Math.min(Math.max(r, 0.8), 1.2) * advantage[t]!);
      expected.ratio += r;
      expected.approxKl += r - 1 - Math.log(r);
      expected.clipped += Math.abs(r - 1) > 0.2 ? 1 : 0;
      expected.entropy -= logprob[t]!;
      expected.tokens += 1;
    }
    assert.deepEqual(Object.keys(sums), Object.keys(expected));
    for (const [name, value] of Object.entries(expected)) close(sums[name]!, value, name);
    close(loss, expected.loss, 'loss');
    assert.equal(expected.clipped, 5);
  });

  it('PPO has no gradient for clipped tokens and masked tokens', () => {
    const { dLogprob } = run(PLAIN, false);
    for (let t = 0; t < N; t++) {
      const r = Math.exp(logprob[t]! - old[t]!);
      const stopped = mask[t] === 0 || (advantage[t]! > 0 ? r > 1.2 : r < 0.8);
      close(dLogprob[t]!, stopped ? 0 : -r * advantage[t]!, `token ${t}`);
    }
  });

  it('an asymmetric clip range, an entropy bonus and a KL penalty are terms of the weighted loss', () => {
    const { loss, sums } = run(FULL, true);
    const expected = { loss: 0, clipped: 0, policyLoss: 0, exactEntropy: 0, kl: 0, tokens: 7 };
    for (let t = 0; t < N; t++) {
      if (mask[t] === 0) continue;
      const r = Math.exp(logprob[t]! - old[t]!);
      const surrogate = -Math.min(r * advantage[t]!, Math.min(Math.max(r, 0.8), 1.35) * advantage[t]!);
      const away = reference[t]! - logprob[t]!;
      const kl = Math.exp(away) - away - 1;
      expected.loss += weight[t]! * (surrogate - 0.03125 * entropy[t]! + 0.375 * kl);
      expected.clipped += r < 0.8 || r > 1.35 ? 1 : 0;
      expected.policyLoss += surrogate;
      expected.exactEntropy += entropy[t]!;
      expected.kl += kl;
    }
    for (const [name, value] of Object.entries(expected)) close(sums[name]!, value, name);
    close(loss, expected.loss, 'loss');
  });

  for (const [what, options, weighted] of [
    ['the plain surrogate', PLAIN, false],
    ['all terms, weighted', FULL, true],
  ] as const)
    it(`the gradient of ${what} equals finite differences`, () => {
      const { dLogprob, dEntropy } = run(options, weighted);
      const loss = (name: string) => (data: number[]) =>
        run(options, weighted, { ...feeds, [name]: column(data) }).loss;
      differences(loss('logprob'), logprob).forEach((d, t) => {
        close(dLogprob[t]!, d, `log-prob ${t}`, 1e-7);
      });
      differences(loss('entropy'), entropy).forEach((d, t) => {
        close(dEntropy[t]!, d, `entropy ${t}`, 1e-7);
      });
    });
});
