// `gauntlet resume ID`: continues a run, whatever its state is, and says what it did.
import { type Command, Option } from 'commander';
import type { Decision } from '../../core/run/control.js';
import { openStore } from '../../store/openStore.js';
import { deviceOption, jsonOption, OF_RUN, sandboxOption, watchOption } from '../input/options.js';
import { resumeRun } from '../run/resuming.js';
import { noteUnused, type SessionFlags, withSession, withStore } from '../run/session.js';
import { conclude, concludeEnding } from '../run/training.js';
import { createOutput } from '../terminal/output.js';

interface Flags extends SessionFlags {
  watch?: boolean;
  skip?: boolean;
  abort?: boolean;
}

const OF_RUN_HERE = `${OF_RUN}; only for workers that --watch starts`;

export function addResume(program: Command): void {
  const command = program
    .command('resume')
    .description('continue a run that was paused or left, waits for a decision, failed, was terminated or timed out')
    .argument('<run>', 'run id')
    .addOption(new Option('--skip', 'skip the step whose activity failed instead of retrying it'))
    .addOption(new Option('--abort', 'end a run that waits for a decision').conflicts('skip'))
    .addOption(watchOption())
    .addOption(sandboxOption(OF_RUN_HERE))
    .addOption(deviceOption(OF_RUN_HERE))
    .addOption(jsonOption());
  withStore(command, 'server').action(async (id: string, flags: Flags) => {
    const output = createOutput(flags.json === true);
    await withSession(flags, output, flags.watch ? 'if-none-poll' : 'none', async (session) => {
      noteUnused(session, flags, output);
      const store = await openStore(flags.store);
      const decision = decisionOf(flags);
      const { joined, said } = await resumeRun({ ...session, store }, id, decision);
      output.note(`run '${id}' ${said}`);
      const end = decision === 'abort' ? concludeEnding : conclude;
      await end(session, joined, output, flags.watch === true);
    });
  });
}

const decisionOf = ({ skip, abort }: Flags): Decision => (skip ? 'skip' : abort ? 'abort' : 'retry');
