// `gauntlet show`: one chain with its tests, executions and rewards, before (or after) any training.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadProblems } from '../../data/problems.js';
import { openFileStore } from '../../store/fileStore.js';
import { chainText } from '../chainText.js';
import { integer } from '../config.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, withConnection } from '../session.js';
import { solve } from '../solving.js';

type Flags = ConnectionOptions & {
  problems: string;
  limit: number;
  run?: string;
  checkpoint: string;
  temperature: number;
  seed: number;
  model?: string;
  json?: boolean;
};

export function addShow(program: Command): void {
  const command = program
    .command('show')
    .description('show chains in full: stages, tests, executions and rewards')
    .option('--problems <file>', "'tiny' or a problem file", 'tiny')
    .option('--limit <n>', 'how many problems', integer('--limit'), 1)
    .option('--run <id>', 'take the policies from a checkpoint of this run (default: the untrained base)')
    .option('--checkpoint <name>', 'which one of it', 'best')
    .option('--model <folder>', 'another base model')
    .option('--temperature <t>', 'of the sampling', Number, 0.8)
    .option('--seed <n>', 'of the sampling', integer('--seed'), 0)
    .option('--sandbox <kind>', 'auto, docker or wasm')
    .option('--json', 'one line of JSON per chain');
  withConnection(command).action(async (flags: Flags) => {
    const output = createOutput(flags.json === true);
    await loadProblems(flags.problems); // a bad file is refused before anything is started
    const store = await openFileStore(flags.store);
    const session = await openSession(flags, output, 'if-none-poll');
    try {
      const { views } = await solve(session.client, store, {
        source: flags.problems === 'tiny' ? 'tiny' : resolve(flags.problems),
        split: 'test',
        limit: flags.limit,
        temperature: flags.temperature,
        seed: flags.seed,
        tests: true,
        ...(flags.run && { checkpoint: { runId: flags.run, name: flags.checkpoint } }),
        ...(flags.model && { model: resolve(flags.model) }),
      });
      for (const view of views) output.result(view, () => chainText(view));
    } finally {
      await session.close();
    }
  });
}
