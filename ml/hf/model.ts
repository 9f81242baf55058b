// A model folder in Hugging Face layout. Its config and the headers of its weight files describe the model.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { elements, type TensorData } from '../nn/layout.js';
import { describeCheckpoint, readRows, type StoredParameter } from './checkpoint.js';
import { type GenerationDefaults, type ModelConfig, parseModelConfig, readGeneration } from './config.js';
import { readJson } from './tokenizer.js';

export type Weights = ReadonlyMap<string, TensorData>;

/** A model before its weights are read. */
export interface ModelFiles {
  path: string;
  config: ModelConfig;
  eosTokens: number[];
  generation: GenerationDefaults;
  parameters: number; // scalars; a tied embedding counts once
  stored: ReadonlyMap<string, StoredParameter>; // has every name of parameterLayout
}

/** @throws {GauntletError} BAD_MODEL naming the file, the field or the tensor */
export function describeModel(folder: string): ModelFiles {
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new GauntletError('BAD_MODEL', `${folder}: no such folder`);
  const configPath = join(folder, 'config.json');
  const json = readJson(configPath);
  const config = parseModelConfig(json, configPath);
  const stored = describeCheckpoint(folder, config);
  const parameters = [...stored.values()].reduce((n, { shape }) => n + elements(shape), 0);
  return { path: folder, config, ...readGeneration(folder, json), parameters, stored };
}

/** All weights in memory, in f32. */
export function readWeights(stored: ReadonlyMap<string, StoredParameter>): Weights {
  return new Map([...stored].map(([name, one]) => [name, { shape: one.shape, data: readRows(name, one) }]));
}
