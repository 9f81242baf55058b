// config.json of a Hugging Face model folder, reduced to what the graphs need. A field that would change the computation
// and is not supported gives an error that names it, before any weight is read.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import type { Architecture } from '../nn/architectures/architecture.js';
import { ARCHITECTURES } from '../nn/architectures/index.js';
import { type DecoderConfig, PROJECTIONS, type RopeScaling } from '../nn/config.js';
import { readJson } from './tokenizer.js';

export interface ModelConfig extends DecoderConfig {
  architecture: string; // a name of ARCHITECTURES
  contextLength: number; // in tokens
}

/** Larger numbers are mistakes, or attempts to exhaust the memory: each position is a line of a table. */
const LIMITS = { layers: 1_000, positions: 2 ** 20, size: 2 ** 31 - 1 };

type Json = Readonly<Record<string, unknown>>;

/** The values that transformers uses for absent fields, in every family. */
const DEFAULTS: Json = { rms_norm_eps: 1e-6, rope_theta: 10000, hidden_act: 'silu' };
/** Fields for which the graphs support one value only, in every family. */
const FIXED: Json = { hidden_act: 'silu', quantization_config: undefined, partial_rotary_factor: 1 };

/** @throws {GauntletError} BAD_MODEL naming `where` and the field */
export function parseModelConfig(json: Json, where: string): ModelConfig {
  const architecture = architectureOf(json, where);
  const fields = new Fields({ ...DEFAULTS, ...architecture.defaults, ...json }, where);
  for (const [field, value] of Object.entries({ ...FIXED, ...architecture.fixed })) fields.only(field, value);
  const kinds = fields.list('layer_types').filter((kind) => kind !== 'full_attention');
  if (kinds.length > 0) fields.fail(`field layer_types ${kinds[0]} is not supported, only full_attention`);
  const hidden = fields.size('hidden_size');
  const heads = fields.size('num_attention_heads');
  const kvHeads = fields.size('num_key_value_heads', heads);
  const headDim = fields.size('head_dim', hidden / heads);
  if (heads % kvHeads !== 0)
    fields.fail(`num_attention_heads ${heads} is not a multiple of num_key_value_heads ${kvHeads}`);
  if (headDim % 2 !== 0) fields.fail(`field head_dim must be even, is ${headDim}`);
  const contextLength = fields.size('max_position_embeddings', undefined, LIMITS.positions);
  const biased = Object.entries(architecture.biasFields).flatMap(([field, on]) => (fields.flag(field) ? on : []));
  return {
    architecture: architecture.name,
    hidden,
    layers: fields.size('num_hidden_layers', undefined, LIMITS.layers),
    heads,
    kvHeads,
    headDim,
    ffn: fields.size('intermediate_size'),
    vocab: fields.size('vocab_size'),
    contextLength,
    normEps: fields.positive('rms_norm_eps'),
    ...parseRope(fields, contextLength),
    biases: PROJECTIONS.filter((p) => architecture.biases.includes(p) || biased.includes(p)),
    qkNorm: architecture.qkNorm,
    tied: fields.flag('tie_word_embeddings'),
  };
}

/** The architecture that `architectures` names, or `model_type` if that is absent. They must agree. */
function architectureOf(json: Json, where: string): Architecture {
  const { architectures, model_type: type } = json;
  const name: unknown = Array.isArray(architectures) ? architectures[0] : undefined;
  const found = ARCHITECTURES.find((a) => (name === undefined ? a.modelType === type : a.name === name));
  const fail = (what: string): never => {
    throw new GauntletError('BAD_MODEL', `${where}: ${what}`);
  };
  if (!found) {
    const supported = ARCHITECTURES.map((a) => a.name).join(', ');
    return fail(`architecture ${name ?? type} is not supported, only ${supported}`);
  }
  if (type !== undefined && type !== found.modelType) fail(`field model_type ${type} does not belong to ${found.name}`);
  return found;
}

