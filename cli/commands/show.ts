// `gauntlet show`: chains with their tests, executions and rewards, before (or after) any training.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadProblems } from '../../data/problems.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { openFileStore } from '../../store/fileStore.js';
import { chainText } from '../chainText.js';
import { checkModel, deviceOption, integer, sandboxOption, temperature } from '../config.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, withStore } from '../session.js';
import { solve } from '../solving.js';
import { chooseRun } from './checkpoints.js';

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
    .option('--problems <file>', "'tiny' (held-out ones of the shipped family) or a problem file", 'tiny')
    .option('--limit <n>', 'how many problems', integer('--limit', 1), 1)
    .option('--run <id>', 'take the policies from a checkpoint of this run (default: the untrained base)')
    .option('--checkpoint <name>', 'which one of it: best, latest or its name', 'best')
    .option('--model <folder>', 'another base model')
    .option('--temperature <t>', 'of the sampling, 0 for greedy', temperature, 0.8)
    .option('--seed <n>', 'of the sampling', integer('--seed'), 0)
    .addOption(sandboxOption())
    .addOption(deviceOption())
    .option('--json', 'one line of JSON per chain');
  withStore(command).action(async (flags: Flags) => {
    const output = createOutput(flags.json === true);
    // what is bad is refused before anything is started
    const { rejected = [] } = await loadProblems(flags.problems);
    for (const { id, reason } of rejected) output.note(`skipped ${id}: ${reason}`);
    if (flags.model !== undefined) checkModel(flags.model);
    const store = await openFileStore(flags.store);
    const checkpoint = flags.run && { runId: await chooseRun(store, flags.run), name: flags.checkpoint };
    if (checkpoint) await loadCheckpoint(store, checkpoint.runId, checkpoint.name);
    const session = await openSession(flags, output, 'if-none-poll');
    try {
      const { views } = await solve(session.client, store, {
        source: flags.problems === 'tiny' ? 'tiny' : resolve(flags.problems),
        limit: flags.limit,
        temperature: flags.temperature,
        seed: flags.seed,
        tests: true,
        ...(checkpoint && { checkpoint }),
        ...(flags.model && { model: resolve(flags.model) }),
      });
      for (const view of views) output.result(view, () => chainText(view));
    } finally {
      await session.close();
    }
  });
}
