// The tokenizer of a model folder as metadata of a GGUF file: the opposite of tokenizer.ts.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { templateSource, tokenText } from '../hf/chat.js';
import type { ModelFiles } from '../hf/model.js';
import { readJson } from '../hf/tokenizer.js';
import { OTHER_FORMAT, SPECIAL_TOKENS, TOKEN } from './names.js';
import { RULES } from './tokenizer.js';
import type { MetadataValue } from './write.js';

interface TokenizerJson {
  model: { type?: string; vocab: Record<string, number>; merges: (string | [string, string])[] };
  normalizer?: { type?: string } | null;
  pre_tokenizer?: object | null;
  added_tokens?: { id: number; content: string; special?: boolean }[];
}

/** @throws {GauntletError} BAD_MODEL naming the file, for a tokenizer that llama.cpp does not have */
export function tokenizerMetadata({ path, config, eosTokens }: ModelFiles): Map<string, MetadataValue> {
  const where = join(path, 'tokenizer.json');
  const fail = (what: string): never => {
    throw new GauntletError('BAD_MODEL', `${where}: ${what}; ${OTHER_FORMAT}`);
  };
  const { model, normalizer, pre_tokenizer, added_tokens } = readJson(where) as unknown as TokenizerJson;
  if (model?.type !== 'BPE' || !model.vocab || !Array.isArray(model.merges))
    return fail(`a tokenizer of type ${model?.type} is not supported, only byte-level BPE`);
  const rules = Object.entries(RULES);
  const [pre] =
    rules.find(
      ([, rule]) =>
        essence(rule.splits) === essence(pre_tokenizer) &&
        essence(rule.normalizer ?? null) === essence(normalizer ?? null),
    ) ??
    fail(`llama.cpp has no name for its pre_tokenizer, only for those of ${rules.map(([name]) => name).join(', ')}`);
  const tokens = Array.from({ length: config.vocab }, (_, id) => `[PAD${id}]`);
  const kinds = new Int32Array(config.vocab).fill(TOKEN.unused);
  const set = (content: string, id: number, kind: number): void => {
    if (!(Number.isInteger(id) && id >= 0 && id < config.vocab))
      fail(`token ${JSON.stringify(content)} has id ${id}, config.json has vocab_size ${config.vocab}`);
    tokens[id] = content;
    kinds[id] = kind;
  };
  for (const [content, id] of Object.entries(model.vocab)) set(content, id, TOKEN.normal);
  for (const { content, id, special } of added_tokens ?? [])
    set(content, id, special ? TOKEN.control : TOKEN.userDefined);
  const metadata = new Map<string, MetadataValue>([
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.pre', pre],
    ['tokenizer.ggml.tokens', tokens],
    ['tokenizer.ggml.token_type', kinds],
    ['tokenizer.ggml.merges', model.merges.map((pair) => (typeof pair === 'string' ? pair : pair.join(' ')))],
  ]);
  const settingsPath = join(path, 'tokenizer_config.json');
  const settings = existsSync(settingsPath) ? readJson(settingsPath) : {};
  for (const [field, name] of Object.entries(SPECIAL_TOKENS)) {
    const id = tokens.indexOf(tokenText(settings[field]));
    if (id >= 0) metadata.set(`tokenizer.ggml.${name}_token_id`, id);
  }
  // llama.cpp stops at eos and at eot
  const eos = metadata.get('tokenizer.ggml.eos_token_id') ?? eosTokens[0];
  const other = eosTokens.find((id) => id !== eos);
  if (eos !== undefined) metadata.set('tokenizer.ggml.eos_token_id', eos);
  if (other !== undefined) metadata.set('tokenizer.ggml.eot_token_id', other);
  if (typeof settings.add_bos_token === 'boolean') metadata.set('tokenizer.ggml.add_bos_token', settings.add_bos_token);
  const { source } = templateSource(path, settings);
  if (source !== undefined) metadata.set('tokenizer.chat_template', source);
  return metadata;
}

/** A rule in a comparable form: with sorted keys, and only with fields that affect where it splits. */
function essence(rule: unknown): string {
  return JSON.stringify(rule, (key, value) => {
    if (key === 'trim_offsets') return undefined; // it trims positions, not tokens
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const full = value.type === 'ByteLevel' ? { use_regex: true, ...value } : value;
    return Object.fromEntries(Object.entries(full).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
