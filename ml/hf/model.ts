// A model folder in Hugging Face layout: described from its config and the headers of its weight files, or read into
// memory.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { elements, type TensorData } from '../nn/layout.js';
import { describeCheckpoint, type StoredParameter } from './checkpoint.js';
import { type GenerationDefaults, type ModelConfig, parseModelConfig, readGeneration } from './config.js';
import { SafetensorsFile } from './safetensors.js';
import { readJson } from './tokenizer.js';

export type Weights = ReadonlyMap<string, TensorData>;

/** A model before its weights are read. */
export interface ModelFiles {
  path: string;
  config: ModelConfig;
  eosTokens: number[];
  generation: GenerationDefaults;
  parameters: number; // scalars; a tied embedding counts once
  stored: ReadonlyMap<string, StoredParameter>; // every name of parameterLayout
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
  const files = new Map<string, SafetensorsFile>();
  try {
    return new Map(
      [...stored].map(([name, { path, shape }]) => {
        const file = files.get(path) ?? new SafetensorsFile(path);
        files.set(path, file);
        return [name, { shape, data: file.read(name, shape) }];
      }),
    );
  } finally {
    for (const file of files.values()) file.close();
  }
}
