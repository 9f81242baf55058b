// A linear estimate of the return on the last hidden state. It trains with the LoRA tensors and lies behind them in the
// flat vector; its names are TRL's (AutoModelForCausalLMWithValueHead).
import type { Graph } from '../ir/graph.js';
import type { Value } from '../ir/op.js';
import type { DecoderConfig } from './decoder.js';
import { type LayoutEntry, layoutSize, loraLayout } from './lora.js';

export const VALUE_WEIGHT = 'v_head.summary.weight'; // [1, hidden]
export const VALUE_BIAS = 'v_head.summary.bias'; // [1]

/** Every tensor of an adapter with its place in the flat vector: the LoRA's, then those of a value head. */
export function adapterLayout(
  c: DecoderConfig,
  { rank, valueHead }: { rank: number; valueHead?: boolean },
): LayoutEntry[] {
  const lora = loraLayout(c, rank);
  if (!valueHead) return lora;
  const offset = layoutSize(lora);
  return [
    ...lora,
    { name: VALUE_WEIGHT, shape: [1, c.hidden], offset },
    { name: VALUE_BIAS, shape: [1], offset: offset + c.hidden },
  ];
}

/** The estimate after each token, hidden·wᵀ + b: [rows, 1]. Adds the head's tensors to `adapter` as inputs. */
export function valueEstimates(g: Graph, hidden: Value, adapter: Map<string, Value>): Value {
  const weight = g.input(VALUE_WEIGHT, 'float32', [1, hidden.shape[1]!]);
  const bias = g.input(VALUE_BIAS, 'float32', [1]);
  adapter.set(VALUE_WEIGHT, weight).set(VALUE_BIAS, bias);
  return g.gemm(hidden, weight, { transB: true, c: bias });
}
