// `gauntlet resume ID`: does the right thing whatever the state of the run is, and says what it did.
import { type Command, Option } from 'commander';
import type { Decision } from '../../core/control.js';
import { GauntletError } from '../../core/errors.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, type Session, statusOf, withStore } from '../session.js';
import { conclude, inputOf, startOrJoin } from '../training.js';
import { queryProgress } from '../watch.js';
import { ask } from './control.js';

interface Flags extends ConnectionOptions {
  json?: boolean;
  watch?: boolean;
  skip?: boolean;
  abort?: boolean;
}

const SAID = {
  started: 'started',
  joined: 'goes on where it was',
  restarted: 'started again under its id: finished work is taken from the store',
  finished: 'had finished; nothing to do',
} as const;

export function addResume(program: Command): void {
  const command = program
    .command('resume')
    .description('go on with a run that was paused or left, waits for a decision, failed, was terminated or timed out')
    .argument('<id>', 'run id')
    .addOption(new Option('--skip', 'leave out the step whose activity failed, instead of trying it again'))
    .addOption(new Option('--abort', 'end a run that waits for a decision').conflicts('skip'))
    .option('--watch', 'follow the run to its end; serves it from this process where no worker does')
    .option('--json', 'end with one line of JSON on standard output');
  withStore(command).action(async (id: string, flags: Flags) => {
    const output = createOutput(flags.json === true);
    const session = await openSession(flags, output, flags.watch ? 'if-none-poll' : 'none');
    try {
      if ((await statusOf(session.client, id)) === undefined) {
        throw new GauntletError('NOT_FOUND', `no run '${id}' on this server; list them with: npx gauntlet status`);
      }
      const joined = await startOrJoin(session.client, id, await inputOf(session.client, id));
      const steered = joined.how === 'joined' ? await goOn(session, id, decisionOf(flags)) : undefined;
      output.note(`run '${id}' ${steered ?? SAID[joined.how]}`);
      await conclude(session, joined, output, flags.watch === true);
    } finally {
      await session.close();
    }
  });
}

const decisionOf = ({ skip, abort }: Flags): Decision => (skip ? 'skip' : abort ? 'abort' : 'retry');

/** What a running run waits for is given to it; undefined where it waits for nothing, or no worker can answer. */
async function goOn({ client }: Session, id: string, decision: Decision): Promise<string | undefined> {
  const handle = client.workflow.getHandle(id);
  const progress = await queryProgress(handle);
  if (progress?.state === 'waiting') {
    const { activity } = progress.failure!;
    await ask(handle, { name: 'decide', decision });
    return { retry: `tries ${activity} again`, skip: `leaves out the step of ${activity}`, abort: 'ends' }[decision];
  }
  if (decision !== 'retry') throw new GauntletError('BAD_INPUT', `run '${id}' waits for no decision`);
  if (progress?.state !== 'paused') return undefined;
  await ask(handle, { name: 'resume' });
  return 'goes on after its pause';
}
