// Adapters with a value head: their estimates, training and files. The optional terms of the loss do not depend on
// how the work is divided between workers.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { RandomStream } from '../../../core/random.js';
import { generalizedAdvantages } from '../../../core/rl/gae.js';
import type { Trajectory } from '../../../core/schema/trajectory.js';
import { ROOT } from '../../../infra/root.mjs';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { parseSafetensors, writeSafetensors } from '../../../ml/hf/safetensors.js';

const fixture = join(ROOT, 'test', 'ml', 'parity', 'generate');
const update = { learningRate: 1e-2, betas: [0.9, 0.99] as const, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };
const TEMPERATURE = 0.8;
const stream = new RandomStream('value head');
const rowOf = (length: number) => ({ tokens: Array.from({ length }, () => stream.int(3, 66)) });

describe('an adapter with a value head', () => {
  let engine: Engine;
  let adapter: Adapter;
  before(async () => {
    engine = await openEngine(fixture, { workers: 2 });
    adapter = engine.initAdapter({ rank: 4, alpha: 8, valueHead: true }, 5);
  });
  after(() => engine.close());

  const drawn = (): Adapter => {
    const draw = new RandomStream('drawn');
    return { ...adapter, values: adapter.values.map(() => 0.1 * draw.normal()) };
  };

  /** Rows with all arrays that a loss may need. The return is 1 if the first token is even. */
  async function trajectories(of: Adapter, count: number): Promise<Trajectory[]> {
    const rows = Array.from({ length: count }, (_, i) => rowOf(12 + ((i * 13) % 50)));
    const old = await engine.logprobs(rows, { adapter: of, temperature: TEMPERATURE });
    const reference = await engine.logprobs(rows, { temperature: TEMPERATURE });
    const values = await engine.values(rows, { adapter: of });
    return rows.map(({ tokens }, i) => {
      const mask = tokens.map((_, t) => (t > 5 ? 1 : 0));
      const reward = tokens[0]! % 2 === 0 ? 1 : 0;
      return {
        tokens,
        mask,
        oldLogprobs: old[i]!,
        advantage: 0,
        ...generalizedAdvantages(
          mask.map((_, t) => (t === mask.length - 1 ? reward : 0)),
          values[i]!,
          { gamma: 1, lambda: 1, mask_T: mask },
        ),
        referenceLogprobs: reference[i]!,
        oldValues: values[i]!,
      };
    });
  }

  it('starts with the same LoRA as without a head, and with estimates of zero', async () => {
    const plain = engine.initAdapter({ rank: 4, alpha: 8 }, 5);
    assert.deepEqual(adapter.values.subarray(0, plain.values.length), plain.values);
    assert.ok(adapter.values.subarray(plain.values.length).every((v) => v === 0));
    assert.deepEqual((await engine.values([rowOf(5)], { adapter }))[0], [0, 0, 0, 0, 0]);
  });

  it('gives a row the same bits alone and in a batch', async () => {
    const rows = [rowOf(30), rowOf(11), rowOf(45), rowOf(7)];
    const together = await engine.values(rows, { adapter: drawn() });
    assert.ok(new Set(together.flat()).size > 80);
    for (const [i, row] of rows.entries())
      assert.deepEqual((await engine.values([row], { adapter: drawn() }))[0], together[i]);
  });

  it('does not change log-probs and answers', async () => {
    const [withHead, row] = [drawn(), rowOf(20)];
    const size = engine.initAdapter({ rank: 4, alpha: 8 }, 5).values.length;
    const without: Adapter = { rank: 4, alpha: 8, values: withHead.values.slice(0, size) };
    const results = [withHead, without].map(async (of) => [
      await engine.logprobs([row], { adapter: of, temperature: 1 }),
      await engine.generate([{ prompt: row.tokens, key: [1, 2] }], {
        adapter: of,
        maxNewTokens: 8,
        temperature: 0,
        stopTokens: [],
      }),
    ]);
    assert.deepEqual(await results[0], await results[1]);
  });

  it('learns the returns: the value loss decreases and the explained variance increases', async () => {
    const rows = await trajectories(adapter, 12);
    let state = { adapter, optimizer: engine.newOptimizerState(adapter) };
    const stats = [];
    for (let step = 0; step < 12; step++) {
      const sums = await engine.gradients(rows, {
        adapter: state.adapter,
        loss: { clip: 0.2, temperature: TEMPERATURE, valueCoefficient: 1 },
      });
      const next = await engine.applyUpdate(state.adapter, state.optimizer, sums, update);
      state = { adapter: next.adapter, optimizer: next.state };
      stats.push(next.stats);
    }
    const [first, last] = [stats[0]!, stats.at(-1)!];
    assert.ok(Math.abs(first.explainedVariance!) < 1e-9, `${first.explainedVariance}`); // all estimates are zero
    assert.ok(last.explainedVariance! > 0.5, `${last.explainedVariance}`);
    assert.ok(last.valueLoss! < first.valueLoss! / 2, `${first.valueLoss} → ${last.valueLoss}`);
    assert.equal(state.adapter.valueHead, true);
  });

  it('gradients with every term and dropout are the same bits on one and two workers', async () => {
    const of = drawn();
    const rows = await trajectories(of, 19);
    const loss = {
      clip: 0.2,
      clipHigh: 0.3,
      temperature: TEMPERATURE,
      average: 'sequence' as const,
      entropyBonus: 0.01,
      klCoefficient: 0.1,
      valueCoefficient: 0.5,
      valueClip: 0.2,
      dropout: { rate: 0.1, key: [3, 4] as const },
    };
    const sums = await engine.gradients(rows, { adapter: of, loss });
    assert.equal(sums.divisor, rows.length);
    assert.ok(sums.kl! > 0 && sums.exactEntropy! > 0);
    const alone = await openEngine(fixture, { workers: 1 });
    try {
      assert.deepEqual(await alone.gradients(rows, { adapter: of, loss }), sums);
    } finally {
      await alone.close();
    }
  });

  it('has a separate file with the tensor names of TRL; the other files are those of a PEFT adapter', () => {
    const [of, { rank, alpha }] = [drawn(), adapter];
    const files = engine.exportAdapter(of);
    const names = ['adapter_config.json', 'adapter_model.safetensors', 'value_head.safetensors'];
    assert.deepEqual([...files.keys()], names);
    assert.deepEqual(engine.importAdapter(files), of);
    const head = parseSafetensors(files.get('value_head.safetensors')!, 'x');
    assert.deepEqual([...head].map(([name, { shape }]) => [name, shape.join()]).sort(), [
      ['v_head.summary.bias', '1'],
      ['v_head.summary.weight', `1,${head.get('v_head.summary.weight')!.data.length}`],
    ]);
    files.delete('value_head.safetensors');
    const without = engine.importAdapter(files);
    assert.equal(without.valueHead, undefined);
    assert.deepEqual(engine.exportAdapter({ rank, alpha, values: without.values }), files);
  });

  it('is refused if it is missing, of another size, or not a value head', async () => {
    const plain = engine.initAdapter({ rank: 4, alpha: 8 }, 5);
    await assert.rejects(engine.values([rowOf(4)], { adapter: plain }), {
      code: 'BAD_ADAPTER',
      message: /no value head/,
    });
    await assert.rejects(engine.values([rowOf(4)], { adapter: { ...plain, valueHead: true } }), {
      code: 'BAD_ADAPTER',
      message: /rank 4 and a value head of this model needs/,
    });
    const withValues = { clip: 0.2, temperature: TEMPERATURE, valueCoefficient: 0.5 };
    const [row] = await trajectories(adapter, 1);
    await assert.rejects(engine.gradients([row!], { adapter: plain, loss: withValues }), {
      code: 'BAD_ADAPTER',
      message: 'the adapter has no value head, which valueCoefficient needs',
    });
    const { returns: _, ...without } = row!;
    await assert.rejects(engine.gradients([without], { adapter, loss: withValues }), {
      code: 'BAD_INPUT',
      message: 'a row has no returns, which a value loss needs',
    });
    const files = engine.exportAdapter(adapter);
    const head = (change: (tensors: ReturnType<typeof parseSafetensors>) => void): Map<string, Uint8Array> => {
      const tensors = parseSafetensors(files.get('value_head.safetensors')!, 'x');
      change(tensors);
      return new Map(files).set('value_head.safetensors', writeSafetensors(tensors));
    };
    const refused = (changed: Map<string, Uint8Array>, message: RegExp) =>
      assert.throws(() => engine.importAdapter(changed), { code: 'BAD_ADAPTER', message });
    refused(
      head((t) => t.delete('v_head.summary.bias')),
      /value_head.safetensors: no tensor v_head.summary.bias/,
    );
    const short = { shape: [1, 3], data: new Float32Array(3) };
    refused(
      head((t) => t.set('v_head.summary.weight', short)),
      /has shape \[1,3\].*hidden_size/,
    );
    refused(
      head((t) => t.set('odd', short)),
      /value_head.safetensors: tensor odd/,
    );
  });
});
