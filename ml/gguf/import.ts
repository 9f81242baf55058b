// Turns a GGUF file into a model folder in Hugging Face layout: config, weights, tokenizer and chat template.
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  fsyncSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { GGUF } from '../hf/checkpoint.js';
import { type ModelConfig, parseModelConfig } from '../hf/config.js';
import { readWhole, withFile, writeAll } from '../hf/files.js';
import { DTYPE_NAMES, safetensorsHeader } from '../hf/safetensors.js';
import { ARCHITECTURES } from '../nn/architectures/index.js';
import { elements, parameterLayout, rowsOf } from '../nn/layout.js';
import { ropeDivisors } from '../nn/rope.js';
import { encode } from './encode.js';
import { GgufFile, type GgufValue } from './file.js';
import { ggufName, isTurned, KEYS, ROPE_FACTORS, turn } from './names.js';
import { checkTensors } from './tensors.js';
import { tokenizerOf } from './tokenizer.js';

export interface ImportOptions {
  dtype: 'F32' | 'BF16'; // the type of the written weights; F32 keeps every bit of quantized weights
  /** Called before weights are written. `head` counts parameters of an output layer that is not the embedding. */
  onWrite?: (sizes: { parameters: number; head: number; bytes: number }) => void;
  tokenizer?: string; // folder whose tokenizer files replace those of the GGUF file
}

/** Keys that change no number. The name of the architecture stands before them. */
const HARMLESS = /^(?:vocab_size|tensor_data_layout|rope\.scaling\.(?:finetuned|original_context_length))$/;
const UNSCALED = { 'rope.scaling.type': 'none', 'rope.scaling.factor': 1, 'rope.scale_linear': 1 };

const TOKENIZER_FILES = ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'];

/**
 * Writes the folder, whole or not at all.
 * @throws {GauntletError} BAD_MODEL for an unusable file, BAD_INPUT if the folder exists and is not empty
 */
export function importGguf(path: string, out: string, options: ImportOptions): { tensors: number; types: string[] } {
  const folder = resolve(out); // has no slash at its end, so the temporary folder is its neighbour
  if (existsSync(folder) && !(statSync(folder).isDirectory() && readdirSync(folder).length === 0))
    throw new GauntletError('BAD_INPUT', `${out}: exists and is not an empty folder; name a new one`);
  return writeFolder(path, folder, options);
}

/**
 * Writes a model folder into the cache whose weights are a link to the GGUF file. The rows of Llama models are in another order there, so
 * their weights are written as f32. @throws {GauntletError} BAD_MODEL for an unusable file
 */
export function linkGguf(path: string, folder: string): void {
  writeFolder(path, folder, { dtype: 'F32' }, true);
}

