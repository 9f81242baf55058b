// Whole training programs: the forward pass, the loss, and the backward pass derived from them. Gradients leave as one
// flat vector, first layer first, which also makes ONNX Runtime free activations as early as it can.
import { backward } from '../autodiff/backward.js';
import { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { sizeOf } from '../ir/op.js';
import type { DecoderConfig } from '../nn/decoder.js';
import { decoderForward, parameterLayout } from '../nn/decoder.js';
import type { ParameterPlan } from '../nn/parameters.js';
import { adapterLayout, valueEstimates } from '../nn/valueHead.js';
import { rowChunks, rowsOf, scoreTokens } from './head.js';
import { mapInputs, type PpoLoss, ppoObjective, ppoSums, valueObjective } from './objectives.js';

/** Sequences × tokens of one compiled graph. */
export interface BatchShape {
  rows: number;
  length: number;
}
export interface LoraShape {
  rank: number;
  alpha: number;
  valueHead?: boolean;
  dropout?: number; // of its inputs, in training alone
}

/** How a program is laid out; no number in its results depends on it. */
export interface ProgramOptions {
  plan?: ParameterPlan; // parameters that stay in their files; absent: all are inputs
  checkpointing?: boolean; // of a layer only what enters it is kept for the backward pass
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

/** The score graph's outputs: log-probs at a temperature, estimates of the adapter's value head, or both. */
export interface ScoreOutputs {
  temperature?: number;
  values?: boolean;
}

/** ids [N], parameters, adapter → logprobs [N, 1] of target int64 [N, 1], values [N, 1]: as asked for. */
export function buildScoreGraph(
  c: DecoderConfig,
  batch: BatchShape,
  outputs: ScoreOutputs,
  lora?: LoraShape,
  { plan }: ProgramOptions = {},
): Graph {
  const g = new Graph();
  const n = batch.rows * batch.length;
  const net = decoderForward(g, c, batch.rows, batch.length, lora, plan);
  const { temperature } = outputs;
  if (temperature !== undefined) {
    const target = g.input('target', 'int64', [n, 1]);
    const parts = rowChunks(n, c.vocab).map((range) => {
      const [hidden, ids] = [rowsOf(g, net.hidden, range), rowsOf(g, target, range)];
      return scoreTokens(g, hidden, net.head, ids, { temperature }).logprob;
    });
    g.output('logprobs', g.concat(parts, 0));
  }
  if (outputs.values) g.output('values', valueEstimates(g, net.hidden, net.adapter));
  return g;
}

export interface PpoGraphLoss extends PpoLoss {
  temperature: number;
  average: 'token' | 'sequence';
}

/**
 * As the score graph plus old, advantage, mask [N, 1]; also weight where the average is over sequences, reference with a
 * KL penalty, returns (and oldValues, with a clip) with a value loss: each [N, 1]. With fewer `projected` rows than N,
 * also trained int64 [projected]: the only rows that go through the output projection, all those with a mask among them.
 * → gradients (flat as adapterLayout), sums (in the order of ppoSums); with a value loss also valueSums (in the order of
 * VALUE_SUMS) and values [N, 1].
 */
export function buildPpoGraph(
  c: DecoderConfig,
  batch: BatchShape,
  lora: LoraShape,
  loss: PpoGraphLoss,
  { plan, checkpointing }: ProgramOptions = {},
  projected = batch.rows * batch.length,
): Graph {
  const g = new Graph();
  const n = batch.rows * batch.length;
  const net = decoderForward(g, c, batch.rows, batch.length, lora, plan);
  const target = g.input('target', 'int64', [n, 1]);
  const column = (name: string): Value => g.input(name, 'float32', [n, 1]);
  const columns = { old: column('old'), advantage: column('advantage'), mask: column('mask') };
  const weight = loss.average === 'sequence' ? column('weight') : columns.mask;
  const reference = loss.klCoefficient > 0 ? column('reference') : undefined;
  const value = lora.valueHead ? valueEstimates(g, net.hidden, net.adapter) : undefined;
  const trained = projected < n ? g.input('trained', 'int64', [projected]) : undefined;
  const chosen = (x: Value): Value => (trained ? g.gather(x, trained) : x);
  const [hidden, ids] = [chosen(net.hidden), chosen(target)];
  const inputs = mapInputs({ ...columns, weight, reference }, chosen);

  // One tensor holds all that leaves a chunk of rows. So whatever asks first for one of its columns, ONNX Runtime has
  // the whole chunk done, gradient included, and its logits freed, before it begins with another.
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
  const seeds = [{ output: hidden, seed: g.slice(all, 1, 0, c.hidden) }];
  if (value && loss.value) {
    const old = loss.value.clip === undefined ? undefined : column('oldValues');
    const ofValues = { returns: column('returns'), old, mask: columns.mask, weight };
    const objective = valueObjective(g, value, ofValues, loss.value);
    seeds.push({ output: objective.loss, seed: g.scalar(1) });
    g.output('valueSums', g.reduceSum(objective.perToken, [0], false));
    g.output('values', value);
  }
  const keep = checkpointing ? new Set(net.checkpoints) : undefined;
  const gradients = backward(g, seeds, [...net.adapter.values()], keep);
  g.output('gradients', flatten(g, adapterLayout(c, lora), net.adapter, gradients));
  g.output('sums', g.reduceSum(g.slice(all, 1, c.hidden, c.hidden + ppoSums(loss).length), [0], false));
  g.prune();
  return g;
}

/** Full-parameter cross entropy: ids, target, mask, parameters → gradients (flat as parameterLayout), loss. */
export function buildSupervisedGraph(c: DecoderConfig, batch: BatchShape): Graph {
  const g = new Graph();
  const n = batch.rows * batch.length;
  const net = decoderForward(g, c, batch.rows, batch.length);
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
  const gradients = backward(
    g,
    [
      { output: net.hidden, seed: g.slice(all, 1, 0, c.hidden) },
      { output: net.head, seed: dHead }, // a tied embedding adds what comes through its other use
    ],
    [...net.parameters.values()],
  );
  g.output('gradients', flatten(g, parameterLayout(c), net.parameters, gradients));
  g.output('loss', g.reduceSum(g.slice(all, 1, c.hidden, c.hidden + 1), [0, 1], false));
  return g;
}
