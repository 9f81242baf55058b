// `gauntlet temporal …`: the Temporal CLI that set-up found, for people who have none on their PATH.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { runningAddress } from '../../infra/temporalServer.js';
import { temporalTarget } from '../../infra/temporalTarget.js';
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
      const code = await new Promise<number>((settle, reject) => {
        child.on('error', reject);
        child.on('exit', (code, signal) => settle(signal === null ? (code ?? 1) : 1));
      });
      process.exitCode = code;
      if (code !== 0 && address === undefined && temporalTarget(env) === undefined) {
        const store = resolve(storeFolder(env.GAUNTLET_STORE || DEFAULT_STORE));
        process.stderr.write(`no Temporal server serves ${store}: start one with npx gauntlet up\n`);
      }
    });
}
