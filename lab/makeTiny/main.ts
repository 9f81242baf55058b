// `npm run make:tiny`: trains a shipped base model and replaces it, or writes another folder.
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { integer, jsonOption, sandboxOption } from '../../cli/input/options.js';
import { createOutput, duration, printError } from '../../cli/terminal/output.js';
import { FAMILY_NAMES } from '../families/index.js';
import { type MakeTinyOptions, makeTiny } from './makeTiny.js';

type Flags = Omit<MakeTinyOptions, 'sandbox'> & Partial<Pick<MakeTinyOptions, 'sandbox'>> & { json?: boolean };

export function makeTinyCommand(): Command {
  const tokens = (text: string): number => integer(1000)(text.replaceAll('_', ''));
  return new Command('npm run make:tiny --')
    .description('Train a shipped base model from random weights and write it in Hugging Face layout.')
    .addOption(new Option('--family <name>', 'problem family of the model').choices(FAMILY_NAMES).default('tiny'))
    .option('--seed <n>', 'random seed of the weights, the corpus and its order', integer(), 0)
    .option(
      '--tokens <n>',
      'tokens to train on (default: those of the recipe); fewer give a weaker model sooner',
      tokens,
    )
    .option('-o, --out <folder>', 'folder for the model (default: the shipped one)')
    .option('--no-evaluate', 'leave pass rates out of the model card')
    .addOption(sandboxOption())
    .addOption(jsonOption())
    .action(async ({ sandbox = 'auto', json, ...flags }: Flags) => {
      const output = createOutput(json);
      const result = await makeTiny({ ...flags, sandbox }, output);
      output.result(
        result,
        () => `${result.folder}: ${result.tokens} tokens in ${duration(result.seconds)}, sha256 ${result.digest}`,
      );
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await makeTinyCommand().parseAsync();
  } catch (error) {
    process.exitCode = printError(error, process.argv.includes('--json'));
  }
}
