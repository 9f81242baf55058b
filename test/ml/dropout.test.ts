// Tests dropout of the LoRA inputs: its masks pass tests of randomness in every direction, and depend only on the key, the row and
// the position.
import assert from 'node:assert/strict';
import { deriveKey, philox, uniformAt } from '../../core/base/random.js';
import { backward } from '../../ml/autodiff/backward.js';
import { GraphSession, tensor } from '../../ml/device/runtime.js';
import type { Adapter } from '../../ml/engine/engine.js';
import { Graph } from '../../ml/ir/graph.js';
import type { Value } from '../../ml/ir/op.js';
import type { DecoderConfig } from '../../ml/nn/config.js';
import { PROJECTIONS, type Projection } from '../../ml/nn/config.js';
import { decoderForward } from '../../ml/nn/decoder.js';
import { LoraDropout } from '../../ml/nn/dropout.js';
import { layoutSize, loraLayout, parameterLayout, viewsOf } from '../../ml/nn/layout.js';
import { encodeModel } from '../../ml/onnx/encode.js';
import { relativeError } from '../../ml/selfTest/selfTest.js';
import { Batch, dropoutFeeds } from '../../ml/train/batch.js';
import { TrainSession } from '../../ml/train/trainSession.js';
import { interpret, interpretAll, type NdArray, ndarray } from './reference/interpret.js';

const [ROWS, WIDTH] = [512, 96];
const SITES: readonly [number, Projection][] = [
  [0, 'self_attn.q_proj'],
  [0, 'self_attn.k_proj'],
  [1, 'self_attn.q_proj'],
];

/** The masks that ONNX Runtime computes for each site: 1 if an element stays. */
async function masks(rate: number, name = 'key'): Promise<Float32Array[]> {
  const g = new Graph();
  const x = g.input('x', 'float32', [ROWS, WIDTH]);
  const dropout = new LoraDropout(g, ROWS, rate);
  SITES.forEach(([layer, projection], i) => {
    g.output(`y${i}`, dropout.apply(x, layer, projection));
  });
  const batch = new Batch(Array.from({ length: 4 }, () => ({ tokens: new Array(ROWS / 4).fill(0) })));
  const session = await GraphSession.open(g);
  const out = await session.run({
    x: tensor(new Float32Array(ROWS * WIDTH).fill(1), [ROWS, WIDTH]),
    ...dropoutFeeds(batch, [0, 1, 2, 3], deriveKey(name)),
  });
  await session.close();
  return SITES.map((_, i) => out[`y${i}`]!.data as Float32Array);
}

/** Sums of products of two masks, standardized so that their variance is 1 if the masks are independent. */
function deviations(left: number[][], right: number[][], rate: number): number[] {
  const z = (m: number): number => (m - (1 - rate)) / Math.sqrt(rate * (1 - rate));
  return left.map((a, i) => a.reduce((sum, m, k) => sum + z(m) * z(right[i]![k]!), 0) / Math.sqrt(a.length));
}
const row = (m: Float32Array, r: number): number[] => [...m.subarray(r * WIDTH, (r + 1) * WIDTH)];
const column = (m: Float32Array, f: number): number[] => Array.from({ length: ROWS }, (_, r) => m[r * WIDTH + f]!);
const variance = (list: readonly number[]): number => list.reduce((s, v) => s + v * v, 0) / list.length;

