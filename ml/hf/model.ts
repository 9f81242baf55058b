// A model folder in Hugging Face layout. Its config and the headers of its weight files describe the model.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { packedFormatOf } from '../gguf/blocks.js';
import { tensorsOf } from '../gguf/tensors.js';
import { elements, type TensorData } from '../nn/layout.js';
import { describeCheckpoint, GGUF, isWeightDtype, readRows, type StoredParameter, weightsName } from './checkpoint.js';
import { type GenerationDefaults, type ModelConfig, parseModelConfig, readGeneration } from './config.js';
import { matricesOf, type PackedLayout, type Packing, packedLayout, type Quantization } from './packed.js';
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
  blocks?: Packing; // how a GGUF file holds quantized matrices
}

/** How matrices are packed: as the file holds them, else as asked for. Undefined: they are not. */
export const packingOf = ({ blocks }: ModelFiles, quantization?: Quantization): Packing | undefined =>
  blocks ?? quantization;

/** The layout of the packed matrices, with the other parameters that are quantized in the file. */
export function layoutOf({ config, stored }: ModelFiles, packing: Packing): PackedLayout {
  const packed = new Set(matricesOf(config, packing).map(({ name }) => name));
  const others = [...stored].filter(([name, { dtype }]) => !packed.has(name) && !isWeightDtype(dtype));
  return packedLayout(
    config,
    packing,
    others.map(([name, { shape }]) => ({ name, shape })),
  );
}

/** @throws {GauntletError} BAD_MODEL naming the file, the field or the tensor */
export function describeModel(folder: string): ModelFiles {
  if (!existsSync(folder) || !statSync(folder).isDirectory())
    throw new GauntletError('BAD_MODEL', `${folder}: no such folder`);
  const configPath = join(folder, 'config.json');
  const json = readJson(configPath);
  const config = parseModelConfig(json, configPath);
  const isGguf = weightsName(folder) === GGUF;
  const stored = isGguf ? tensorsOf(join(folder, GGUF), config) : describeCheckpoint(folder, config);
  const parameters = [...stored.values()].reduce((n, { shape }) => n + elements(shape), 0);
  const formats = new Map(
    [...stored].flatMap(([name, { dtype }]) => {
      const format = packedFormatOf(dtype);
      return format ? [[name, format] as const] : [];
    }),
  );
  const blocks = formats.size > 0 ? { blocks: { formats } } : {};
  return { path: folder, config, ...readGeneration(folder, json), parameters, stored, ...blocks };
}

/** All weights in memory, in f32. */
export function readWeights(stored: ReadonlyMap<string, StoredParameter>): Weights {
  return new Map([...stored].map(([name, one]) => [name, { shape: one.shape, data: readRows(name, one) }]));
}
