// `gauntlet solve FILE`: programs for problems of your own, by the base model or a checkpoint.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadProblems } from '../../data/problems.js';
import { loadCheckpoint } from '../../store/checkpoints.js';
import { openFileStore } from '../../store/fileStore.js';
import { checkModel, deviceOption, integer, sandboxOption } from '../config.js';
import { createOutput, percent } from '../output.js';
import { type ConnectionOptions, openSession, withStore } from '../session.js';
import { passRates, solve } from '../solving.js';
import { chooseRun } from './checkpoints.js';

type Flags = ConnectionOptions & { checkpoint: string; run?: string; model?: string; samples: number; json?: boolean };

const TEMPERATURE = 0.8; // of several samples; a single one is greedy

export function addSolve(program: Command): void {
  const command = program
    .command('solve')
    .description('solve problems with a checkpoint, or with the base model')
    .argument('<file>', 'problems, JSON or JSONL')
    .option('--checkpoint <name>', "best, latest, a checkpoint's name, or base", 'best')
    .option('--run <id>', 'run of the checkpoint; needed where the store holds several')
    .option('--model <folder>', 'model of --checkpoint base (default: the shipped one)')
    .option('--samples <n>', 'programs per problem', integer('--samples', 1), 1)
    .addOption(sandboxOption())
    .addOption(deviceOption())
    .option('--json', 'one line of JSON per program');
  withStore(command).action(async (file: string, flags: Flags) => {
    const output = createOutput(flags.json === true);
    // what is bad is refused before anything is started
    const { rejected = [] } = await loadProblems(file);
    for (const { id, reason } of rejected) output.note(`skipped ${id}: ${reason}`);
    if (flags.model !== undefined) checkModel(flags.model);
    const store = await openFileStore(flags.store);
    const checkpoint =
      flags.checkpoint === 'base' ? undefined : { runId: await chooseRun(store, flags.run), name: flags.checkpoint };
    if (checkpoint) await loadCheckpoint(store, checkpoint.runId, checkpoint.name);
    const session = await openSession(flags, output, 'if-none-poll');
    try {
      const { codes, solved, problems } = await solve(session.client, store, {
        source: resolve(file),
        samples: flags.samples,
        ...(flags.samples > 1 ? { temperature: TEMPERATURE } : {}),
        ...(checkpoint && { checkpoint }),
        ...(flags.model && { model: resolve(flags.model) }),
      });
      for (const row of codes) {
        const head = `# ${row.problemId}: ${row.passed} of ${row.tests} baseline tests pass`;
        output.result(row, () => `${head}\n${row.code}\n`);
      }
      output.note(`${solved} of ${problems} ${problems === 1 ? 'problem' : 'problems'} solved`);
      if (flags.samples > 1) {
        const { samples, pass1, passN } = passRates(codes);
        output.note(`pass@1 ${percent(pass1)}, pass@${samples} ${percent(passN)}`);
      }
    } finally {
      await session.close();
    }
  });
}