describe('dropout masks', () => {
  for (const rate of [0.05, 0.5])
    it(`drop a share of ${rate}, in every row and every column`, async () => {
      for (const mask of await masks(rate)) {
        assert.ok(mask.every((m) => m === 0 || m === 1));
        const share = (list: ArrayLike<number>): number => Array.from(list).filter((m) => m === 0).length / list.length;
        const sd = (n: number): number => Math.sqrt((rate * (1 - rate)) / n);
        assert.ok(Math.abs(share(mask) - rate) < 4 * sd(mask.length), `${share(mask)}`);
        const rows = Array.from({ length: ROWS }, (_, r) => (share(row(mask, r)) - rate) / sd(WIDTH));
        const columns = Array.from({ length: WIDTH }, (_, f) => (share(column(mask, f)) - rate) / sd(ROWS));
        // the mean of 512 squares of standard normals is 1 ± 0.0625, that of 96 squares is 1 ± 0.14
        assert.ok(Math.abs(variance(rows) - 1) < 0.3, `rows vary by ${variance(rows)}`);
        assert.ok(Math.abs(variance(columns) - 1) < 0.6, `columns vary by ${variance(columns)}`);
      }
    });

  it('are independent between neighbouring rows, columns, layers and projections', async () => {
    const rate = 0.3;
    const all = await masks(rate);
    const first = all[0]!;
    const rows = Array.from({ length: ROWS }, (_, r) => row(first, r));
    const columns = Array.from({ length: WIDTH }, (_, f) => column(first, f));
    const pairs: Record<string, number[]> = {
      rows: deviations(rows.slice(1), rows, rate),
      columns: deviations(columns.slice(1), columns, rate),
      sequences: deviations(rows.slice(ROWS / 4), rows, rate), // the same position in the next row of the minibatch
    };
    all.slice(1).forEach((other, i) => {
      pairs[`site ${i}`] = deviations(
        rows.map((_, r) => row(other, r)),
        rows,
        rate,
      );
    });
    for (const [what, list] of Object.entries(pairs)) {
      const mean = list.reduce((a, b) => a + b) / list.length;
      assert.ok(Math.abs(mean) < 4 / Math.sqrt(list.length), `${what}: mean ${mean}`);
      assert.ok(Math.abs(variance(list) - 1) < 0.6, `${what}: variance ${variance(list)}`);
    }
  });

  it('depend on the key', async () => {
    const [a, b, c] = [await masks(0.5), await masks(0.5), await masks(0.5, 'other')];
    assert.deepEqual(a, b);
    const equal = a[0]!.filter((m, k) => m === c[0]![k]).length / a[0]!.length;
    assert.ok(Math.abs(equal - 0.5) < 0.01, `${equal} are equal`);
  });

  it('follow the formula: (a + column + site)·(b + column + site) modulo 2³² against a threshold', async () => {
    const rate = 0.3;
    const [mask] = await masks(rate);
    const key = deriveKey('key');
    const columns = deriveKey('dropout columns');
    const [s, t] = philox([0, 0, 0, 0], deriveKey('dropout sites')) as [number, number];
    for (const [r, f] of [
      [0, 0],
      [5, 17],
      [300, 95],
      [511, 40],
    ] as const) {
      const [a, b] = philox([r % (ROWS / 4), Math.floor(r / (ROWS / 4)), 0, 0], key) as [number, number];
      const [c, d] = philox([f, 0, 0, 0], columns) as [number, number];
      const product = Math.imul(a + c + s, (b | 1) + (d & ~1) + (t & ~1));
      assert.equal(mask![r * WIDTH + f], product <= 0.7 * 2 ** 32 - 2 ** 31 - 1 ? 1 : 0, `${r}, ${f}`);
    }
  });
});

const CONFIG: DecoderConfig = {
  hidden: 8,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 4,
  ffn: 12,
  vocab: 11,
  normEps: 1e-6,
  ropeTheta: 1e4,
  biases: [],
  qkNorm: false,
  tied: true,
};
const uniforms = (size: number, name: string): Float32Array => {
  const key = deriveKey(name);
  return Float32Array.from({ length: size }, (_, k) => uniformAt(key, k) - 0.5);
};
const parameters = uniforms(layoutSize(parameterLayout(CONFIG)), 'parameters');

