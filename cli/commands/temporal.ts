// `gauntlet temporal …`: the Temporal CLI that set-up found, for people who have none on their PATH.
import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { runningAddress } from '../../infra/temporalServer.js';
import { DEFAULT_STORE, storeFolder } from '../../store/fileStore.js';

export function addTemporal(program: Command): void {
  program
    .command('temporal')
    .description('run the Temporal CLI that set-up found, e.g. gauntlet temporal workflow list')
    .argument('[args...]', 'passed on as they are')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => {
      const path = await findTemporalCli();
      if (path === undefined) {
        throw new GauntletError(
          'NOT_FOUND',
          'no Temporal CLI on this machine: run `node infra/setup.mjs`, or set TEMPORAL_CLI',
        );
      }
      const env = { ...process.env };
      // the server of this store may have had to take another port than the one that the CLI looks at
      const address = env.TEMPORAL_ADDRESS || runningAddress(storeFolder(env.GAUNTLET_STORE || DEFAULT_STORE));
      if (address !== undefined) env.TEMPORAL_ADDRESS = address;
      const child = spawn(path, args, { stdio: 'inherit', env });
      process.exitCode = await new Promise<number>((resolve, reject) => {
        child.on('error', reject);
        child.on('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 1));
      });
    });
}