/** Reads rotary positions from `rope_parameters` (transformers 5) or from `rope_theta` and `rope_scaling` (before). */
function parseRope(fields: Fields, contextLength: number): { ropeTheta: number; ropeScaling?: RopeScaling } {
  const name = fields.json.rope_scaling ? 'rope_scaling' : 'rope_parameters'; // transformers has the same order
  const rope = fields.inner(name);
  const type = rope.json.rope_type ?? rope.json.type ?? 'default';
  if (type !== 'default' && type !== 'llama3')
    fields.fail(`field ${name}.rope_type ${type} is not supported, only default and llama3`);
  rope.only('partial_rotary_factor', 1);
  const nested = Object.entries(rope.json).find(([, value]) => typeof value === 'object' && value !== null);
  if (nested) fields.fail(`field ${name}.${nested[0]} is not supported: all layers have the same rotation`);
  const ropeTheta =
    (rope.json.rope_theta ?? null) === null ? fields.positive('rope_theta') : rope.positive('rope_theta');
  if (type === 'default') return { ropeTheta };
  const ropeScaling = {
    factor: rope.positive('factor'),
    lowFreqFactor: rope.positive('low_freq_factor'),
    highFreqFactor: rope.positive('high_freq_factor'),
    originalContext: rope.size('original_max_position_embeddings', contextLength),
  };
  if (ropeScaling.highFreqFactor <= ropeScaling.lowFreqFactor)
    fields.fail(`field ${name}.high_freq_factor must be above low_freq_factor ${ropeScaling.lowFreqFactor}`);
  return { ropeTheta, ropeScaling };
}

/** Reads typed fields of an object. null counts as absent, as in transformers. */
class Fields {
  constructor(
    readonly json: Json,
    private readonly where: string,
    private readonly prefix = '',
  ) {}
  fail(what: string): never {
    throw new GauntletError('BAD_MODEL', `${this.where}: ${what}`);
  }
  size(field: string, absent?: number, max = LIMITS.size): number {
    const value = this.json[field] ?? absent;
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
      return this.wrong(field, 'must be a positive integer', value);
    if (value > max) return this.wrong(field, `must be at most ${max}`, value);
    return value;
  }
  positive(field: string): number {
    const value = this.json[field];
    if (typeof value !== 'number' || !(value > 0 && value < Number.POSITIVE_INFINITY))
      return this.wrong(field, 'must be a positive number', value);
    return value;
  }
  flag(field: string): boolean {
    const value = this.json[field] ?? false;
    return typeof value === 'boolean' ? value : this.wrong(field, 'must be true or false', value);
  }
  list(field: string): unknown[] {
    const value = this.json[field] ?? [];
    return Array.isArray(value) ? value : this.wrong(field, 'must be a list', value);
  }
  inner(field: string): Fields {
    const value = this.json[field] ?? {};
    if (typeof value !== 'object' || Array.isArray(value)) return this.wrong(field, 'must be an object', value);
    return new Fields(value as Json, this.where, `${field}.`);
  }
  /** @param value the only supported value; undefined: the field must be absent */
  only(field: string, value: unknown): void {
    const actual = this.json[field] ?? undefined;
    if (actual === undefined || actual === value) return;
    const shown = typeof actual === 'object' ? '' : ` ${actual}`;
    this.fail(`field ${this.prefix}${field}${shown} is not supported${value === undefined ? '' : `, only ${value}`}`);
  }
  private wrong(field: string, rule: string, value: unknown): never {
    return this.fail(`field ${this.prefix}${field} ${rule}, is ${value}`);
  }
}

/** The sampling that a model recommends. An absent setting is off. */
export interface GenerationDefaults {
  temperature?: number;
  topP?: number;
  topK?: number;
  repetitionPenalty?: number;
}

/** The tokens that end an answer, from generation_config.json, else from config.json; and the recommended sampling. */
export function readGeneration(folder: string, config: Json): { eosTokens: number[]; generation: GenerationDefaults } {
  const path = join(folder, 'generation_config.json');
  const json = existsSync(path) ? readJson(path) : {};
  const ends = json.eos_token_id ?? config.eos_token_id ?? [];
  const setting = (field: string, isUsable: (value: number) => boolean): number | undefined => {
    const value = json[field];
    return typeof value === 'number' && isUsable(value) ? value : undefined; // other values, like top_k 0, switch it off
  };
  return {
    eosTokens: (Array.isArray(ends) ? ends : [ends]).filter((id): id is number => Number.isSafeInteger(id)),
    generation: withoutUndefined({
      temperature: setting('temperature', (t) => t > 0 && t < Number.POSITIVE_INFINITY),
      topP: setting('top_p', (p) => p > 0 && p < 1),
      topK: setting('top_k', (k) => Number.isSafeInteger(k) && k > 0),
      repetitionPenalty: setting('repetition_penalty', (r) => r > 1 && r < Number.POSITIVE_INFINITY),
    }),
  };
}

const withoutUndefined = <T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
