// `gauntlet up`: runs a server and all workers on this machine until Ctrl-C.
import type { Command } from 'commander';
import { openStore } from '../../store/openStore.js';
import { integer, withServing } from '../input/options.js';
import { tellNeed } from '../run/onWaiting.js';
import { openSession, type SessionFlags, serve, withStore } from '../run/session.js';
import { needOf } from '../run/status.js';
import { commandLine } from '../terminal/commandLine.js';
import { createOutput } from '../terminal/output.js';

export function addUp(program: Command): void {
  const command = program
    .command('up')
    .description('run a Temporal server (if none is reachable) and all workers; Ctrl-C stops both')
    .option('--port <n>', 'port of the embedded server (default: 7233, or the next free one)', integer())
    .option('--ui-port <n>', 'port of the Web UI (default: port of the server + 1000)', integer());
  withStore(withServing(command)).action(async (flags: SessionFlags) => {
    const output = createOutput(flags.json);
    const session = await openSession(flags, output, 'here');
    const { address, uiUrl, owned } = session.server;
    await serve(session, async () => {
      output.result({ address, ui: uiUrl, store: flags.store, owned }, () =>
        [
          `server   ${address}`,
          `web UI   ${uiUrl ?? 'see your server'}`,
          `store    ${flags.store}`,
          `ready (Ctrl-C stops it); in another terminal: ${commandLine('train --watch')}, or`,
          `         ${commandLine('temporal workflow start --type trainFullPipeline --task-queue gauntlet --workflow-id first')}`,
        ].join('\n'),
      );
      const store = await openStore(flags.store);
      const query = `WorkflowType = 'trainFullPipeline' AND ExecutionStatus = 'Running'`;
      for await (const { workflowId, status } of session.client.workflow.list({ query })) {
        const need = await needOf(store, workflowId, status.name); // it has waited since before this command
        if (need) await tellNeed(output, flags.onWaiting)(need);
      }
    });
  });
}
