// `gauntlet model inspect`: describes a model and its memory needs from its config and file headers.
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { availableMemory, estimateMemory, type MemoryUse } from '../../../ml/engine/memory.js';
import { describeModel, type ModelFiles } from '../../../ml/hf/model.js';
import { layoutSize, loraLayout } from '../../../ml/nn/layout.js';
import {
  checkpointingOption,
  type EngineFlags,
  engineOptions,
  modelOption,
  withQuantization,
} from '../../model/flags.js';
import { integer, jsonOption } from '../../options.js';
import { createOutput } from '../../output.js';
import { provideModel } from '../../provideModel.js';

type Flags = EngineFlags & { rank: number; rows: number; length: number; json?: boolean };

export function addInspect(group: Command): void {
  const command = group
    .command('inspect')
    .description('describe a model and the memory it needs, without reading weights');
  withQuantization(command.addOption(modelOption()))
    .option('--rank <n>', 'LoRA rank of the adapter', integer(1), 16)
    .option('--rows <n>', 'rows decoded at once', integer(1), 8)
    .option('--length <n>', 'tokens per row', integer(1), 512)
    .addOption(checkpointingOption())
    .addOption(jsonOption())
    .action(async (flags: Flags) => {
      const found = inspect(describeModel(await provideModel(flags.model)), flags);
      createOutput(flags.json).result(found, () => text(found));
    });
}

function inspect(model: ModelFiles, flags: Flags) {
  const { config, parameters, eosTokens } = model;
  const { rank, rows } = flags;
  const tensors = [...model.stored.values()];
  const paths = [...new Set(tensors.map(({ path }) => path))].sort();
  const length = Math.min(flags.length, config.contextLength);
  const { quantization, checkpointing } = engineOptions(flags);
  const use = { sequences: rows, length, rank, quantization, checkpointing };
  const needed = (task: MemoryUse['task']): number => Math.round(estimateMemory(model, { ...use, task }));
  return {
    architecture: config.architecture,
    parameters,
    layers: config.layers,
    hidden: config.hidden,
    heads: config.heads,
    keyValueHeads: config.kvHeads,
    vocabulary: config.vocab,
    context: config.contextLength,
    tiedEmbeddings: config.tied,
    eosTokens,
    dtypes: [...new Set(tensors.map(({ dtype }) => dtype))].sort(),
    files: paths.map((path) => ({ name: basename(path), bytes: statSync(path).size })),
    lora: { rank, parameters: layoutSize(loraLayout(config, rank)) },
    memory: { rows, length, decodeBytes: needed('decode'), trainBytes: needed('train'), freeBytes: availableMemory() },
  };
}

type Found = ReturnType<typeof inspect>;

function text(found: Found): string {
  const { layers, hidden, heads, keyValueHeads, files, lora, memory } = found;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const rows: [string, string][] = [
    ['architecture', found.architecture],
    ['parameters', count(found.parameters)],
    ['layers', `${layers} of width ${hidden}; ${heads} heads, ${keyValueHeads} of keys and values`],
    ['vocabulary', `${count(found.vocabulary)}${found.tiedEmbeddings ? ', embeddings tied' : ''}`],
    ['context', `${count(found.context)} tokens`],
    ['weights', `${found.dtypes.join(', ')}; ${files.length} ${files.length === 1 ? 'file' : 'files'}, ${gb(bytes)}`],
    [`LoRA, rank ${lora.rank}`, `${count(lora.parameters)} parameters`],
    ['memory to decode', `${gb(memory.decodeBytes)} for ${memory.rows} rows of ${memory.length} tokens`],
    ['memory to train', `${gb(memory.trainBytes)} for rows of ${memory.length} tokens`],
    ['memory free', gb(memory.freeBytes)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(18)}${value}`).join('\n');
}

const count = (n: number): string => n.toLocaleString('en');
const gb = (bytes: number): string =>
  bytes < 1e8 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
