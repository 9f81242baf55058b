// `gauntlet up`: server and workers on this machine, until Ctrl-C.
import type { Command } from 'commander';
import { deviceOption, integer, sandboxOption } from '../config.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, serve, withStore } from '../session.js';

export function addUp(program: Command): void {
  const command = program
    .command('up')
    .description('start the Temporal server (where none is reachable) and all workers; Ctrl-C ends both')
    .option('--port <n>', 'port of the embedded server (default: 7233, or the next free one)', integer('--port'))
    .option('--ui-port <n>', 'port of its Web UI (default: that of the server + 1000)', integer('--ui-port'))
    .addOption(sandboxOption())
    .addOption(deviceOption())
    .option('--json', 'print one line of JSON when ready');
  withStore(command).action(async (flags: ConnectionOptions & { json?: boolean }) => {
    const output = createOutput(flags.json === true);
    const session = await openSession(flags, output, 'here');
    const { address, uiUrl, owned } = session.server;
    await serve(session, () =>
      output.result({ address, ui: uiUrl, store: flags.store, owned }, () =>
        [
          `server   ${address}`,
          `web UI   ${uiUrl ?? 'that of your server'}`,
          `store    ${flags.store}`,
          'ready (Ctrl-C ends it); elsewhere: npx gauntlet train --watch, or',
          '         temporal workflow start --type trainFullPipeline --task-queue gauntlet --workflow-id first',
        ].join('\n'),
      ),
    );
  });
}
