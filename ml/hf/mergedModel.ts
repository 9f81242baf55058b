// A model with an adapter merged into its weights. `rows` gives some rows at a time, `mergedFolder` the files of a model folder.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from '../gguf/encode.js';
import { loraViews, rowsOf, type TensorData } from '../nn/layout.js';
import { addProduct } from '../nn/mergeLora.js';
import { isWeightDtype, readRows, type WeightDtype } from './checkpoint.js';
import { readWhole } from './files.js';
import type { ModelFiles } from './model.js';
import { DTYPE_NAMES, safetensorsHeader } from './safetensors.js';
import { readJson } from './tokenizer.js';

/** Files that are copied, if the model has them. */
const COPIED = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'generation_config.json',
];

export class MergedModel {
  private readonly lora: ReadonlyMap<string, TensorData>;
  private readonly scale: number;

  constructor(
    readonly model: ModelFiles,
    private readonly adapter: { rank: number; alpha: number; values: Float32Array },
  ) {
    this.lora = loraViews(model.config, adapter);
    this.scale = adapter.alpha / adapter.rank;
  }

  /** Rows `from` to `to` of a parameter, W + (α/r)·B·A in f32. A vector has rows of one number. */
  rows(name: string, from: number, to: number): Float32Array {
    const parameter = this.model.stored.get(name)!;
    const numbers = readRows(name, parameter, from, to);
    const [a, b] = ['A', 'B'].map((side) => this.lora.get(loraOf(name, side))?.data);
    if (!a || !b) return numbers;
    const { rank } = this.adapter;
    return addProduct(numbers, b.subarray(from * rank, to * rank), a, parameter.shape[1]!, rank, this.scale);
  }
}

const loraOf = (name: string, side: string): string =>
  `base_model.model.${name.replace(/weight$/, `lora_${side}.weight`)}`;

type Content = Uint8Array | string | Iterable<Uint8Array>;

/** The files of a model folder. @param dtype the type of all weights; absent: every tensor keeps the type that it has in the base */
export function* mergedFolder(merged: MergedModel, dtype?: WeightDtype): Generator<[name: string, content: Content]> {
  const { path, stored } = merged.model;
  const { dtype: _, ...config } = readJson(join(path, 'config.json'));
  const json = dtype ? { ...config, torch_dtype: DTYPE_NAMES[dtype] } : readJson(join(path, 'config.json'));
  yield ['config.json', `${JSON.stringify(json, null, 2)}\n`];
  for (const name of COPIED) if (existsSync(join(path, name))) yield [name, readWhole(join(path, name))];
  const tensors = [...stored].map(([name, { shape, dtype: own }]) => ({
    name,
    shape,
    dtype: dtype ?? (isWeightDtype(own) ? own : 'F32'), // no block of a GGUF file holds a merged weight
  }));
  yield ['model.safetensors', weights(merged, tensors)];
}

function* weights(
  merged: MergedModel,
  tensors: { name: string; shape: number[]; dtype: WeightDtype }[],
): Generator<Uint8Array> {
  yield safetensorsHeader(tensors).header;
  for (const { name, shape, dtype } of tensors) {
    const { count, step } = rowsOf(shape);
    for (let from = 0; from < count; from += step)
      yield encode(dtype, merged.rows(name, from, Math.min(count, from + step)), name);
  }
}
