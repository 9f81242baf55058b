// Reads and writes adapters in PEFT's folder format: peft and vLLM load our adapters, and we load theirs.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { decodeText } from '../../core/base/encoding.js';
import { GauntletError } from '../../core/base/errors.js';
import { isTooDeep } from '../../core/base/nesting.js';
import { type DecoderConfig, PROJECTIONS } from '../nn/config.js';
import type { TensorData } from '../nn/layout.js';
import { type Adapter, layoutSize, loraLayout, loraViews } from '../nn/layout.js';
import { readWhole } from './files.js';
import { parseSafetensors, writeSafetensors } from './safetensors.js';

/** The files of an adapter folder. */
export const ADAPTER_FILES = {
  config: 'adapter_config.json',
  weights: 'adapter_model.safetensors',
} as const;
const { config: CONFIG, weights: TENSORS } = ADAPTER_FILES;
const MAX_FILE = 2 ** 31; // in bytes; far above every published adapter
const TARGETS = PROJECTIONS.map((p) => p.split('.')[1]!).sort();

/** The files of an adapter folder that exist. @throws {GauntletError} BAD_ADAPTER if one cannot be read */
export function readAdapterFolder(folder: string): Map<string, Uint8Array> {
  const there = Object.values(ADAPTER_FILES).filter((name) => existsSync(join(folder, name)));
  return new Map(there.map((name) => [name, readWhole(join(folder, name), MAX_FILE, 'BAD_ADAPTER')]));
}

/** Makes the files of an adapter folder. Equal adapters give equal bytes. */
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
  return new Map<string, Uint8Array>([
    [CONFIG, new TextEncoder().encode(`${JSON.stringify(config, null, 2)}\n`)],
    [TENSORS, writeSafetensors(loraViews(c, adapter))],
  ]);
}

/**
 * Reads an adapter. Modules that it lacks stay as they are in the model: their tensors are zero. If modules have different
 * ranks or scales, lower ranks are filled with zeros, and the scale of B is part of its values.
 * @throws {GauntletError} BAD_ADAPTER naming the file, field or tensor that does not fit the model
 */
export function readPeft(c: DecoderConfig, files: ReadonlyMap<string, Uint8Array>): Adapter {
  const fail = (what: string): never => {
    throw new GauntletError('BAD_ADAPTER', what);
  };
  const bytes = (name: string): Uint8Array => files.get(name) ?? fail(`no ${name} in the adapter`);
  const config = readConfig(bytes(CONFIG), fail);
  const tensors = parseSafetensors(bytes(TENSORS), TENSORS, 'BAD_ADAPTER');
  const layers = layersOf(tensors.keys());
  if (layers > c.layers || (layers > 0 && layers < c.layers && config.isEverywhere))
    fail(`${TENSORS}: the adapter is for ${layers} layers, this model has num_hidden_layers ${c.layers}`);
  const take = (name: string, shape: readonly number[]): TensorData => {
    const tensor: TensorData = tensors.get(name) ?? fail(`${TENSORS}: no tensor ${name}`);
    if (tensor.shape.join() !== shape.join())
      fail(
        `${TENSORS}: tensor ${name} has shape [${tensor.shape}], this model needs [${shape}]; ${explainShape(name, tensor.shape, shape)}`,
      );
    tensors.delete(name);
    return tensor;
  };
  const modules = new Set([...tensors.keys()].map(moduleOf));
  // all tensors are checked before the vector is allocated
  const found = new Map<string, { data: Float32Array; rank: number; scale: number }>();
  for (const { name, shape } of loraLayout(c, 1)) {
    const module = moduleOf(name);
    const isThere = modules.has(module);
    if (isThere && !config.allows(module)) fail(`${TENSORS}: ${CONFIG} does not name the module of tensor ${name}`);
    if (!isThere && !config.expects(module)) continue;
    const rank = config.rankOf(module);
    const { data } = take(name, isA(name) ? [rank, shape[1]!] : [shape[0]!, rank]);
    found.set(name, { data, rank, scale: config.scaleOf(module) });
  }
  if (tensors.size > 0) fail(`${TENSORS}: tensor ${[...tensors.keys()][0]} belongs to no projection of this model`);
  if (found.size === 0) fail(`${TENSORS}: no tensor of a projection of this model`);
  const ranks = [...found.values()].map(({ rank }) => rank);
  const rank = ranks.reduce((most, one) => Math.max(most, one));
  const [{ scale: first }] = found.values() as unknown as [{ scale: number }];
  const isEqual = [...found.values()].every((one) => one.scale === first && one.rank === rank);
  // patterns may give all modules another scale than the one of the whole adapter
  const isUsual = isEqual && Math.abs(config.alpha / rank - first) <= 1e-12 * first;
  const alpha = isUsual ? config.alpha : first * rank;
  const layout = loraLayout(c, rank);
  const values = new Float32Array(layoutSize(layout));
  for (const { name, shape, offset } of layout) {
    const own = found.get(name);
    if (!own) continue;
    if (isA(name)) values.set(own.data, offset);
    else {
      const factor = isEqual ? 1 : (own.scale * rank) / alpha;
      for (let row = 0; row < shape[0]!; row++)
        for (let i = 0; i < own.rank; i++) values[offset + row * rank + i] = own.data[row * own.rank + i]! * factor;
    }
  }
  if (!values.every(Number.isFinite)) fail('the adapter holds a value that is not finite');
  return { rank, alpha, values };
}

