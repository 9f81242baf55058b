// `gauntlet dashboard`: serves the runs of a store as web pages until Ctrl-C. It reads only.
import type { Command } from 'commander';
import { openResources } from '../../dashboard/data/resources.js';
import { startDashboard } from '../../dashboard/server.js';
import { isLoopback } from '../../infra/httpServer.js';
import { openStore } from '../../store/openStore.js';
import { integer, jsonOption } from '../options.js';
import { createOutput } from '../output.js';
import { interruptible, withStore } from '../session.js';

interface Flags {
  store: string;
  host: string;
  port: number;
  json?: boolean;
}

export function addDashboard(program: Command): void {
  const command = program
    .command('dashboard')
    .description('show runs, rollouts and problems of the store as web pages; Ctrl-C stops')
    .option('--host <address>', 'address to serve at; beyond 127.0.0.1, pages need the printed token', '127.0.0.1')
    .option('--port <n>', 'port (default: any free one)', integer(), 0)
    .addOption(jsonOption());
  withStore(command, 'reads').action(async ({ store, host, port, json }: Flags) => {
    const output = createOutput(json);
    const resources = openResources(await openStore(store));
    await interruptible(async ({ signal }) => {
      const dashboard = await startDashboard({ resources, host, port });
      if (!isLoopback(host))
        output.note('others on the network can see all runs with this address: it contains a token');
      output.result({ url: dashboard.url, store }, () => `${dashboard.url}  (Ctrl-C stops)`);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      await dashboard.close();
    });
  });
}