describe('a decoder with dropout', () => {
  const [rank, length] = [2, 4];
  const lora = { rank, alpha: 4 };
  const values = uniforms(layoutSize(loraLayout(CONFIG, rank)), 'adapter');
  const arrays = (views: ReturnType<typeof viewsOf>): Record<string, NdArray> =>
    Object.fromEntries([...views].map(([name, v]) => [name, ndarray(v.shape, v.data)]));
  const feeds = (key: string): Record<string, NdArray> => {
    const pack = new Batch([{ tokens: new Array(length).fill(0) }]);
    const drawn = dropoutFeeds(pack, [0], deriveKey(key));
    const [a, b] = [drawn.dropoutA!, drawn.dropoutB!].map(({ data }) => (data as Int32Array).subarray(0, length));
    return {
      ids: ndarray([length], [3, 1, 4, 1]),
      dropoutA: ndarray([length, 1], a!),
      dropoutB: ndarray([length, 1], b!),
      ...arrays(viewsOf(parameterLayout(CONFIG), parameters)),
      ...arrays(viewsOf(loraLayout(CONFIG, rank), values)),
    };
  };
  const build = (dropout?: number): { g: Graph; hidden: Value; adapter: Map<string, Value> } => {
    const g = new Graph();
    const { hidden, adapter } = decoderForward(g, CONFIG, { sequences: 1, length }, { ...lora, dropout });
    g.output('hidden', hidden);
    return { g, hidden, adapter };
  };

  it('has gradients that agree with finite differences through the mask', () => {
    const { g, hidden, adapter } = build(0.4);
    const seed = uniforms(length * CONFIG.hidden, 'seed');
    const gradients = backward(
      g,
      [{ output: hidden, seed: g.constant('seed', [length, CONFIG.hidden], seed) }],
      [...adapter.values()],
    );
    const at = feeds('a');
    const computed = interpretAll(g, at);
    const objective = (point: Record<string, NdArray>): number =>
      interpret(g, point).hidden!.data.reduce((sum, v, k) => sum + v * seed[k]!, 0);
    for (const name of [...adapter.keys()].filter((n) => /q_proj|down_proj/.test(n))) {
      const gradient = computed.get(gradients.get(adapter.get(name)!)!)!;
      const { shape, data } = at[name]!;
      for (let k = 0; k < data.length; k += 5) {
        const moved = (by: number): number =>
          objective({ ...at, [name]: { shape, data: data.map((v, i) => (i === k ? v + by : v)) } });
        const expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert.ok(Math.abs(gradient.data[k]! - expected) < 1e-7 * Math.max(1, Math.abs(expected)), `${name}[${k}]`);
      }
    }
  });

  it('keeps the mean of the LoRA output over many masks', () => {
    const g = new Graph();
    const x = g.input('x', 'float32', [1, 6]);
    const dropout = new LoraDropout(g, 1, 0.25);
    g.output('y', g.scale(dropout.apply(x, 0, PROJECTIONS[0]), 1 / (1 - 0.25)));
    const input = ndarray([1, 6], [1, -2, 3, 0.5, -1, 4]);
    const mean = new Float64Array(6);
    const draws = 4000;
    for (let i = 0; i < draws; i++) {
      const [a, b] = philox([0, i, 0, 0], deriveKey('mean')) as [number, number];
      const fed = { dropoutA: ndarray([1, 1], [a | 0]), dropoutB: ndarray([1, 1], [b | 1]) };
      interpret(g, { x: input, ...fed }).y!.data.forEach((v, k) => {
        mean[k]! += v / draws;
      });
    }
    // the standard deviation of a mean of 4000 draws of x·mask/keep is |x|·√(rate/keep/4000) = 0.009·|x|
    mean.forEach((v, k) => {
      assert.ok(Math.abs(v - input.data[k]!) < 0.04 * Math.abs(input.data[k]!), `${v} is not about ${input.data[k]}`);
    });
  });

  it('scales the LoRA output by 1 / (1 − rate), and equals the plain decoder at a tiny rate', () => {
    const near = interpret(build(1e-9).g, feeds('a')).hidden!;
    const plain = interpret(build().g, feeds('a')).hidden!;
    assert.ok(relativeError(near.data, plain.data) < 1e-6);
    const dropped = interpret(build(0.4).g, feeds('a')).hidden!;
    assert.ok(relativeError(dropped.data, plain.data) > 1e-2);
  });

  it('builds the plain graph for rate 0', () => {
    assert.deepEqual(encodeModel(build(0).g), encodeModel(build().g));
  });
});

