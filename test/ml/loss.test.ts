// The loss graphs against plain arithmetic, and the hand-derived gradient of the output projection against the
// derived one, in the f64 interpreter.
import assert from 'node:assert/strict';
import { RandomStream } from '../../core/random.js';
import { backward } from '../../ml/autodiff/backward.js';
import { Graph } from '../../ml/ir/graph.js';
import { interpret, interpretAll, type NdArray, ndarray } from '../../ml/ir/interpret.js';
import type { Value } from '../../ml/ir/op.js';
import { tokenLogprobs } from '../../ml/loss/head.js';
import { crossEntropyObjective, PPO_SUMS, ppoObjective } from '../../ml/loss/objectives.js';

const [ROWS, WIDTH, VOCAB] = [7, 4, 9];
const random = new RandomStream('loss');
const draw = (...shape: number[]): NdArray =>
  ndarray(
    shape,
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 2 * random.uniform() - 1),
  );
const close = (a: number, b: number, why: string): void =>
  assert.ok(Math.abs(a - b) < 1e-12 * Math.max(1, Math.abs(b)), `${why}: ${a} is not ${b}`);
const allClose = (a: NdArray, b: NdArray, why: string): void => {
  assert.deepEqual([...a.shape], [...b.shape]);
  a.data.forEach((v, k) => {
    close(v, b.data[k]!, `${why}[${k}]`);
  });
};

describe('token log-probs', () => {
  const feeds = {
    hidden: draw(ROWS, WIDTH),
    head: draw(VOCAB, WIDTH),
    target: ndarray([ROWS, 1], [3, 0, 3, 8, 1, 1, 5]),
    d: draw(ROWS, 1),
  };
  const inputs = (g: Graph): [hidden: Value, head: Value, target: Value, d: Value] => [
    g.input('hidden', 'float32', [ROWS, WIDTH]),
    g.input('head', 'float32', [VOCAB, WIDTH]),
    g.input('target', 'int64', [ROWS, 1]),
    g.input('d', 'float32', [ROWS, 1]),
  ];

  it('are log softmax of the tempered logits at the target', () => {
    const g = new Graph();
    const [hidden, head, target] = inputs(g);
    g.output('logprob', tokenLogprobs(g, hidden, head, target, { temperature: 0.5 }).logprob);
    const { logprob } = interpret(g, feeds);
    for (let r = 0; r < ROWS; r++) {
      const logits = Array.from(
        { length: VOCAB },
        (_, v) =>
          Array.from(
            { length: WIDTH },
            (_, k) => feeds.hidden.data[r * WIDTH + k]! * feeds.head.data[v * WIDTH + k]!,
          ).reduce((a, b) => a + b) / 0.5,
      );
      const expected = logits[feeds.target.data[r]!]! - Math.log(logits.reduce((s, z) => s + Math.exp(z), 0));
      close(logprob!.data[r]!, expected, `row ${r}`);
    }
  });

  for (const chunkRows of [undefined, 3]) {
    it(`have the gradient that differentiation derives${chunkRows ? `, in chunks of ${chunkRows}` : ''}`, () => {
      const g = new Graph();
      const [hidden, head, target, d] = inputs(g);
      const scored = tokenLogprobs(g, hidden, head, target, { temperature: 0.5, chunkRows });
      const derived = backward(g, [{ output: scored.logprob, seed: d }], [hidden, head]);
      const local = scored.backward(d, true);
      const values = interpretAll(g, feeds);
      allClose(values.get(local.hidden)!, values.get(derived.get(hidden)!)!, 'hidden');
      allClose(values.get(local.head!)!, values.get(derived.get(head)!)!, 'head');
      assert.equal(scored.backward(d, false).head, undefined);
    });
  }
});

describe('objectives', () => {
  const N = 8;
  const logprob = [-1, -1, -1, -1, -0.2, -2, -3, -0.5];
  const old = [-1, -1.6, -0.4, -1.1, -0.9, -1.3, -3, -0.1];
  const advantage = [1, 1, 1, -1, -2, -0.5, 0.3, 1];
  const mask = [1, 1, 1, 1, 1, 1, 0, 1];
  const column = (data: number[]): NdArray => ndarray([N, 1], data);
  const feeds = { logprob: column(logprob), old: column(old), advantage: column(advantage), mask: column(mask) };

  it('PPO is the clipped surrogate with its statistics, summed over trained tokens', () => {
    const g = new Graph();
    const v = Object.keys(feeds).map((name) => g.input(name, 'float32', [N, 1])) as [Value, Value, Value, Value];
    const objective = ppoObjective(g, ...v, 0.2);
    g.output('sums', objective.sums);
    g.output('loss', objective.loss);
    const out = interpret(g, feeds);
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
    PPO_SUMS.forEach((name, k) => {
      close(out.sums!.data[k]!, expected[name], name);
    });
    close(out.loss!.data[0]!, expected.loss, 'loss');
    assert.equal(expected.clipped, 5);
  });

  it('PPO passes no gradient where clipping makes the token worse off, nor where the mask is 0', () => {
    const g = new Graph();
    const v = Object.keys(feeds).map((name) => g.input(name, 'float32', [N, 1])) as [Value, Value, Value, Value];
    const { loss } = ppoObjective(g, ...v, 0.2);
    const gradient = backward(g, [{ output: loss, seed: g.scalar(1) }], [v[0]]).get(v[0])!;
    const { data } = interpretAll(g, feeds).get(gradient)!;
    for (let t = 0; t < N; t++) {
      const r = Math.exp(logprob[t]! - old[t]!);
      const stopped = mask[t] === 0 || (advantage[t]! > 0 ? r > 1.2 : r < 0.8);
      close(data[t]!, stopped ? 0 : -r * advantage[t]!, `token ${t}`);
    }
  });

  it('cross entropy sums −log p over trained tokens', () => {
    const g = new Graph();
    const [lp, m] = ['logprob', 'mask'].map((name) => g.input(name, 'float32', [N, 1])) as [Value, Value];
    g.output('loss', crossEntropyObjective(g, lp, m));
    close(interpret(g, feeds).loss!.data[0]!, 6.7, 'loss');
  });
});
