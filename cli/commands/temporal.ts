// `gauntlet temporal …`: the Temporal CLI that set-up found, for people without one on their PATH.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { runningAddress } from '../../infra/temporalServer.js';
import { temporalTarget } from '../../infra/temporalTarget.js';
import { DEFAULT_STORE, localFolder, storePlace } from '../../store/openStore.js';
import { isS3 } from '../../store/s3Place.js';

export function addTemporal(program: Command): void {
  program
    .command('temporal')
    .description('run the Temporal CLI against the server of this store')
    .argument('[args...]', 'arguments of the Temporal CLI')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => {
      const path = await findTemporalCli();
      if (path === undefined) {
        throw new GauntletError(
          'NOT_FOUND',
          'no Temporal CLI on this machine: `npx gauntlet up` downloads or builds it, or set TEMPORAL_CLI',
        );
      }
      const env = { ...process.env };
      // the server of this store may use another port than the CLI's default
      const store = storePlace(env.GAUNTLET_STORE || DEFAULT_STORE);
      const isNamed = temporalTarget(env) !== undefined;
      const address = isNamed ? undefined : runningAddress(localFolder(store));
      if (address !== undefined) env.TEMPORAL_ADDRESS = address;
      const child = spawn(path, args, { stdio: 'inherit', env });
      const code = await new Promise<number>((settle, reject) => {
        child.on('error', reject);
        child.on('exit', (code, signal) => settle(signal === null ? (code ?? 1) : 1));
      });
      process.exitCode = code;
      if (code !== 0 && address === undefined && !isNamed) {
        process.stderr.write(
          `no Temporal server runs for ${isS3(store) ? store : resolve(store)}: start one with npx gauntlet up\n`,
        );
      }
    });
}
