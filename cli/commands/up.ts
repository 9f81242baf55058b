// `gauntlet up`: runs a server and all workers on this machine until Ctrl-C. With --listen, other machines may use the
// server.
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { temporalTarget } from '../../infra/temporalTarget.js';
import { parseApiKeys, startTlsProxy, type TlsProxy, type TlsProxyOptions } from '../../infra/tlsProxy.js';
import { isS3 } from '../../store/s3Place.js';
import { readTextFile } from '../input/config.js';
import {
  deviceOption,
  integer,
  jsonOption,
  listenOption,
  metricsOption,
  OF_RUN,
  sandboxOption,
} from '../input/options.js';
import { openSession, type SessionFlags, serve, withStore } from '../run/session.js';
import { commandLine } from '../terminal/commandLine.js';
import { createOutput } from '../terminal/output.js';

interface ListenFlags {
  listen?: string;
  tlsCert?: string;
  tlsKey?: string;
  apiKeys?: string;
}

export function addUp(program: Command): void {
  const command = program
    .command('up')
    .description('run a Temporal server (if none is reachable) and all workers; Ctrl-C stops both')
    .option('--port <n>', 'port of the embedded server (default: 7233, or the next free one)', integer())
    .option('--ui-port <n>', 'port of the Web UI (default: port of the server + 1000)', integer())
    .addOption(listenOption())
    .option('--tls-cert <file>', 'certificate for --listen, PEM')
    .option('--tls-key <file>', 'private key of the certificate, PEM')
    .option('--api-keys <file>', 'API keys for --listen, one per line')
    .addOption(sandboxOption(OF_RUN))
    .addOption(deviceOption(OF_RUN))
    .addOption(metricsOption())
    .addOption(jsonOption());
  withStore(command).action(async (flags: SessionFlags & ListenFlags) => {
    const output = createOutput(flags.json);
    const offer = await readOffer(flags);
    const session = await openSession(flags, output, 'here');
    const { address, uiUrl, owned } = session.server;
    let proxy: TlsProxy | undefined;
    try {
      proxy = offer && (await startTlsProxy({ server: address, ...offer }));
    } catch (error) {
      await session.close();
      throw error;
    }
    if (proxy && !isS3(flags.store))
      output.note('other machines cannot use a store in a folder: give all machines a bucket with --store s3://…');
    try {
      await serve(session, () =>
        output.result({ address, ui: uiUrl, store: flags.store, owned, listening: proxy?.address }, () =>
          [
            `server   ${address}`,
            ...(proxy ? [`others   ${proxy.address}, with TLS and an API key`] : []),
            `web UI   ${uiUrl ?? 'see your server'}`,
            `store    ${flags.store}`,
            `ready (Ctrl-C stops it); in another terminal: ${commandLine('train --watch')}, or`,
            '         temporal workflow start --type trainFullPipeline --task-queue gauntlet --workflow-id first',
          ].join('\n'),
        ),
      );
    } finally {
      await proxy?.close();
    }
  });
}

/** What --listen needs, read before anything starts. @throws GauntletError BAD_INPUT */
async function readOffer(flags: ListenFlags): Promise<Omit<TlsProxyOptions, 'server'> | undefined> {
  const { listen: address, tlsCert, tlsKey, apiKeys } = flags;
  if (address === undefined && [tlsCert, tlsKey, apiKeys].every((file) => file === undefined)) return undefined;
  if (address === undefined || tlsCert === undefined || tlsKey === undefined || apiKeys === undefined)
    throw new GauntletError(
      'BAD_INPUT',
      '--listen, --tls-cert, --tls-key and --api-keys belong together: whoever reaches the server can run work on this machine',
    );
  if (temporalTarget(process.env) !== undefined)
    throw new GauntletError('BAD_INPUT', '--listen is for the embedded server, but the environment names another one');
  return {
    address,
    tls: { cert: await readTextFile(tlsCert), key: await readTextFile(tlsKey) },
    apiKeys: parseApiKeys(await readTextFile(apiKeys)),
  };
}
