// `gauntlet train`: starts a training run and, with --watch, follows it to its result.
import type { Command } from 'commander';
import { checkRunId } from '../../store/checks.js';
import { type ConfigFlags, readConfig, withConfig } from '../config.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, withStore } from '../session.js';
import { conclude, startOrJoin } from '../training.js';

type Flags = ConfigFlags & ConnectionOptions & { id?: string; watch?: boolean; json?: boolean };

export function addTrain(program: Command): void {
  const command = program
    .command('train')
    .description('start (or join) a training run')
    .option(
      '--id <id>',
      'run id (default: train-<preset>-seed-<n>); with the same configuration it goes on where it was',
    )
    .option('--watch', 'follow the run to its end; serves it from this process where no worker does')
    .option('--json', 'end with one line of JSON on standard output');
  withStore(withConfig(command)).action(async (flags: Flags) => {
    const output = createOutput(flags.json === true);
    const input = await readConfig(flags);
    const id = flags.id ?? `train-${input.preset ?? 'tiny'}-seed-${input.seed ?? 0}`;
    checkRunId(id);
    const session = await openSession(flags, output, flags.watch ? 'if-none-poll' : 'none');
    try {
      const joined = await startOrJoin(session.client, id, input);
      output.note(`${joined.how} run '${id}' · Temporal UI: ${session.server.uiUrl ?? session.server.address}`);
      await conclude(session, joined, output, flags.watch === true);
    } finally {
      await session.close();
    }
  });
}