const isA = (tensor: string): boolean => tensor.endsWith('.lora_A.weight');
/** The module of a tensor, like 'model.layers.0.self_attn.q_proj'. */
const moduleOf = (tensor: string): string =>
  tensor.replace(/^base_model\.model\./, '').replace(/\.lora_[AB]\.weight$/, '');

/** The number of layers that the names imply: the highest index plus one. */
const layersOf = (names: Iterable<string>): number =>
  1 + [...names].reduce((most, name) => Math.max(most, Number(/\.layers\.(\d+)\./.exec(name)?.[1] ?? -1)), -1);

/** The fields of config.json that decide the inputs of each projection (columns of A) and its outputs (rows of B). */
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
  const [, projection, side] = /\.(\w+)\.lora_([AB])\.weight$/.exec(name)!;
  const [rankAxis, sizeAxis] = side === 'A' ? [0, 1] : [1, 0];
  if (actual[rankAxis] !== needed[rankAxis])
    return `${CONFIG} says r ${needed[rankAxis]}, the tensor has ${actual[rankAxis]}`;
  const field = FIELDS[projection!]![side === 'A' ? 0 : 1];
  return `${field} is ${actual[sizeAxis]} in the adapter's model and ${needed[sizeAxis]} in this one`;
}

/** Initializations that leave the base unchanged. The others change it, and the adapter's files do not contain that change. */
const PLAIN_INITS = [true, false, undefined, null, 'gaussian', 'orthogonal', 'eva'];
/** Fields that other kinds of adapters have. They must be absent or empty. */
const OTHER_KINDS = [
  ...['use_dora', 'use_qalora', 'use_bdlora', 'lora_bias', 'modules_to_save', 'fan_in_fan_out', 'layer_replication'],
  ...['target_parameters', 'trainable_token_indices', 'alora_invocation_tokens'],
  ...['arrow_config', 'kasa_config', 'monteclora_config', 'velora_config'],
];

const MAX_CONFIG = 1 << 20; // in bytes; ordinary files have a thousandth of it

interface AdapterConfig {
  alpha: number; // the scale is alpha / rank
  isEverywhere: boolean; // every layer has modules
  expects(module: string): boolean; // the adapter must have it; others may be there
  allows(module: string): boolean;
  rankOf(module: string): number;
  scaleOf(module: string): number;
}

