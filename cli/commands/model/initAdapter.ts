// `gauntlet model init-adapter`: a LoRA adapter at its start, A uniform and B zero, so that it changes nothing yet.
import type { Command } from 'commander';
import { integer } from '../../config.js';
import { checkAdapterTarget, writeAdapterFolder } from '../../model/adapterFolder.js';
import { modelOption, number } from '../../model/flags.js';
import { withModel } from '../../model/open.js';
import { createOutput } from '../../output.js';

interface Flags {
  model: string;
  rank: number;
  alpha: number;
  seed: number;
  valueHead?: boolean;
  out: string;
  overwrite?: boolean;
  json?: boolean;
}

export function addInitAdapter(group: Command): void {
  group
    .command('init-adapter')
    .description("write a fresh LoRA adapter in PEFT's format")
    .addOption(modelOption())
    .option('--rank <n>', 'of the adapter', integer('--rank', 1), 16)
    .option('--alpha <x>', 'the adapter counts alpha / rank', number('--alpha', { above: 0 }), 32)
    .option('--seed <n>', 'of A; B is zero', integer('--seed'), 0)
    .option('--value-head', 'with a value head, at zero: a linear layer on the last hidden state')
    .requiredOption('--out <folder>', 'where it goes')
    .option('--overwrite', 'replace an adapter that is there')
    .option('--json', 'one line of JSON')
    .action(async ({ rank, alpha, seed, valueHead, out, ...flags }: Flags) => {
      checkAdapterTarget(out, flags.overwrite);
      await withModel({ model: flags.model }, async ({ engine }) => {
        const adapter = engine.initAdapter({ rank, alpha, ...(valueHead && { valueHead }) }, seed);
        await writeAdapterFolder(engine, out, adapter);
        createOutput(flags.json === true).result(
          { out, rank, alpha, seed, parameters: adapter.values.length },
          () => `${out}: rank ${rank}, alpha ${alpha}, ${adapter.values.length} parameters`,
        );
      });
    });
}
