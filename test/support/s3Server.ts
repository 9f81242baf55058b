// An S3 server for tests, on loopback: moto, installed once into the cache folder. GAUNTLET_TEST_S3 names another store instead, for
// example s3://bucket?endpoint=http://127.0.0.1:9000, where the tests leave objects under random prefixes. Without either, a suite is skipped,
// or fails if GAUNTLET_REQUIRE_S3=1.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { ROOT } from '../../infra/root.mjs';
import { providePython } from '../../lab/python.js';
import { cacheFolder } from '../../ml/hf/files.js';

const REQUIREMENTS = join('test', 'support', 'requirements-s3.txt');

export interface S3Server {
  /** The URL of a new store that no other test uses. `options` are URL parameters such as 'cache=0'. */
  url(options?: string): string;
  endpoint?: string; // set for a server that the tests started
  close(): Promise<void>;
}

export async function requireS3(suite: Mocha.Context): Promise<S3Server> {
  try {
    return await startS3();
  } catch (error) {
    if (process.env.GAUNTLET_REQUIRE_S3 === '1') throw error;
    const why = (error as Error).message;
    console.log(`      skipped: no S3 server (${why}; GAUNTLET_REQUIRE_S3=1 makes that a failure)`);
    return suite.skip();
  }
}

/** The server that GAUNTLET_TEST_S3 names, or a new one. */
export async function startS3(): Promise<S3Server> {
  const given = process.env.GAUNTLET_TEST_S3;
  if (given) return { url: (options) => fresh(given, options), close: async () => {} };
  return launchS3('127.0.0.1');
}

/** Installs moto once. @returns the Python that has it */
export const provideMoto = (): Promise<string> =>
  providePython({
    requirements: [REQUIREMENTS],
    folder: join(cacheFolder(), 's3-server'),
    say: (line) => console.error(`      ${line}`),
  });

/** Starts moto on a free port of an address. A share `faults` of the requests fails, and as many are late. */
export async function launchS3(host: string, faults = 0): Promise<S3Server> {
  const python = await provideMoto();
  const script = join(ROOT, 'test', 'support', 's3Server.py');
  const server = spawn(python, [script, host, String(faults)], { stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  server.stderr.on('data', (part) => {
    errors = `${errors}${part}`.slice(-2000);
  });
  const [line] = (await Promise.race([
    once(server.stdout, 'data'),
    once(server, 'exit').then(() => {
      throw new Error(`it ended at its start: ${errors.trim().split('\n').at(-1)}`);
    }),
  ])) as [Buffer];
  const endpoint = `http://${host}:${Number(line.toString())}`;
  process.env.AWS_ACCESS_KEY_ID ??= 'test';
  process.env.AWS_SECRET_ACCESS_KEY ??= 'test';
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: 'tests' }));
  client.destroy();
  return {
    url: (options) => fresh(`s3://tests?endpoint=${endpoint}`, options),
    endpoint,
    close: async () => {
      const ended = once(server, 'exit');
      server.stdin.end();
      await ended;
    },
  };
}

function fresh(base: string, options = ''): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${randomBytes(6).toString('hex')}`;
  for (const [name, value] of new URLSearchParams(options)) url.searchParams.set(name, value);
  return url.href;
}
