// A linear estimate of the return from the last hidden state, as in TRL. It trains together with the LoRA tensors.
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import { VALUE_BIAS, VALUE_WEIGHT } from './tensorNames.js';

/** The estimate after each token, hidden·wᵀ + b: [N, 1]. Adds the head's tensors to `adapter` as inputs. */
export function valueEstimates(g: Graph, hidden: Value, adapter: Map<string, Value>): Value {
  const weight = g.input(VALUE_WEIGHT, 'float32', [1, hidden.shape[1]!]);
  const bias = g.input(VALUE_BIAS, 'float32', [1]);
  adapter.set(VALUE_WEIGHT, weight).set(VALUE_BIAS, bias);
  return g.gemm(hidden, weight, { transB: true, c: bias });
}
