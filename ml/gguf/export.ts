// Writes a model with a merged adapter as a GGUF file for llama.cpp: the opposite of import.ts.
import { GauntletError } from '../../core/base/errors.js';
import { writeAll, writeAtomically } from '../hf/files.js';
import type { MergedModel } from '../hf/mergedModel.js';
import { ARCHITECTURES } from '../nn/architectures/index.js';
import { parameterLayout, rowsOf } from '../nn/layout.js';
import { ropeDivisors } from '../nn/rope.js';
import { BLOCKS } from './blocks.js';
import { encode } from './encode.js';
import { tokenizerMetadata } from './exportTokenizer.js';
import { ggufName, isTurned, KEYS, OTHER_FORMAT, ROPE_FACTORS, turn } from './names.js';
import { ggufHeader, type MetadataValue, padding } from './write.js';

export const EXPORT_TYPES = ['F32', 'F16', 'Q8_0'] as const;
export type ExportType = (typeof EXPORT_TYPES)[number];
const FILE_TYPES: Record<ExportType, number> = { F32: 0, F16: 1, Q8_0: 7 };

/**
 * Writes the file, whole or not at all. Vectors are stored in f32, as by llama.cpp's own converter.
 * @throws {GauntletError} BAD_MODEL for a model or tokenizer that llama.cpp does not have
 */
export function exportGguf(
  merged: MergedModel,
  target: string,
  { type, name }: { type: ExportType; name: string },
): void {
  const { config } = merged.model;
  const metadata = new Map([
    ...modelMetadata(merged, name),
    ['general.file_type', FILE_TYPES[type]] as const,
    ['general.quantization_version', 2] as const,
    ...tokenizerMetadata(merged.model),
  ]);
  const factors = config.ropeScaling && ropeDivisors(config);
  const layout = parameterLayout(config).map(({ name, shape }) => ({ name, shape, type: typeOf(shape, type) }));
  const tensors = layout.map((tensor) => ({ ...tensor, name: ggufName(tensor.name) }));
  const extra = factors ? [{ name: ROPE_FACTORS, shape: [factors.length], type: 'F32' as const }] : [];
  writeAtomically(target, (fd) => {
    let at = 0;
    const write = (bytes: Uint8Array): void => {
      writeAll(fd, bytes, at);
      at += bytes.length;
    };
    write(ggufHeader(metadata, [...extra, ...tensors]));
    if (factors) write(encode('F32', factors, ROPE_FACTORS));
    write(padding(at));
    for (const { name, shape, type } of layout) {
      const turned = isTurned(config, name);
      const { count, step: block } = rowsOf(shape);
      const step = turned ? config.headDim : block;
      for (let from = 0; from < count; from += step) {
        const rows = merged.rows(name, from, Math.min(count, from + step));
        write(encode(type, turned ? turn(rows, config.headDim, 'gguf') : rows, name));
      }
      write(padding(at)); // the header ends at a multiple of the alignment, and so does each tensor
    }
  });
}

/** The type of a tensor. Matrices whose rows are no multiple of a block stay in F16. */
function typeOf(shape: readonly number[], type: ExportType): ExportType {
  if (shape.length === 1) return 'F32';
  return shape.at(-1)! % BLOCKS[type][0] === 0 ? type : 'F16';
}

function modelMetadata({ model: { path, config } }: MergedModel, name: string): Map<string, MetadataValue> {
  const { modelType } = ARCHITECTURES.find((a) => a.name === config.architecture)!;
  if (modelType === 'qwen3' && config.biases.length > 0)
    throw new GauntletError('BAD_MODEL', `${path}: llama.cpp has no Qwen3 with biases; ${OTHER_FORMAT}`);
  const fields: [string, MetadataValue][] = [
    [KEYS.hidden_size, config.hidden],
    [KEYS.num_hidden_layers, config.layers],
    [KEYS.num_attention_heads, config.heads],
    [KEYS.num_key_value_heads, config.kvHeads],
    [KEYS.head_dim, config.headDim],
    ['attention.value_length', config.headDim],
    ['rope.dimension_count', config.headDim],
    [KEYS.intermediate_size, config.ffn],
    [KEYS.max_position_embeddings, config.contextLength],
    [KEYS.rms_norm_eps, { f32: config.normEps }],
    [KEYS.rope_theta, { f32: config.ropeTheta }],
    ['vocab_size', config.vocab],
  ];
  return new Map<string, MetadataValue>([
    ['general.architecture', modelType],
    ['general.name', name],
    ...fields.map(([key, value]): [string, MetadataValue] => [`${modelType}.${key}`, value]),
  ]);
}