/** @param links whether the folder may have a link to the file instead of weights */
function writeFolder(
  path: string,
  folder: string,
  options: ImportOptions,
  links = false,
): { tensors: number; types: string[] } {
  const file = new GgufFile(path);
  const temporary = `${folder}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const json = configOf(file);
    mkdirSync(temporary, { recursive: true });
    const endTokens = writeTokenizer(file, temporary, options.tokenizer);
    writeJson(join(temporary, 'config.json'), { ...json, ...endTokens, torch_dtype: DTYPE_NAMES[options.dtype] });
    const config = parseModelConfig(json, path);
    checkTensors(file, config);
    if (links && !parameterLayout(config).some(({ name }) => isTurned(config, name)))
      symlinkSync(realpathSync(path), join(temporary, GGUF));
    else writeWeights(file, join(temporary, 'model.safetensors'), config, options);
    renameSync(temporary, folder); // replaces an empty folder only
    return {
      tensors: file.tensors.size,
      types: [...new Set([...file.tensors.values()].map(({ type }) => type))].sort(),
    };
  } finally {
    file.close();
    rmSync(temporary, { recursive: true, force: true });
  }
}

function writeJson(path: string, json: object): void {
  writeFileSync(path, `${JSON.stringify(json, null, 2)}\n`, { flush: true });
}

/** @returns the fields of config.json that name end tokens */
function writeTokenizer(file: GgufFile, folder: string, from: string | undefined): { eos_token_id?: number[] } {
  if (from === undefined) {
    const { tokenizer, config, endTokens } = tokenizerOf(file);
    writeJson(join(folder, 'tokenizer.json'), tokenizer);
    writeJson(join(folder, 'tokenizer_config.json'), config);
    return { eos_token_id: endTokens };
  }
  const given = TOKENIZER_FILES.filter((name) => existsSync(join(from, name)));
  if (!given.includes('tokenizer.json')) throw new GauntletError('BAD_INPUT', `--tokenizer ${from}: no tokenizer.json`);
  for (const name of given) writeFileSync(join(folder, name), readWhole(join(from, name)), { flush: true });
  const eos = file.metadata.get('tokenizer.ggml.eos_token_id');
  return eos === undefined ? {} : { eos_token_id: [Number(eos)] };
}

/** Makes the content of config.json. @throws {GauntletError} BAD_MODEL naming the field */
function configOf(file: GgufFile): Record<string, unknown> {
  const { metadata, tensors, path } = file;
  const fail = (what: string): never => {
    throw new GauntletError('BAD_MODEL', `${path}: ${what}`);
  };
  const [part, parts] = ['split.no', 'split.count'].map((key) => Number(metadata.get(key) ?? 0));
  if (parts! > 1) fail(`it is part ${part! + 1} of ${parts}: join them with llama-gguf-split --merge`);
  const type = metadata.get('general.architecture');
  const architecture = ARCHITECTURES.find(({ modelType }) => modelType === type);
  if (!architecture) {
    const known = ARCHITECTURES.map(({ modelType }) => modelType).join(', ');
    return fail(`general.architecture is ${type}, only ${known} are supported`);
  }
  const optional = (name: string): number | undefined => {
    const value = metadata.get(`${type}.${name}`);
    if (value === undefined) return undefined;
    if (typeof value !== 'number' && typeof value !== 'bigint') return fail(`${type}.${name} is not a number`);
    const number = Number(value);
    return Number.isInteger(number) ? number : Number(number.toPrecision(7)); // an f32 of 1e-5 is 9.999999747378752e-6
  };
  const number = (name: string): number => optional(name) ?? fail(`no number ${type}.${name}`);
  const heads = number(KEYS.num_attention_heads);
  const hidden = number(KEYS.hidden_size);
  const headDim = optional(KEYS.head_dim) ?? hidden / heads;
  const theta = optional(KEYS.rope_theta) ?? 10000;
  const sizes = { 'rope.dimension_count': headDim, 'attention.value_length': headDim };
  const neutral: Readonly<Record<string, GgufValue>> = { ...UNSCALED, ...sizes, 'attention.causal': true };
  for (const [key, value] of metadata) {
    const name = key.replace(new RegExp(`^${type}\\.`), '');
    if (name === key || HARMLESS.test(name) || Object.values<string>(KEYS).includes(name)) continue;
    const right = neutral[name] ?? 0; // zero switches off the feature of an unknown key
    if (value !== right && Number(value) !== right) fail(`${key} must be ${right}: other values are not supported`);
  }
  const factors = tensors.has(ROPE_FACTORS) ? file.rows(ROPE_FACTORS, 0, 1) : undefined;
  return {
    architectures: [architecture.name],
    model_type: type,
    hidden_size: hidden,
    num_hidden_layers: number(KEYS.num_hidden_layers),
    num_attention_heads: heads,
    num_key_value_heads: optional(KEYS.num_key_value_heads) ?? heads,
    head_dim: headDim,
    intermediate_size: number(KEYS.intermediate_size),
    vocab_size: tensors.get('token_embd.weight')?.shape[0] ?? fail('no tensor token_embd.weight'),
    max_position_embeddings: number(KEYS.max_position_embeddings),
    rms_norm_eps: number(KEYS.rms_norm_eps),
    rope_theta: theta,
    ...(factors && {
      rope_scaling: llama3Scaling(factors, theta, headDim) ?? fail(`${ROPE_FACTORS} is not that of Llama 3`),
    }),
    tie_word_embeddings: !tensors.has('output.weight'),
    ...(tensors.has('blk.0.attn_output.bias') && { attention_bias: true }),
    ...(tensors.has('blk.0.ffn_gate.bias') && { mlp_bias: true }),
  };
}

/** Finds the settings of Llama 3.1 to 3.3. GGUF stores only the factors that follow from them (llama3 in transformers). */
function llama3Scaling(factors: Float32Array, theta: number, headDim: number): object | undefined {
  const factor = Math.round(Math.max(...factors));
  const ropeScaling = { factor, lowFreqFactor: 1, highFreqFactor: 4, originalContext: 8192 };
  const expected = ropeDivisors({ headDim, ropeTheta: theta, ropeScaling });
  const isRight = factors.every((given, i) => Math.abs(given / expected[i]! - 1) < 1e-4);
  if (!isRight || factors.length !== expected.length) return undefined;
  return {
    rope_type: 'llama3',
    factor,
    low_freq_factor: ropeScaling.lowFreqFactor,
    high_freq_factor: ropeScaling.highFreqFactor,
    original_max_position_embeddings: ropeScaling.originalContext,
  };
}

function writeWeights(file: GgufFile, target: string, config: ModelConfig, { dtype, onWrite }: ImportOptions): void {
  const layout = parameterLayout(config);
  const { header, offsets } = safetensorsHeader(layout.map(({ name, shape }) => ({ name, shape, dtype })));
  const count = (tensors: typeof layout): number => tensors.reduce((sum, { shape }) => sum + elements(shape), 0);
  const [parameters, head] = [count(layout), count(layout.filter(({ name }) => ggufName(name) === 'output.weight'))];
  onWrite?.({ parameters, head, bytes: header.length + parameters * (dtype === 'F32' ? 4 : 2) });
  withFile(target, 'wx', (fd) => {
    writeAll(fd, header, 0);
    for (const { name, shape } of layout) {
      const own = ggufName(name);
      const turned = isTurned(config, name);
      const { count, step: block } = rowsOf(shape);
      const step = turned ? config.headDim : block;
      let at = offsets.get(name)!;
      for (let from = 0; from < count; from += step) {
        const to = Math.min(count, from + step);
        const numbers = shape.length === 1 ? file.rows(own, 0, 1).subarray(from, to) : file.rows(own, from, to);
        const bytes = encode(dtype, turned ? turn(numbers, config.headDim, 'transformers') : numbers, own);
        writeAll(fd, bytes, at);
        at += bytes.length;
      }
    }
    fsyncSync(fd);
  });
}
