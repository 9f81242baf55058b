// Adapters in PEFT's folder format: peft and vLLM load our adapters, and we load theirs.
import { decodeText } from '../../core/encoding.js';
import { GauntletError } from '../../core/errors.js';
import { isTooDeep } from '../../core/nesting.js';
import { type DecoderConfig, PROJECTIONS } from '../nn/config.js';
import type { TensorData } from '../nn/layout.js';
import { type Adapter, adapterLayout, type LayoutEntry, layoutSize, loraLayout, viewsOf } from '../nn/layout.js';
import { parseSafetensors, writeSafetensors } from './safetensors.js';

/** All files that an adapter folder may have. */
export const ADAPTER_FILES = {
  config: 'adapter_config.json',
  weights: 'adapter_model.safetensors',
  valueHead: 'value_head.safetensors', // a separate file, because PEFT's own files must not change
} as const;
const { config: CONFIG, weights: TENSORS, valueHead: VALUE_HEAD } = ADAPTER_FILES;
const TARGETS = PROJECTIONS.map((p) => p.split('.')[1]!).sort();

/** The files of an adapter folder. Equal adapters give equal bytes. A value head has a third file. */
export function writePeft(c: DecoderConfig, adapter: Adapter, baseModel: string): Map<string, Uint8Array> {
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: baseModel,
    r: adapter.rank,
    lora_alpha: adapter.alpha,
    lora_dropout: 0,
    target_modules: TARGETS,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    modules_to_save: null,
    layers_to_transform: null,
    layers_pattern: null,
    rank_pattern: {},
    alpha_pattern: {},
    use_dora: false,
    use_rslora: false,
    revision: null,
  };
  const tensors = [...viewsOf(adapterLayout(c, adapter), adapter.values)];
  const loraTensors = loraLayout(c, adapter.rank).length;
  const files = new Map<string, Uint8Array>([
    [CONFIG, new TextEncoder().encode(`${JSON.stringify(config, null, 2)}\n`)],
    [TENSORS, writeSafetensors(new Map(tensors.slice(0, loraTensors)))],
  ]);
  if (adapter.valueHead) files.set(VALUE_HEAD, writeSafetensors(new Map(tensors.slice(loraTensors))));
  return files;
}

/** @throws {GauntletError} BAD_ADAPTER naming the file, field or tensor that does not fit the model */
export function readPeft(c: DecoderConfig, files: ReadonlyMap<string, Uint8Array>): Adapter {
  const fail = (what: string): never => {
    throw new GauntletError('BAD_ADAPTER', what);
  };
  const bytes = (name: string): Uint8Array => files.get(name) ?? fail(`no ${name} in the adapter`);
  const { rank, alpha } = readConfig(bytes(CONFIG), fail);
  const tensors = parseSafetensors(bytes(TENSORS), TENSORS, 'BAD_ADAPTER');
  const layers = layersOf(tensors.keys());
  if (layers > 0 && layers !== c.layers)
    fail(`${TENSORS}: the adapter is for ${layers} layers, this model has num_hidden_layers ${c.layers}`);
  const valueHead = files.has(VALUE_HEAD);
  const layout = adapterLayout(c, { rank, valueHead });
  const loraTensors = loraLayout(c, rank).length;
  const found: [offset: number, data: Float32Array][] = []; // all tensors are checked before the vector is allocated
  const take = (file: string, tensors: Map<string, TensorData>, entries: readonly LayoutEntry[]): void => {
    for (const { name, shape, offset } of entries) {
      const tensor: TensorData = tensors.get(name) ?? fail(`${file}: no tensor ${name}`);
      if (tensor.shape.join() !== shape.join())
        fail(
          `${file}: tensor ${name} has shape [${tensor.shape}], this model needs [${shape}]; ${explainShape(name, tensor.shape, shape)}`,
        );
      found.push([offset, tensor.data]);
      tensors.delete(name);
    }
    if (tensors.size > 0) fail(`${file}: tensor ${[...tensors.keys()][0]} belongs to no projection of this model`);
  };
  take(TENSORS, tensors, layout.slice(0, loraTensors));
  if (valueHead)
    take(VALUE_HEAD, parseSafetensors(bytes(VALUE_HEAD), VALUE_HEAD, 'BAD_ADAPTER'), layout.slice(loraTensors));
  const values = new Float32Array(layoutSize(layout));
  for (const [offset, data] of found) values.set(data, offset);
  return { rank, alpha, values, ...(valueHead ? { valueHead } : {}) };
}

