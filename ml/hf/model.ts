// A model folder in Hugging Face layout, read and checked as a whole.
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/errors.js';
import { parameterLayout } from '../nn/decoder.js';
import { type ModelConfig, parseModelConfig, readEosTokens } from './config.js';
import { SafetensorsFile, type TensorData } from './safetensors.js';
import { readJson } from './tokenizer.js';

export type Weights = ReadonlyMap<string, TensorData>;

export interface LoadedModel {
  path: string;
  config: ModelConfig;
  eosTokens: number[];
  weights: Weights; // every name of parameterLayout, f32
  parameters: number; // scalars; a tied embedding counts once
  digest: string; // sha256 over config.json and the weight files
}

/** @throws {GauntletError} BAD_MODEL naming the file, the field or the tensor */
export function loadModel(folder: string): LoadedModel {
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new GauntletError('BAD_MODEL', `${folder}: no such folder`);
  const configPath = join(folder, 'config.json');
  const json = readJson(configPath);
  const config = parseModelConfig(json, configPath);
  const files = weightFiles(folder);
  const hash = createHash('sha256').update(readFileSync(configPath));
  const weights = new Map<string, TensorData>();
  const opened = files.map((name) => new SafetensorsFile(join(folder, name)));
  try {
    for (const { name, shape } of parameterLayout(config)) {
      const file = opened.find((f) => f.entries.has(name));
      if (!file) throw new GauntletError('BAD_MODEL', `${folder}: no tensor ${name} in ${files.join(', ')}`);
      weights.set(name, { shape, data: file.read(name, shape) });
    }
  } finally {
    for (const file of opened) file.close();
  }
  for (const name of files) hashFile(hash, join(folder, name));
  const parameters = [...weights.values()].reduce((n, t) => n + t.data.length, 0);
  return {
    path: folder,
    config,
    eosTokens: readEosTokens(folder, json),
    weights,
    parameters,
    digest: hash.digest('hex'),
  };
}

/** One file, or the shards that the index names. */
function weightFiles(folder: string): string[] {
  if (existsSync(join(folder, 'model.safetensors'))) return ['model.safetensors'];
  const index = join(folder, 'model.safetensors.index.json');
  if (!existsSync(index)) throw new GauntletError('BAD_MODEL', `${folder}: no model.safetensors`);
  const map = readJson(index).weight_map;
  if (typeof map !== 'object' || map === null)
    throw new GauntletError('BAD_MODEL', `${index}: field weight_map is missing`);
  const names = [...new Set(Object.values(map).map(String))].sort();
  const outside = names.find((name) => !/^[\w.-]+\.safetensors$/.test(name));
  if (outside) throw new GauntletError('BAD_MODEL', `${index}: ${outside} is not a file of this folder`);
  return names;
}

function hashFile(hash: ReturnType<typeof createHash>, path: string): void {
  const fd = openSync(path, 'r');
  const buffer = new Uint8Array(1 << 20);
  try {
    for (let n = readSync(fd, buffer); n > 0; n = readSync(fd, buffer)) hash.update(buffer.subarray(0, n));
  } finally {
    closeSync(fd);
  }
}