function readConfig(bytes: Uint8Array, fail: (what: string) => never): AdapterConfig {
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
  const isRank = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1;
  const isAlpha = (value: unknown): value is number => typeof value === 'number' && value > 0;
  const { r: rank, lora_alpha: alpha } = config;
  if (!isRank(rank)) return fail(`${CONFIG}: r must be a positive integer, is ${rank}`);
  if (!isAlpha(alpha)) return fail(`${CONFIG}: lora_alpha must be a positive number, is ${alpha}`);
  if ((config.bias ?? 'none') !== 'none') fail(`${CONFIG}: bias ${config.bias} is not supported`);
  for (const field of OTHER_KINDS) if (isSet(config[field])) fail(`${CONFIG}: ${field} is not supported`);
  if (!PLAIN_INITS.includes(config.init_lora_weights as never))
    fail(`${CONFIG}: init_lora_weights ${config.init_lora_weights} changes the base model, which is not supported`);
  const { target_modules: targets, exclude_modules: excluded = null, layers_to_transform: layers = null } = config;
  const isNames = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((name) => typeof name === 'string');
  if (typeof targets !== 'string' && !(isNames(targets) && targets.length > 0))
    fail(`${CONFIG}: target_modules must be a list of modules, "all-linear" or a regular expression`);
  if (excluded !== null && typeof excluded !== 'string' && !isNames(excluded))
    fail(`${CONFIG}: exclude_modules must be a list of modules or a regular expression`);
  const indices = layers === null ? [] : [layers].flat();
  if (!indices.every((index) => Number.isSafeInteger(index)))
    fail(`${CONFIG}: layers_to_transform must be the index of a layer, or a list of indices`);
  const isRsLora = isSet(config.use_rslora);
  const ranks = patternOf(config.rank_pattern, 'rank_pattern', isRank, fail);
  const alphas = patternOf(config.alpha_pattern, 'alpha_pattern', isAlpha, fail);
  const rankOf = (module: string): number => ranks(module) ?? rank;
  const divisor = (of: number): number => (isRsLora ? Math.sqrt(of) : of);
  const isAll = targets === 'all-linear';
  // A regular expression of an adapter is not run: the modules are those of the tensors.
  const isKnown = (isAll || Array.isArray(targets)) && !(typeof excluded === 'string' && excluded !== '');
  const isTargeted = (module: string): boolean => isAll || isNamed(module, targets as string[]);
  const isExcluded = (module: string): boolean => Array.isArray(excluded) && isNamed(module, excluded);
  const isInLayer = (module: string): boolean =>
    indices.length === 0 || indices.includes(Number(/\.layers\.(\d+)\./.exec(module)?.[1]));
  const isMeant = (module: string): boolean => isTargeted(module) && !isExcluded(module) && isInLayer(module);
  return {
    alpha: isRsLora ? alpha * Math.sqrt(rank) : alpha,
    isEverywhere: isKnown && indices.length === 0 && !isSet(excluded) && TARGETS.some((name) => isTargeted(name)),
    expects: (module) => isKnown && isMeant(module),
    allows: (module) => !isKnown || isMeant(module),
    rankOf,
    scaleOf: (module) => (alphas(module) ?? alpha) / divisor(rankOf(module)),
  };
}

/** PEFT compares names so: with the whole module, or with its end after a dot. */
const isNamed = (module: string, names: readonly string[]): boolean =>
  names.some((name) => module === name || module.endsWith(`.${name}`));

/** The values that a field like rank_pattern has for modules. PEFT's keys may be regular expressions; here they must be names. */
function patternOf(
  given: unknown,
  field: string,
  isValue: (value: unknown) => value is number,
  fail: (what: string) => never,
): (module: string) => number | undefined {
  if (typeof (given ?? {}) !== 'object' || Array.isArray(given)) fail(`${CONFIG}: ${field} must be an object`);
  const entries = Object.entries((given ?? {}) as object).map(([key, value]) => {
    if (!/^\^?(?:\w|\\?\.)+\$?$/.test(key))
      fail(`${CONFIG}: ${field} has the key ${JSON.stringify(key)}; only names of modules are supported`);
    if (!isValue(value)) return fail(`${CONFIG}: ${field}.${key} must be a positive number, is ${value}`);
    const name = key.replace(/^\^|\$$/g, '').replaceAll('\\', '');
    return { name, isWhole: key.startsWith('^'), value };
  });
  return (module) => entries.find(({ name, isWhole }) => (isWhole ? module === name : isNamed(module, [name])))?.value;
}

const isSet = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
