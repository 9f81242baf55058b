// `gauntlet model inspect`: what a model folder holds and needs, from its config and the headers of its files alone.
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { describeModel, type ModelFiles } from '../../../ml/hf/model.js';
import { layoutSize, loraLayout } from '../../../ml/nn/lora.js';
import { integer } from '../../config.js';
import { type EngineFlags, modelOption, withQuantization } from '../../model/flags.js';
import { createOutput } from '../../output.js';

type Flags = EngineFlags & { rank: number; json?: boolean };

export function addInspect(group: Command): void {
  const command = group
    .command('inspect')
    .description('say what a model is and what it needs, without reading weights');
  withQuantization(command.addOption(modelOption()))
    .option('--rank <n>', 'of the adapter to be trained', integer('--rank', 1), 16)
    .option('--json', 'one line of JSON')
    .action((flags: Flags) => {
      const found = inspect(describeModel(flags.model), flags);
      createOutput(flags.json === true).result(found, () => text(found));
    });
}

function inspect(model: ModelFiles, { rank }: Flags) {
  const { config, parameters, eosTokens } = model;
  const tensors = [...model.stored.values()];
  const paths = [...new Set(tensors.map(({ path }) => path))].sort();
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
  };
}

type Found = ReturnType<typeof inspect>;

function text(found: Found): string {
  const { layers, hidden, heads, keyValueHeads, files, lora } = found;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const rows: [string, string][] = [
    ['architecture', found.architecture],
    ['parameters', count(found.parameters)],
    ['layers', `${layers} of width ${hidden}; ${heads} heads, ${keyValueHeads} of keys and values`],
    ['vocabulary', `${count(found.vocabulary)}${found.tiedEmbeddings ? ', embeddings tied' : ''}`],
    ['context', `${count(found.context)} tokens`],
    ['weights', `${found.dtypes.join(', ')}; ${files.length} ${files.length === 1 ? 'file' : 'files'}, ${gib(bytes)}`],
    [`LoRA, rank ${lora.rank}`, `${count(lora.parameters)} parameters`],
  ];
  return rows.map(([name, value]) => `${name.padEnd(16)} ${value}`).join('\n');
}

const count = (n: number): string => n.toLocaleString('en');
const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(bytes < 2 ** 30 ? 3 : 1)} GiB`;
