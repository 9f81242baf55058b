// Controls a running run: `gauntlet pause`, `stop` and `set`; `resume` ends a pause. The Temporal CLI does the same:
// `temporal workflow update execute --name pause --workflow-id RUN`.
import type { Command } from 'commander';
import { jsonOption } from '../input/options.js';
import { type SessionFlags, withSession, withStore } from '../run/session.js';
import { changeOf, checkServer, type Update, updateRun } from '../run/updates.js';
import { createOutput } from '../terminal/output.js';

async function updateAndSay(id: string, update: Update, flags: SessionFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  checkServer(flags.store);
  const said = await withSession(flags, output, 'none', (session) => updateRun(session, id, update));
  const subject = update.name === 'change' ? `run '${id}': the change` : `run '${id}'`;
  output.result({ runId: id, update: update.name, said }, () => `${subject} ${said}`);
}

export function addControl(program: Command): void {
  const command = (name: string, description: string): Command =>
    withStore(
      program.command(name).description(description).argument('<run>', 'run id').addOption(jsonOption()),
      'server',
    );
  command('pause', 'pause a run after its current step').action((id: string, flags: SessionFlags) =>
    updateAndSay(id, { name: 'pause' }, flags),
  );
  command('stop', 'end a run after its current step, with checkpoint, evaluation and report').action(
    (id: string, flags: SessionFlags) => updateAndSay(id, { name: 'stop' }, flags),
  );
  command('set', 'change configuration fields of a run from its next step on')
    .argument('<field=value...>', 'docs/configuration.md lists the fields that can change')
    .action((id: string, assignments: string[], flags: SessionFlags) => updateAndSay(id, changeOf(assignments), flags));
}
