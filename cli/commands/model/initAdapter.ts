// `gauntlet model init-adapter`: a new LoRA adapter, A uniform and B zero, so that it does not change the model yet.
import type { Command } from 'commander';
import { checkAdapterTarget, writeAdapterFolder } from '../../model/adapterFolder.js';
import { modelOption } from '../../model/flags.js';
import { withModel } from '../../model/open.js';
import { integer, jsonOption, number } from '../../options.js';
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
    .description('write a new LoRA adapter in PEFT format')
    .addOption(modelOption())
    .option('--rank <n>', 'LoRA rank', integer(1), 16)
    .option('--alpha <x>', 'LoRA alpha; scaling is alpha/rank', number({ above: 0 }), 32)
    .option('--seed <n>', 'random seed of A', integer(), 0)
    .option('--value-head', 'add a value head: a linear layer on the last hidden state, initially zero')
    .requiredOption('-o, --out <folder>', 'folder to write')
    .option('--overwrite', 'replace an existing adapter')
    .addOption(jsonOption())
    .action(async ({ rank, alpha, seed, valueHead, out, ...flags }: Flags) => {
      checkAdapterTarget(out, flags.overwrite);
      await withModel({ model: flags.model }, async ({ engine }) => {
        const adapter = engine.initAdapter({ rank, alpha, valueHead }, seed);
        await writeAdapterFolder(engine, out, adapter);
        createOutput(flags.json).result(
          { out, rank, alpha, seed, parameters: adapter.values.length },
          () => `${out}: rank ${rank}, alpha ${alpha}, ${adapter.values.length} parameters`,
        );
      });
    });
}
