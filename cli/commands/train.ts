// `gauntlet train`: starts a training run and, with --watch, follows it to its result.
import type { Command } from 'commander';
import { checkRunId } from '../../store/checks.js';
import { type ConfigFlags, readConfig, withConfig } from '../config.js';
import { createOutput } from '../output.js';
import { resultTable } from '../results.js';
import { type ConnectionOptions, hasPollers, openSession, withStore } from '../session.js';
import { follow, startOrJoin } from '../training.js';

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
      const { handle, how } = await startOrJoin(session.client, id, input);
      output.note(`${how} run '${id}' · Temporal UI: ${session.server.uiUrl ?? session.server.address}`);
      if (!flags.watch) {
        if (!(await hasPollers(session.client))) output.note('no worker serves it yet: npx gauntlet up');
        output.result({ runId: id, how }, () => `follow it with: npx gauntlet status ${id} --watch`);
        return;
      }
      const result = await follow(session, handle, output, `npx gauntlet resume ${id} --watch`);
      if (result !== undefined) output.result(result, () => resultTable(result));
    } finally {
      await session.close();
    }
  });
}
