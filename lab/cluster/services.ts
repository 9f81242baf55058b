// The services of a simulated cluster: Temporal on Postgres, and S3. All of them listen on one address only.
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { forClient } from '../../infra/proxy.js';
import { prepareNamespace, RETENTION_MS } from '../../infra/temporalNamespace.js';
import { launchS3 } from '../../test/support/s3Server.js';
import { eventually, run, serve } from './programs.js';
import { provideTemporalServer } from './temporal-server.mjs';

const POSTGRES = '/usr/lib/postgresql'; // where Debian installs Postgres
const UNPRIVILEGED = 65_534; // the user `nobody`, because Postgres refuses to run as root
const USER = 'temporal';
const DATABASES = { temporal: 'temporal', temporal_visibility: 'visibility' }; // database → schema

export interface Services {
  temporal: string; // host:port
  store: string; // an s3: URL
  client: Client;
}

/** @param storeFaults the share of requests to S3 that fail */
export async function startServices(
  folder: string,
  host: string,
  storeFaults: number,
  log: (line: string) => void,
): Promise<Services> {
  const store = await launchS3(host, storeFaults);
  await startPostgres(folder, host);
  const temporal = `${host}:7233`;
  const client = await startTemporal(folder, host, temporal, log);
  return { temporal, store: store.url(), client };
}

async function startPostgres(folder: string, host: string): Promise<void> {
  const version = existsSync(POSTGRES) ? readdirSync(POSTGRES).sort().at(-1) : undefined;
  if (version === undefined) throw new Error(`no Postgres in ${POSTGRES}: apt-get install postgresql`);
  const programs = join(POSTGRES, version, 'bin');
  const data = join(folder, 'postgres');
  mkdirSync(data);
  chownSync(data, UNPRIVILEGED, UNPRIVILEGED);
  chmodSync(folder, 0o711); // the unprivileged user must reach the folder inside
  await run(join(programs, 'initdb'), ['-D', data, '-U', USER, '--auth=trust'], UNPRIVILEGED);
  writeFileSync(join(data, 'pg_hba.conf'), `host all all ${host}/32 trust\n`);
  const settings = [`listen_addresses=${host}`, 'unix_socket_directories='].flatMap((setting) => ['-c', setting]);
  const server = serve(
    join(programs, 'postgres'),
    ['-D', data, ...settings],
    join(folder, 'postgres.log'),
    UNPRIVILEGED,
  );
  const ready = ['-h', host, '-U', USER, '-d', 'postgres'];
  await eventually(() => run(join(programs, 'pg_isready'), ready), server);
}

async function startTemporal(
  folder: string,
  host: string,
  address: string,
  log: (line: string) => void,
): Promise<Client> {
  const { server: program, sqlTool } = await provideTemporalServer({ log });
  for (const [database, schema] of Object.entries(DATABASES)) {
    const tool = (...args: string[]) =>
      run(sqlTool, ['--plugin', 'postgres12', '--ep', host, '-p', '5432', '--user', USER, '--db', database, ...args]);
    await tool('create');
    await tool('setup-schema', '-v', '0.0');
    await tool('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
  const config = join(folder, 'temporal');
  mkdirSync(config);
  writeFileSync(join(config, 'cluster.yaml'), JSON.stringify(temporalConfig(host), undefined, 2)); // JSON is valid YAML
  const args = ['--root', folder, '--config', 'temporal', '--env', 'cluster', 'start'];
  const server = serve(program, args, join(folder, 'temporal.log'));
  const connection = await eventually(() => Connection.connect(forClient({ address })), server);
  const namespace = 'default';
  await eventually(
    () =>
      connection.workflowService.registerNamespace({
        namespace,
        workflowExecutionRetentionPeriod: msToTs(RETENTION_MS),
      }),
    server,
  );
  await eventually(() => prepareNamespace(connection, namespace, { retention: false, log }), server);
  return new Client({ connection, namespace });
}

function temporalConfig(host: string): object {
  const database = (databaseName: string) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${host}:5432`,
      connectProtocol: 'tcp',
      user: USER,
      password: '',
      maxConns: 20,
      maxIdleConns: 20,
      maxConnLifetime: '1h',
    },
  });
  const service = (grpcPort: number) => ({ rpc: { grpcPort, membershipPort: grpcPort - 300, bindOnIP: host } });
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      numHistoryShards: 4,
      defaultStore: 'temporal',
      visibilityStore: 'temporal_visibility',
      datastores: Object.fromEntries(Object.keys(DATABASES).map((name) => [name, database(name)])),
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: host } },
    services: { frontend: service(7233), history: service(7234), matching: service(7235), worker: service(7239) },
    clusterMetadata: {
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: `${host}:7233` },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    publicClient: { hostPort: `${host}:7233` },
  };
}
