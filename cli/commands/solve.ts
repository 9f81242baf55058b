// `gauntlet solve FILE`: programs for problems of your own, by the base model or a checkpoint.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadProblems } from '../../data/problems.js';
import { openFileStore } from '../../store/fileStore.js';
import { integer } from '../config.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, withConnection } from '../session.js';
import { solve } from '../solving.js';
import { chooseRun } from './checkpoints.js';

type Flags = ConnectionOptions & { checkpoint: string; run?: string; model?: string; samples: number; json?: boolean };

export function addSolve(program: Command): void {
  const command = program
    .command('solve')
    .description('solve problems with a checkpoint, or with the base model')
    .argument('<file>', 'problems, JSON or JSONL')
    .option('--checkpoint <name>', "best, latest, a checkpoint's name, or base", 'best')
    .option('--run <id>', 'run of the checkpoint; needed where the store holds several')
    .option('--model <folder>', 'model of --checkpoint base (default: the shipped one)')
    .option('--samples <n>', 'programs per problem', integer('--samples'), 1)
    .option('--sandbox <kind>', 'auto, docker or wasm')
    .option('--json', 'one line of JSON per program');
  withConnection(command).action(async (file: string, flags: Flags) => {
    const output = createOutput(flags.json === true);
    await loadProblems(file); // a bad file is refused before anything is started
    const store = await openFileStore(flags.store);
    const checkpoint =
      flags.checkpoint === 'base' ? undefined : { runId: await chooseRun(store, flags.run), name: flags.checkpoint };
    const session = await openSession(flags, output, 'if-none-poll');
    try {
      const { codes, solved, problems } = await solve(session.client, store, {
        source: resolve(file),
        samples: flags.samples,
        ...(flags.samples > 1 ? { temperature: 0.8 } : {}),
        ...(checkpoint && { checkpoint }),
        ...(flags.model && { model: resolve(flags.model) }),
      });
      for (const row of codes) {
        output.result(
          row,
          () => `# ${row.problemId}: ${row.passed} of ${row.tests} baseline tests pass\n${row.code}\n`,
        );
      }
      output.note(`${solved} of ${problems} problems solved`);
    } finally {
      await session.close();
    }
  });
}
