// `gauntlet resume ID`: does the right thing whatever the state of the run is, and says what it did.
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, statusOf, withStore } from '../session.js';
import { conclude, inputOf, startOrJoin } from '../training.js';

const SAID = {
  started: 'started',
  joined: 'goes on where it was',
  restarted: 'started again under its id: finished work is taken from the store',
  finished: 'had finished; nothing to do',
} as const;

export function addResume(program: Command): void {
  const command = program
    .command('resume')
    .description('go on with a run that was left, failed, was terminated or timed out')
    .argument('<id>', 'run id')
    .option('--watch', 'follow the run to its end; serves it from this process where no worker does')
    .option('--json', 'end with one line of JSON on standard output');
  withStore(command).action(async (id: string, flags: ConnectionOptions & { json?: boolean; watch?: boolean }) => {
    const output = createOutput(flags.json === true);
    const session = await openSession(flags, output, flags.watch ? 'if-none-poll' : 'none');
    try {
      if ((await statusOf(session.client, id)) === undefined) {
        throw new GauntletError('NOT_FOUND', `no run '${id}' on this server; list them with: npx gauntlet status`);
      }
      const joined = await startOrJoin(session.client, id, await inputOf(session.client, id));
      output.note(`run '${id}' ${SAID[joined.how]}`);
      await conclude(session, joined, output, flags.watch === true);
    } finally {
      await session.close();
    }
  });
}
