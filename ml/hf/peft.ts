// Adapters in PEFT's folder format, so that peft and vLLM load them as they are, and theirs load here.
import { GauntletError } from '../../core/errors.js';
import type { DecoderConfig } from '../nn/decoder.js';
import { loraLayout, PROJECTIONS, viewsOf } from '../nn/lora.js';
import { parseSafetensors, type TensorData, writeSafetensors } from './safetensors.js';

export interface AdapterVector {
  rank: number;
  alpha: number;
  values: Float32Array; // flat as loraLayout
}

const CONFIG = 'adapter_config.json';
const TENSORS = 'adapter_model.safetensors';
const TARGETS = PROJECTIONS.map((p) => p.split('.')[1]!).sort();

/** The two files of an adapter folder, byte for byte the same for the same values. */
export function writePeft(c: DecoderConfig, adapter: AdapterVector, baseModel: string): Map<string, Uint8Array> {
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
  const tensors = viewsOf(loraLayout(c, adapter.rank), adapter.values);
  return new Map([
    [CONFIG, new TextEncoder().encode(`${JSON.stringify(config, null, 2)}\n`)],
    [TENSORS, writeSafetensors(tensors)],
  ]);
}

/** @throws {GauntletError} BAD_ADAPTER naming the file, field or tensor that does not fit the model */
export function readPeft(c: DecoderConfig, files: ReadonlyMap<string, Uint8Array>): AdapterVector {
  const fail = (what: string): never => {
    throw new GauntletError('BAD_ADAPTER', what);
  };
  const bytes = (name: string): Uint8Array => files.get(name) ?? fail(`no ${name} in the adapter`);
  const { rank, alpha } = readConfig(bytes(CONFIG), fail);
  const tensors = parseSafetensors(bytes(TENSORS), TENSORS, 'BAD_ADAPTER');
  const layout = loraLayout(c, rank);
  const last = layout.at(-1)!;
  const values = new Float32Array(last.offset + last.shape.reduce((a, b) => a * b, 1));
  for (const { name, shape, offset } of layout) {
    const tensor: TensorData = tensors.get(name) ?? fail(`${TENSORS}: no tensor ${name}`);
    if (tensor.shape.join() !== shape.join())
      fail(`${TENSORS}: tensor ${name} has shape [${tensor.shape}], this model needs [${shape}]`);
    values.set(tensor.data, offset);
    tensors.delete(name);
  }
  if (tensors.size > 0) fail(`${TENSORS}: tensor ${[...tensors.keys()][0]} belongs to no projection of this model`);
  return { rank, alpha, values };
}

function readConfig(bytes: Uint8Array, fail: (what: string) => never): { rank: number; alpha: number } {
  let config: Record<string, unknown> | null = null;
  try {
    config = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    fail(`${CONFIG}: not JSON`);
  }
  if (typeof config !== 'object' || config === null) return fail(`${CONFIG}: not a JSON object`);
  if (config.peft_type !== 'LORA') fail(`${CONFIG}: peft_type ${config.peft_type} is not supported, only LORA`);
  const { r: rank, lora_alpha: alpha, target_modules: targets } = config;
  if (!Number.isSafeInteger(rank) || (rank as number) < 1) fail(`${CONFIG}: r must be a positive integer, is ${rank}`);
  if (typeof alpha !== 'number' || !(alpha > 0)) fail(`${CONFIG}: lora_alpha must be a positive number, is ${alpha}`);
  const named = Array.isArray(targets) ? targets.map(String).sort() : [];
  if (named.join() !== TARGETS.join()) fail(`${CONFIG}: target_modules must be ${TARGETS.join(', ')}`);
  if ((config.bias ?? 'none') !== 'none') fail(`${CONFIG}: bias ${config.bias} is not supported`);
  for (const field of ['use_dora', 'use_rslora', 'modules_to_save', 'fan_in_fan_out', 'layers_to_transform'])
    if (config[field]) fail(`${CONFIG}: ${field} is not supported`);
  for (const field of ['rank_pattern', 'alpha_pattern'])
    if (Object.keys((config[field] as object | null) ?? {}).length > 0) fail(`${CONFIG}: ${field} is not supported`);
  return { rank: rank as number, alpha: alpha as number };
}
