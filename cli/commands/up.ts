// `gauntlet up`: server and workers on this machine, until Ctrl-C.
import { type Command, Option } from 'commander';
import { integer } from '../config.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, onInterrupt, openSession, withConnection } from '../session.js';

export function addUp(program: Command): void {
  const command = program
    .command('up')
    .description('start the Temporal server (where none is reachable) and all workers; Ctrl-C ends both')
    .option('--port <n>', 'port of the embedded server', integer('--port'))
    .option('--ui-port <n>', 'port of its Web UI', integer('--ui-port'))
    .addOption(new Option('--sandbox <kind>', 'where generated code runs').choices(['auto', 'docker', 'wasm']))
    .option('--json', 'print one line of JSON when ready');
  withConnection(command).action(async (flags: ConnectionOptions & { json?: boolean }) => {
    const output = createOutput(flags.json === true);
    const session = await openSession(flags, output, 'here');
    let release = (): void => undefined;
    const stopped = new Promise<void>((resolve) => {
      release = onInterrupt(resolve);
    });
    try {
      output.result({ address: session.server.address, ui: session.server.uiUrl, store: flags.store }, () =>
        [
          `server   ${session.server.address}`,
          `web UI   ${session.server.uiUrl ?? 'that of your server'}`,
          `store    ${flags.store}`,
          'ready: temporal workflow start --type trainFullPipeline --task-queue gauntlet --workflow-id first',
        ].join('\n'),
      );
      await Promise.race([stopped, session.workers!.run]);
    } finally {
      release();
      await session.close();
    }
  });
}
