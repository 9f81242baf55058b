// `gauntlet fork`: a new run that starts at a checkpoint of another run, with other settings from there on.
import type { Command } from 'commander';
import { openStore } from '../../store/openStore.js';
import { checkRollouts, fieldsOf } from '../input/config.js';
import { chooseCheckpoint, REQUIRED_CHECKPOINT } from '../input/naming.js';
import { deviceOption, jsonOption, OF_RUN, sandboxOption, setOption, watchOption } from '../input/options.js';
import { prepareFork } from '../run/forking.js';
import { hasServer, type SessionFlags, withSession, withStore } from '../run/session.js';
import { conclude, startOrJoin } from '../run/training.js';
import { createOutput } from '../terminal/output.js';

type Flags = SessionFlags & { set: string[]; watch?: boolean };

export function addFork(program: Command): void {
  const command = program
    .command('fork')
    .description('start a new run at a checkpoint of another run, with the rest of its schedule')
    .argument(...REQUIRED_CHECKPOINT)
    .argument('[run]', 'id of the new run (default: <run>-from-<checkpoint>)')
    .addOption(sandboxOption(OF_RUN))
    .addOption(deviceOption(OF_RUN))
    .addOption(setOption())
    .addOption(watchOption())
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (from: string, named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    const store = await openStore(flags.store);
    const checkpoint = await chooseCheckpoint(store, from);
    const { id, input, name } = await prepareFork(store, checkpoint, fieldsOf(flags), named);
    if (!hasServer(flags.store)) checkRollouts(input, flags.store); // this machine will have the workers
    await withSession(flags, output, flags.watch ? 'if-none-poll' : 'none', async (session) => {
      if (session.workers !== undefined) checkRollouts(input, flags.store);
      const joined = await startOrJoin(session.client, id, input);
      output.note(`${joined.how} run '${id}' from ${name} of run '${checkpoint.runId}'`);
      await conclude(session, joined, output, flags.watch === true);
    });
  });
}
