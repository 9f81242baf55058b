// `gauntlet dashboard`: serves the runs of a store as web pages until Ctrl-C.
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { openResources } from '../../dashboard/data/resources.js';
import { startDashboard } from '../../dashboard/server.js';
import { isLoopback } from '../../infra/httpServer.js';
import { openStore } from '../../store/openStore.js';
import { jsonOption, port } from '../input/options.js';
import { openControls } from '../run/dashboardControls.js';
import { type StoreFlags, withStore } from '../run/session.js';
import { interruptible } from '../terminal/interrupt.js';
import { createOutput } from '../terminal/output.js';

interface Flags extends StoreFlags {
  host: string;
  port: number;
  temporalUi?: string;
}

export function addDashboard(program: Command): void {
  const command = program
    .command('dashboard')
    .description('show and control the runs of the store in web pages; Ctrl-C stops the pages, not the runs')
    .option('--host <address>', 'address to serve at; beyond 127.0.0.1, pages need the printed token', '127.0.0.1')
    .option('--port <n>', 'port (default: any free one)', port, 0)
    .option('--temporal-ui <url>', 'Web UI of Temporal that pages link to (default: the one of the server)', webAddress)
    .addOption(jsonOption());
  withStore(command, 'reads').action(async ({ store: place, host, port, temporalUi, json }: Flags) => {
    const output = createOutput(json);
    const store = await openStore(place);
    const resources = openResources(store);
    const controls = openControls(store, place, temporalUi);
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL); // runs on this machine go first
    await interruptible(async ({ signal }) => {
      const dashboard = await startDashboard({ resources, controls, host, port });
      if (!isLoopback(host))
        output.note('others on the network can see and control all runs with this address: it contains a token');
      output.result({ url: dashboard.url, store: place }, () => `${dashboard.url}  (Ctrl-C stops)`);
      await once(signal, 'abort');
      await dashboard.close();
      await controls.close();
    });
  });
}

/** Checks an address of a page: a link with another protocol than HTTP could run a script. */
function webAddress(text: string): string {
  if (/^https?:/.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('It is not an address such as http://localhost:8233.');
}
