// `gauntlet model inspect`: what a model folder holds and needs, from its config and the headers of its files alone.
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { availableMemory, estimateMemory, type MemoryUse } from '../../../ml/engine/memory.js';
import { describeModel, type ModelFiles } from '../../../ml/hf/model.js';
import { layoutSize, loraLayout } from '../../../ml/nn/layout.js';
import { integer } from '../../config.js';
import { type EngineFlags, engineOptions, modelOption, withQuantization } from '../../model/flags.js';
import { createOutput } from '../../output.js';

type Flags = EngineFlags & { rank: number; rows: number; length: number; json?: boolean };

export function addInspect(group: Command): void {
  const command = group
    .command('inspect')
    .description('say what a model is and what memory it needs, without reading weights');
  withQuantization(command.addOption(modelOption()))
    .option('--rank <n>', 'of the adapter to be trained', integer('--rank', 1), 16)
    .option('--rows <n>', 'that are decoded side by side', integer('--rows', 1), 8)
    .option('--length <n>', 'tokens of a row', integer('--length', 1), 512)
    .option('--checkpointing', 'recompute layers in the backward pass: less memory, more time')
    .option('--json', 'one line of JSON')
    .action((flags: Flags) => {
      const found = inspect(describeModel(flags.model), flags);
      createOutput(flags.json === true).result(found, () => text(found));
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