/** One more than the highest layer index in the names. */
const layersOf = (names: Iterable<string>): number =>
  1 + [...names].reduce((most, name) => Math.max(most, Number(/\.layers\.(\d+)\./.exec(name)?.[1] ?? -1)), -1);

/** The field of config.json behind each projection's inputs (A's columns) and outputs (B's rows). */
const FIELDS: Record<string, readonly [string, string]> = {
  q_proj: ['hidden_size', 'num_attention_heads · head_dim'],
  k_proj: ['hidden_size', 'num_key_value_heads · head_dim'],
  v_proj: ['hidden_size', 'num_key_value_heads · head_dim'],
  o_proj: ['num_attention_heads · head_dim', 'hidden_size'],
  gate_proj: ['hidden_size', 'intermediate_size'],
  up_proj: ['hidden_size', 'intermediate_size'],
  down_proj: ['intermediate_size', 'hidden_size'],
};

/** Says which field explains the difference between two shapes. */
function explainShape(name: string, actual: readonly number[], needed: readonly number[]): string {
  const match = /\.(\w+)\.lora_([AB])\.weight$/.exec(name);
  if (!match) return 'hidden_size differs between the models'; // the value head
  const [, projection, side] = match;
  const [rankAxis, sizeAxis] = side === 'A' ? [0, 1] : [1, 0];
  if (actual[rankAxis] !== needed[rankAxis])
    return `${CONFIG} says r ${needed[rankAxis]}, the tensor has ${actual[rankAxis]}`;
  const field = FIELDS[projection!]![side === 'A' ? 0 : 1];
  return `${field} is ${actual[sizeAxis]} in the adapter's model and ${needed[sizeAxis]} in this one`;
}

/** Initializations that leave the base unchanged. The others change it, and the adapter's files do not contain that change. */
const PLAIN_INITS = [true, false, undefined, null, 'gaussian', 'orthogonal', 'eva'];
/** Fields of other kinds of adapter. They must be absent or empty. */
const OTHER_KINDS = [
  'use_dora',
  'use_rslora',
  'use_qalora',
  'use_bdlora',
  'lora_bias',
  'modules_to_save',
  'fan_in_fan_out',
  'layers_to_transform',
  'layer_replication',
  'exclude_modules',
  'target_parameters',
  'trainable_token_indices',
  'alora_invocation_tokens',
  'arrow_config',
  'kasa_config',
  'monteclora_config',
  'velora_config',
  'rank_pattern',
  'alpha_pattern',
];

const MAX_CONFIG = 1 << 20; // bytes; ordinary ones have a thousandth of it

function readConfig(bytes: Uint8Array, fail: (what: string) => never): { rank: number; alpha: number } {
  let config: Record<string, unknown> | null = null;
  if (bytes.length > MAX_CONFIG) fail(`${CONFIG}: has ${bytes.length} bytes, at most ${MAX_CONFIG} are supported`);
  try {
    config = JSON.parse(decodeText(bytes));
  } catch {
    fail(`${CONFIG}: not JSON`);
  }
  if (isTooDeep(config)) fail(`${CONFIG}: nested too deep`);
  if (typeof config !== 'object' || config === null) return fail(`${CONFIG}: not a JSON object`);
  if (config.peft_type !== 'LORA') fail(`${CONFIG}: peft_type ${config.peft_type} is not supported, only LORA`);
  const { r: rank, lora_alpha: alpha, target_modules: targets } = config;
  if (!Number.isSafeInteger(rank) || (rank as number) < 1) fail(`${CONFIG}: r must be a positive integer, is ${rank}`);
  if (typeof alpha !== 'number' || !(alpha > 0)) fail(`${CONFIG}: lora_alpha must be a positive number, is ${alpha}`);
  const named = Array.isArray(targets) ? targets.map(String).sort() : [];
  if (named.join() !== TARGETS.join()) fail(`${CONFIG}: target_modules must be ${TARGETS.join(', ')}`);
  if ((config.bias ?? 'none') !== 'none') fail(`${CONFIG}: bias ${config.bias} is not supported`);
  for (const field of OTHER_KINDS) if (isSet(config[field])) fail(`${CONFIG}: ${field} is not supported`);
  if (!PLAIN_INITS.includes(config.init_lora_weights as never))
    fail(`${CONFIG}: init_lora_weights ${config.init_lora_weights} changes the base model, which is not supported`);
  return { rank: rank as number, alpha: alpha as number };
}

const isSet = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
