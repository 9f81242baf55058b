// Samples the next token of every row inside a graph, by the rule of ml/decode/sampler.ts: the token at which the running sum of
// probabilities, in token order, passes uniform · their sum. Running sums have 64 bits.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';

/** What a graph samples from. Temperature and the value of topP are inputs. */
export interface GraphSampling {
  greedy?: boolean; // take the largest logit
  topK?: number; // keep the k most likely tokens; the lower number wins between equally likely ones
  topP?: boolean; // keep the fewest most likely of those k whose probabilities reach topP; needs topK
}

/** Stands for a token if the probabilities of a row are not finite. Only greedy sampling does not notice. */
export const NOT_FINITE = -2;

const BLOCK = 256; // probabilities that are summed before the token is located
const BELOW_ONE = 1 - 2 ** -52; // x·BELOW_ONE is the next number below x, or the one after it

/**
 * Logits float32 [rows, vocab] → tokens int64 [rows]. Inputs, unless greedy: scale float32 [1], 1 / temperature; for topP,
 * topP float64 [1].
 * @param uniforms float64 [rows, 1] in (0, 1); not read if greedy
 */
export function sampleTokens(g: Graph, logits: Value, sampling: GraphSampling, uniforms: Value | undefined): Value {
  if (!uniforms) return g.argMax(logits, 1);
  const scaled = g.mul(logits, g.input('scale', 'float32', [1]));
  const { token, total } =
    sampling.topK === undefined ? fromAll(g, scaled, uniforms) : fromMostLikely(g, scaled, sampling, uniforms);
  const rows = logits.shape[0] as number;
  const finite = g.lessOrEqual(total, g.constant('two', [1], Float64Array.of(2))); // false for NaN
  return g.where(g.reshape(finite, [rows]), g.reshape(token, [rows]), g.indices([NOT_FINITE]));
}

interface Located {
  token: Value; // int64 [rows, 1]
  total: Value; // float64 [rows, 1], the sum of the probabilities: about 1
}

/** Locates the token in two levels: the block in which the sum passes the target, then the token in the block. */
function fromAll(g: Graph, scaled: Value, uniforms: Value): Located {
  const [rows, vocab] = scaled.shape as [number, number];
  const block = greatestCommonDivisor(vocab, BLOCK); // equal blocks need no padding
  const blocks = vocab / block;
  const probabilities = g.reshape(g.softmax(scaled), [rows, blocks, block]);
  const sums = g.cast(g.reduceSum(probabilities, [2], false), 'float64');
  const running = g.cumSum(sums, 1);
  const total = last(g, running);
  const target = g.mul(uniforms, total);
  const index = countUpTo(g, running, target);
  // Gather reads from all blocks of all rows: GatherND would copy sizes from the host, which a recorded CUDA graph must not do
  const firsts = g.indices(Array.from({ length: rows }, (_, row) => row * blocks));
  const own = g.gather(g.reshape(probabilities, [rows * blocks, block]), g.add(g.reshape(index, [rows]), firsts));
  const before = g.sub(g.gatherElements(running, index, 1), g.gatherElements(sums, index, 1));
  const within = g.add(g.cumSum(g.cast(own, 'float64'), 1), before);
  const token = g.add(g.mul(index, g.indices([block])), locate(g, within, target));
  return { token, total };
}

/** TopK selects the tokens; a second TopK puts them into token order. */
function fromMostLikely(g: Graph, scaled: Value, { topK, topP }: GraphSampling, uniforms: Value): Located {
  const [values, tokens] = g.topK(scaled, topK!);
  let probabilities = g.cast(g.softmax(values), 'float64');
  if (topP) {
    const running = g.cumSum(probabilities, 1);
    const mass = g.mul(last(g, running), g.input('topP', 'float64', [1]));
    const dropped = g.lessOrEqual(mass, g.sub(running, probabilities)); // the more likely tokens reach topP
    probabilities = g.where(dropped, g.constant('zero', [1], new Float64Array(1)), probabilities);
  }
  const [ordered, positions] = g.topK(tokens, topK!, false);
  const running = g.cumSum(g.gatherElements(probabilities, positions, 1), 1);
  const total = last(g, running);
  const index = locate(g, running, g.mul(uniforms, total));
  return { token: g.gatherElements(ordered, index, 1), total };
}

const last = (g: Graph, x: Value): Value => g.slice(x, 1, (x.shape[1] as number) - 1, x.shape[1] as number);

/**
 * The index of the first running sum above the target, int64 [rows, 1]. It exists, although sums and target are rounded: the
 * target is kept below the last sum. So the index never belongs to a probability of zero, which does not raise the sum.
 */
function locate(g: Graph, running: Value, target: Value): Value {
  const most = g.mul(last(g, running), g.constant('below_one', [1], Float64Array.of(BELOW_ONE)));
  return countUpTo(g, running, g.min(target, most));
}

/** How many numbers of each row are at most the target: int64 [rows, 1]. It sums, because ReduceMax would need cuDNN on CUDA. */
function countUpTo(g: Graph, x: Value, target: Value): Value {
  return g.cast(g.reduceSum(g.cast(g.lessOrEqual(x, target), 'float32'), [1], true), 'int64');
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));
