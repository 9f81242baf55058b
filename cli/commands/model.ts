// `gauntlet model`: describes a model and its memory needs from its config and file headers, or imports a GGUF file.
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import { availableMemory, estimateMemory, type MemoryUse } from '../../ml/engine/memory.js';
import { type ImportOptions, importGguf } from '../../ml/gguf/import.js';
import { describeModel, type ModelFiles } from '../../ml/hf/model.js';
import { GROUP_SIZE, type Quantization } from '../../ml/hf/packed.js';
import { layoutSize, loraLayout } from '../../ml/nn/layout.js';
import { integer, jsonOption, type Quantization as Quantize, quantizeOption } from '../input/options.js';
import { provideModel } from '../input/provideModel.js';
import { counted, createOutput, note, sizeText } from '../terminal/output.js';

interface InspectFlags {
  model: string;
  quantize?: Quantize;
  rows: number;
  json?: boolean;
}

interface ImportFlags {
  out: string;
  dtype: 'f32' | 'bf16';
  tokenizer?: string;
  json?: boolean;
}

export function addModel(program: Command): void {
  const group = program.command('model').description('describe a model, or import one');
  addInspect(group);
  addImport(group);
}

function addInspect(group: Command): void {
  group
    .command('inspect')
    .description('describe a model and the memory it needs, without reading weights')
    .requiredOption('-m, --model <model>', 'base model: a folder, or an id of the Hugging Face hub')
    .addOption(quantizeOption('none'))
    .option('--rows <n>', 'rows decoded at once', integer(1), 8)
    .addOption(jsonOption())
    .action(async (flags: InspectFlags) => {
      const found = inspect(describeModel(await provideModel(flags.model)), flags);
      createOutput(flags.json).result(found, () => text(found));
    });
}

function addImport(group: Command): void {
  group
    .command('import')
    .description('turn a GGUF file (llama, qwen2, qwen3) into a model folder')
    .argument('<file>', 'GGUF file')
    .requiredOption('-o, --out <folder>', 'folder to write; must not exist or be empty')
    .addOption(
      new Option('--dtype <type>', 'of the written weights; f32 keeps every bit, bf16 halves the size')
        .choices(['f32', 'bf16'])
        .default('f32'),
    )
    .option('--tokenizer <folder>', 'take tokenizer.json and chat template from this folder')
    .addOption(jsonOption())
    .action((file: string, { out, dtype, tokenizer, json }: ImportFlags) => {
      const type = dtype.toUpperCase() as ImportOptions['dtype'];
      const onWrite: ImportOptions['onWrite'] = ({ parameters, head, bytes }) => {
        const apart = `, ${count(head)} of them in output.weight, which this file has beside the embeddings`;
        note(`writing ${count(parameters)} parameters${head > 0 ? apart : ''}: ${sizeText(bytes)} in ${dtype}`);
      };
      const { tensors, types } = importGguf(file, out, { dtype: type, tokenizer, onWrite });
      createOutput(json).result(
        { out, tensors, types, dtype },
        () => `${out}: ${tensors} tensors of type ${types.join(', ')}`,
      );
    });
}

/** The estimate assumes the same rank and length as the presets for public models. */
const [RANK, LENGTH] = [16, 512];

function inspect(model: ModelFiles, { rows, quantize }: InspectFlags) {
  const { config, parameters, eosTokens } = model;
  const tensors = [...model.stored.values()];
  const paths = [...new Set(tensors.map(({ path }) => path))].sort();
  const length = Math.min(LENGTH, config.contextLength);
  const quantization: Quantization | undefined =
    quantize && quantize !== 'none' ? { bits: quantize === 'int4' ? 4 : 8, groupSize: GROUP_SIZE } : undefined;
  const use = { sequences: rows, length, rank: RANK, quantization };
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
    lora: { rank: RANK, parameters: layoutSize(loraLayout(config, RANK)) },
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
    ['weights', `${found.dtypes.join(', ')}; ${counted(files.length, 'file')}, ${sizeText(bytes)}`],
    [`LoRA, rank ${lora.rank}`, `${count(lora.parameters)} parameters`],
    ['memory to decode', `${sizeText(memory.decodeBytes)} for ${memory.rows} rows of ${memory.length} tokens`],
    ['memory to train', `${sizeText(memory.trainBytes)} for rows of ${memory.length} tokens`],
    ['memory free', sizeText(memory.freeBytes)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(18)}${value}`).join('\n');
}

const count = (n: number): string => n.toLocaleString('en');
