// `gauntlet train`: starts a training run and, with --watch, follows it to its result.
import type { Command } from 'commander';
import { checkRunId } from '../../store/checks.js';
import { checkRollouts, readConfig } from '../input/config.js';
import { type ConfigFlags, jsonOption, watchOption, withConfig } from '../input/options.js';
import { forCard } from '../run/card.js';
import { hasServer, type SessionFlags, withSession, withStore } from '../run/session.js';
import { conclude, startOrJoin } from '../run/training.js';
import { createOutput } from '../terminal/output.js';

type Flags = ConfigFlags & SessionFlags & { watch?: boolean };

export function addTrain(program: Command): void {
  const command = program
    .command('train')
    .description('start a training run, or continue it if it exists')
    .argument('[run]', 'id of the run (default: train-<preset>-seed-<n>)')
    .addOption(watchOption());
  withStore(withConfig(command).addOption(jsonOption())).action(async (named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    const given = await readConfig(flags);
    const input = await forCard(given, (line) => output.note(line));
    const id = named ?? `train-${input.preset ?? 'tiny'}-seed-${input.seed ?? 0}`;
    checkRunId(id);
    if (!hasServer(flags.store)) checkRollouts(input, flags.store); // this machine will have the workers
    await withSession(flags, output, flags.watch ? 'if-none-poll' : 'none', async (session) => {
      if (session.workers !== undefined) checkRollouts(input, flags.store);
      const joined = await startOrJoin(session.client, id, input);
      const { owned, uiUrl, address } = session.server;
      const stays = !owned || flags.watch === true; // else the server ends with this command
      output.note(`${joined.how} run '${id}'${stays ? ` · Temporal UI: ${uiUrl ?? address}` : ''}`);
      await conclude(session, joined, output, flags.watch === true);
    });
  });
}