describe('training with dropout', () => {
  const adapter: Adapter = { rank: 2, alpha: 4, values: uniforms(layoutSize(loraLayout(CONFIG, 2)), 'adapter') };
  const rowOf = (length: number, name: string) => {
    const key = deriveKey(name);
    const tokens = Array.from({ length }, (_, t) => Math.floor(uniformAt(key, t) * CONFIG.vocab));
    return {
      tokens,
      mask: tokens.map((_, t): number => (t > 2 ? 1 : 0)),
      oldLogprobs: tokens.map(() => -2.4),
      advantage: 0.7,
    };
  };
  const rows = [rowOf(9, 'a'), rowOf(12, 'b'), rowOf(20, 'c')];
  const LOSS = { clip: 0.2, temperature: 1 };
  const dropout = { rate: 0.3, key: deriveKey('minibatch') };
  let session: TrainSession;
  before(() => {
    session = new TrainSession({ config: CONFIG, weights: viewsOf(parameterLayout(CONFIG), parameters) });
  });
  after(() => session.close());

  it('the mask depends on the index in the minibatch, not on shards or padding', async () => {
    const whole = await session.ppo(rows, adapter, { ...LOSS, dropout });
    const parts = [
      await session.ppo([rows[2]!, rows[0]!], adapter, { ...LOSS, dropout }, [2, 0]),
      await session.ppo([rows[1]!], adapter, { ...LOSS, dropout }, [1]),
    ];
    const sum = parts[0]!.gradients.map((v, k) => v + parts[1]!.gradients[k]!);
    assert.ok(relativeError(sum, whole.gradients) < 1e-5);
    const long = rowOf(90, 'd');
    const untrained = { ...long, mask: long.mask.map(() => 0) };
    const padded = await session.ppo([...rows, untrained], adapter, { ...LOSS, dropout });
    assert.ok(relativeError(padded.gradients, whole.gradients) < 1e-5);
    const elsewhere = await session.ppo(rows, adapter, { ...LOSS, dropout }, [3, 4, 5]);
    assert.ok(relativeError(elsewhere.gradients, whole.gradients) > 1e-2);
  });

  it('recomputed layers have the same mask, bit for bit', async () => {
    const recomputing = new TrainSession(
      { config: CONFIG, weights: viewsOf(parameterLayout(CONFIG), parameters) },
      { checkpointing: true },
    );
    const again = await recomputing.ppo(rows, adapter, { ...LOSS, dropout });
    await recomputing.close();
    assert.deepEqual(again, await session.ppo(rows, adapter, { ...LOSS, dropout }));
  });

  it('the mask depends on the key, and scores have no dropout', async () => {
    const first = await session.ppo(rows, adapter, { ...LOSS, dropout });
    assert.deepEqual(await session.ppo(rows, adapter, { ...LOSS, dropout }), first);
    const other = await session.ppo(rows, adapter, { ...LOSS, dropout: { ...dropout, key: deriveKey('next') } });
    assert.ok(relativeError(other.gradients, first.gradients) > 1e-2);
    const scored = await session.score(rows, adapter, 1);
    const own = rows.map((row, b) => ({ ...row, oldLogprobs: scored[b]! }));
    const sums = await session.ppo(own, adapter, LOSS);
    assert.equal(sums.ratio, sums.tokens);
    assert.notEqual((await session.ppo(own, adapter, { ...LOSS, dropout })).ratio, sums.ratio);
  });
});
