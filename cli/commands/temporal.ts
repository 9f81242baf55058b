// `gauntlet temporal …`: the Temporal CLI that set-up found, for people who have none on their PATH.
import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';

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
      const child = spawn(path, args, { stdio: 'inherit' });
      process.exitCode = await new Promise<number>((resolve, reject) => {
        child.on('error', reject);
        child.on('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 1));
      });
    });
}
