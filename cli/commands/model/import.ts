// `gauntlet model import`: a GGUF file as a model folder.
import type { Command } from 'commander';
import { Option } from 'commander';
import { type ImportOptions, importGguf } from '../../../ml/gguf/import.js';
import { jsonOption } from '../../options.js';
import { createOutput } from '../../output.js';

interface Flags {
  out: string;
  dtype: 'f32' | 'bf16';
  tokenizer?: string;
  json?: boolean;
}

export function addImport(group: Command): void {
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
    .action((file: string, { out, dtype, tokenizer, json }: Flags) => {
      const type = dtype.toUpperCase() as ImportOptions['dtype'];
      const { tensors, types } = importGguf(file, out, { dtype: type, tokenizer });
      createOutput(json).result(
        { out, tensors, types, dtype },
        () => `${out}: ${tensors} tensors of type ${types.join(', ')}`,
      );
    });
}
