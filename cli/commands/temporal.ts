// `gauntlet temporal …`: runs the Temporal CLI that set-up found, for people who have none on their PATH.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { findTemporalCli } from '../../infra/temporal-cli.mjs';
import { runningAddress } from '../../infra/temporalServer.js';
import { temporalTarget } from '../../infra/temporalTarget.js';
import { localFolder, storePlace } from '../../store/openStore.js';
import { isS3 } from '../../store/s3Place.js';
import { withStore } from '../run/session.js';
import { commandLine, useStore } from '../terminal/commandLine.js';
import { note } from '../terminal/output.js';

export function addTemporal(program: Command): void {
  const command = program
    .command('temporal')
    .description('run the Temporal CLI against the server of this store')
    .argument('[args...]', 'arguments of the Temporal CLI')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions();
  withStore(command).action(async (given: string[], flags: { store: string }) => {
    const { args, store } = withoutStore(given, flags.store);
    const path = await findTemporalCli();
    if (path === undefined) {
      throw new GauntletError(
        'NOT_FOUND',
        'no Temporal CLI on this machine: `npx gauntlet up` downloads or builds it, or set TEMPORAL_CLI',
      );
    }
    const env = { ...process.env };
    // the server of this store may use another port than the CLI's default
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
      note(`no Temporal server runs for ${isS3(store) ? store : resolve(store)}: start one with ${commandLine('up')}`);
    }
  });
}

/** --store may also be among the arguments of the Temporal CLI, which has no such option. */
function withoutStore(given: readonly string[], before: string): { args: string[]; store: string } {
  const args: string[] = [];
  let store = before;
  for (let i = 0; i < given.length; i++) {
    const word = given[i]!;
    if (word === '--') {
      args.push(...given.slice(i));
      break;
    }
    if (word !== '--store' && !word.startsWith('--store=')) {
      args.push(word);
      continue;
    }
    const place = word === '--store' ? given[++i] : word.slice('--store='.length);
    if (!place) throw new GauntletError('BAD_INPUT', '--store: name the folder or bucket of a store');
    store = storePlace(place);
  }
  useStore(store);
  return { args, store };
}
