// Graphs for training: the forward pass, the loss, and the backward pass derived from them. The gradients are one flat output that
// starts with the first layer. That order also lets ONNX Runtime free activations as early as possible.
import { backward } from '../autodiff/backward.js';
import { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { sizeOf } from '../ir/op.js';
import type { DecoderConfig } from '../nn/config.js';
import { type BatchShape, decoderForward } from '../nn/decoder.js';
import { type LoraShape, loraLayout, parameterLayout } from '../nn/layout.js';
import type { WeightLocations } from '../nn/separateWeights.js';
import { rowChunks, rowsOf, scoreTokens } from './head.js';
import { mapInputs, type PpoLoss, ppoObjective, ppoSums } from './objectives.js';

/** Options that change no result. */
interface ProgramOptions {
  locations?: WeightLocations; // parameters that stay in their files; absent: all are inputs
  checkpointing?: boolean; // keep only the inputs of each layer for the backward pass
  lossScaled?: boolean; // the input lossScale [1] multiplies the gradients, because small ones do not fit into 16 bits
}

const lossScale = (g: Graph, isScaled: boolean): ((seed: Value) => Value) => {
  if (!isScaled) return (seed) => seed;
  const scale = g.input('lossScale', 'float32', [1]);
  return (seed) => g.reshape(g.mul(seed, scale), seed.shape);
};

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

/** Selects the rows that go through the output projection. Input: trained int64 [projected], unless these are all. */
function selection(g: Graph, rows: number, projected: number): (x: Value) => Value {
  if (projected === rows) return (x) => x;
  const trained = g.input('trained', 'int64', [projected]);
  return (x) => g.gather(x, trained);
}

export interface ScoreOutputs {
  temperature: number;
  entropies?: boolean;
}

/**
 * Inputs: those of decoderForward, parameters, adapter; target int64 [N, 1]; if `projected` is less than N, also trained
 * int64 [projected] → logprobs of target and, if `outputs` asks for them, entropies in nats, [N, 1] or [projected, 1].
 */
export function buildScoreGraph(
  c: DecoderConfig,
  batch: BatchShape,
  outputs: ScoreOutputs,
  lora?: LoraShape,
  { locations }: ProgramOptions = {},
  projected = batch.sequences * batch.length,
): Graph {
  const g = new Graph();
  const n = batch.sequences * batch.length;
  const net = decoderForward(g, c, batch, lora, locations);
  const { temperature, entropies = false } = outputs;
  const target = g.input('target', 'int64', [n, 1]);
  const select = selection(g, n, projected);
  const [selected, targets] = [select(net.hidden), select(target)];
  const parts = rowChunks(projected, c.vocab).map((range) => {
    const [hidden, ids] = [rowsOf(g, selected, range), rowsOf(g, targets, range)];
    const { logprob, entropy } = scoreTokens(g, hidden, net.head, ids, { temperature, entropy: entropies });
    return entropy ? g.concat([logprob, entropy], 1) : logprob;
  });
  const all = g.concat(parts, 0);
  g.output('logprobs', entropies ? g.slice(all, 1, 0, 1) : all);
  if (entropies) g.output('entropies', g.slice(all, 1, 1, 2));
  return g;
}

export interface PpoGraphLoss extends PpoLoss {
  temperature: number;
  average: 'token' | 'sequence';
}

/**
 * Inputs: those of the score graph; old (unless supervised), advantage and mask; weight for an average over sequences;
 * reference for a KL penalty; each [N, 1]. If `projected` is less than N, also trained int64 [projected]: only these rows,
 * which include all masked ones, go through the output projection.
 * Outputs: gradients (flat as loraLayout) and sums (in the order of ppoSums); unless supervised, ratios [projected, 1],
 * which are 0 where the mask is.
 */
export function buildPpoGraph(
  c: DecoderConfig,
  batch: BatchShape,
  lora: LoraShape,
  loss: PpoGraphLoss,
  { locations, checkpointing, lossScaled = false }: ProgramOptions = {},
  projected = batch.sequences * batch.length,
): Graph {
  const g = new Graph();
  const n = batch.sequences * batch.length;
  const net = decoderForward(g, c, batch, lora, locations);
  const target = g.input('target', 'int64', [n, 1]);
  const column = (name: string): Value => g.input(name, 'float32', [n, 1]);
  const old = loss.supervised ? undefined : column('old');
  const columns = { old, advantage: column('advantage'), mask: column('mask') };
  const weight = loss.average === 'sequence' ? column('weight') : columns.mask;
  const reference = loss.klCoefficient > 0 ? column('reference') : undefined;
  const select = selection(g, n, projected);
  const [hidden, ids] = [select(net.hidden), select(target)];
  const inputs = mapInputs({ ...columns, weight, reference }, select);

  // One tensor holds all results of a chunk of rows. Whichever of its columns is read first, ONNX Runtime computes the
  // whole chunk, gradient included, and frees its logits before it starts another chunk.
  const chunks = rowChunks(projected, c.vocab).map((range) => {
    const part = (x: Value): Value => rowsOf(g, x, range);
    const scored = scoreTokens(g, part(hidden), net.head, part(ids), {
      temperature: loss.temperature,
      entropy: loss.entropyBonus > 0,
    });
    const objective = ppoObjective(g, scored, mapInputs(inputs, part), loss);
    const { logprob, entropy } = scored;
    const seeds = [{ output: objective.loss, seed: g.scalar(1) }];
    const gradients = backward(g, seeds, entropy ? [logprob, entropy] : [logprob]);
    const pulled = scored.backward({
      logprob: gradients.get(logprob)!,
      entropy: entropy && gradients.get(entropy)!,
    });
    return g.concat([pulled.hidden, objective.perToken], 1);
  });
  const all = g.concat(chunks, 0);
  const scaled = lossScale(g, lossScaled);
  const seeds = [{ output: hidden, seed: scaled(g.slice(all, 1, 0, c.hidden)) }];
  const checkpoints = checkpointing ? new Set(net.checkpoints) : undefined;
  const gradients = backward(g, seeds, [...net.adapter.values()], checkpoints);
  g.output('gradients', flatten(g, loraLayout(c, lora.rank), net.adapter, gradients));
  g.output('sums', g.reduceSum(g.slice(all, 1, c.hidden, c.hidden + ppoSums(loss).length), [0], false));
  const ratio = c.hidden + ppoSums(loss).indexOf('ratio');
  if (!loss.supervised) g.output('ratios', g.slice(all, 1, ratio, ratio + 1));
  g.prune();
  return g;
}

/** Full-parameter cross entropy: ids, target, mask, parameters → gradients (flat as parameterLayout), loss. */
export function buildSupervisedGraph(c: DecoderConfig, batch: BatchShape): Graph {
  const g = new Graph();
  const n = batch.sequences * batch.length;
  const net = decoderForward(g, c, batch);
  const target = g.input('target', 'int64', [n, 1]);
  const mask = g.input('mask', 'float32', [n, 1]);
  let dHead = g.zeros([c.vocab, c.hidden]);
  const chunks = rowChunks(n, c.vocab).map((range) => {
    const [hidden, ids] = [rowsOf(g, net.hidden, range), rowsOf(g, target, range)];
    const scored = scoreTokens(g, hidden, net.head, ids, { temperature: 1 });
    const loss = g.neg(g.mul(scored.logprob, rowsOf(g, mask, range)));
    const seed = { output: g.reduceSum(loss, [0, 1], false), seed: g.scalar(1) };
    const gradients = scored.backward({ logprob: backward(g, [seed], [scored.logprob]).get(scored.logprob)! }, dHead);
    dHead = gradients.head!;
    return g.concat([gradients.hidden, loss], 1);
  });
  const all = g.concat(chunks, 0);
  const seeds = [
    { output: net.hidden, seed: g.slice(all, 1, 0, c.hidden) },
    { output: net.head, seed: dHead }, // a tied embedding adds the gradient of its other use
  ];
  const gradients = backward(g, seeds, [...net.parameters.values()]);
  g.output('gradients', flatten(g, parameterLayout(c), net.parameters, gradients));
  g.output('loss', g.reduceSum(g.slice(all, 1, c.hidden, c.hidden + 1), [0, 1], false));
  return g;
}
