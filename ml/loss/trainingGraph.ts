// Whole training programs: the forward pass, the loss, and the backward pass derived from them. Gradients leave as one
// flat vector, first layer first, which also makes ONNX Runtime free activations as early as it can.
import { backward } from '../autodiff/backward.js';
import { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { sizeOf } from '../ir/op.js';
import type { DecoderConfig } from '../nn/decoder.js';
import { decoderForward, parameterLayout } from '../nn/decoder.js';
import { loraLayout } from '../nn/lora.js';
import { tokenLogprobs } from './head.js';
import { crossEntropyObjective, ppoObjective } from './objectives.js';

/** Sequences × tokens of one compiled graph. */
export interface BatchShape {
  rows: number;
  length: number;
}
export interface LoraShape {
  rank: number;
  alpha: number;
}

function flatten(
  g: Graph,
  order: readonly { name: string }[],
  values: ReadonlyMap<string, Value>,
  gradients: ReadonlyMap<Value, Value>,
): Value {
  const parts = order.map(({ name }) => {
    const value = values.get(name)!;
    return g.reshape(gradients.get(value)!, [sizeOf(value.shape)]);
  });
  return g.concat(parts, 0);
}

/** ids [N], target [N, 1] int64, parameters, adapter → logprobs [N, 1]. */
export function buildScoreGraph(c: DecoderConfig, batch: BatchShape, temperature: number, lora?: LoraShape): Graph {
  const g = new Graph();
  const net = decoderForward(g, c, batch.rows, batch.length, lora);
  const target = g.input('target', 'int64', [batch.rows * batch.length, 1]);
  g.output('logprobs', tokenLogprobs(g, net.hidden, net.head, target, { temperature }).logprob);
  return g;
}

/** As the score graph plus old, advantage, mask [N, 1] → gradients (flat as loraLayout), sums [6], logprobs [N, 1]. */
export function buildPpoGraph(
  c: DecoderConfig,
  batch: BatchShape,
  lora: LoraShape,
  loss: { clip: number; temperature: number },
): Graph {
  const g = new Graph();
  const n = batch.rows * batch.length;
  const net = decoderForward(g, c, batch.rows, batch.length, lora);
  const target = g.input('target', 'int64', [n, 1]);
  const [old, advantage, mask] = ['old', 'advantage', 'mask'].map((name) => g.input(name, 'float32', [n, 1])) as [
    Value,
    Value,
    Value,
  ];
  const scored = tokenLogprobs(g, net.hidden, net.head, target, { temperature: loss.temperature });
  const objective = ppoObjective(g, scored.logprob, old, advantage, mask, loss.clip);
  const dLogprob = backward(g, [{ output: objective.loss, seed: g.scalar(1) }], [scored.logprob]).get(scored.logprob)!;
  const seed = scored.backward(dLogprob, false).hidden;
  const gradients = backward(g, [{ output: net.hidden, seed }], [...net.adapter.values()]);
  g.output('gradients', flatten(g, loraLayout(c, lora.rank), net.adapter, gradients));
  g.output('sums', objective.sums);
  g.output('logprobs', scored.logprob);
  return g;
}

/** Full-parameter cross entropy: ids, target, mask, parameters → gradients (flat as parameterLayout), loss. */
export function buildSupervisedGraph(c: DecoderConfig, batch: BatchShape): Graph {
  const g = new Graph();
  const n = batch.rows * batch.length;
  const net = decoderForward(g, c, batch.rows, batch.length);
  const target = g.input('target', 'int64', [n, 1]);
  const mask = g.input('mask', 'float32', [n, 1]);
  const scored = tokenLogprobs(g, net.hidden, net.head, target, { temperature: 1 });
  const loss = crossEntropyObjective(g, scored.logprob, mask);
  const dLogprob = backward(g, [{ output: loss, seed: g.scalar(1) }], [scored.logprob]).get(scored.logprob)!;
  const seeds = scored.backward(dLogprob, true);
  const gradients = backward(
    g,
    [
      { output: net.hidden, seed: seeds.hidden },
      { output: net.head, seed: seeds.head! }, // a tied embedding adds what comes through its other use
    ],
    [...net.parameters.values()],
  );
  g.output('gradients', flatten(g, parameterLayout(c), net.parameters, gradients));
  g.output('loss', loss);
  return g;
}
