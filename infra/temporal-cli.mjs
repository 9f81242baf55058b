// Finds the Temporal CLI on this machine. Otherwise downloads it, or builds it from the Go module proxy. What is downloaded is
// compared with a digest that is written here; Go compares modules with the public checksum database.
// Uses only the standard library: set-up imports it before any package is installed.
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { GO_MINIMUM, goBuild, run } from './go-build.mjs';
import { withLock } from './lock.mjs';
import { ROOT } from './root.mjs';

export const TEMPORAL_CLI_VERSION = '1.5.1';
const GO_MODULE = 'github.com/temporalio/cli';
const RELEASE = {
  url: `https://${GO_MODULE}/releases/download/v${TEMPORAL_CLI_VERSION}/temporal_cli_${TEMPORAL_CLI_VERSION}`,
  sha256: {
    darwin_amd64: 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
    darwin_arm64: 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
    linux_amd64: 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
    linux_arm64: 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
  },
};
const DOWNLOAD_START_MS = 10_000; // if no byte has arrived by then, the machine counts as offline
const DOWNLOAD_STALL_MS = 20_000;
const REMOVE = { recursive: true, force: true };

/** @typedef {{ path: string, source: 'TEMPORAL_CLI' | 'PATH' | 'cache' | 'download' | 'go' }} TemporalCli */

/**
 * The path of an installed CLI. Neither downloads nor builds.
 * @param {Record<string, string | undefined>} [env]
 * @returns {string | undefined}
 * @throws {Error} if TEMPORAL_CLI names a file that cannot be executed
 */
export function findTemporalCli(env = process.env) {
  return locate(env)?.path;
}

/** @returns {TemporalCli | undefined} */
function locate(env) {
  if (env.TEMPORAL_CLI) {
    if (isExecutable(env.TEMPORAL_CLI)) return { path: resolve(env.TEMPORAL_CLI), source: 'TEMPORAL_CLI' };
    throw new Error(`TEMPORAL_CLI names ${env.TEMPORAL_CLI}, which is not an executable file`);
  }
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'temporal');
    if (isAbsolute(folder) && isExecutable(path)) return { path, source: 'PATH' };
  }
  const cached = cachedPath(env);
  return isExecutable(cached) ? { path: cached, source: 'cache' } : undefined;
}

/**
 * Finds the CLI, or downloads or builds it into the user's cache.
 * @param {{ env?: Record<string, string | undefined>, log?: (line: string) => void,
 *   release?: { url: string, sha256: Record<string, string> } }} [options]
 * @returns {Promise<TemporalCli>}
 * @throws {Error} one line that names the ways to install it
 */
export async function provideTemporalCli({ env = process.env, log = () => {}, release = RELEASE } = {}) {
  const found = locate(env);
  if (found) return found;
  const target = cachedPath(env);
  const lock = `${target}.lock`;
  const waiting = (pid) => log(`another set-up (process ${pid}) is installing the Temporal CLI: waiting for it`);
  return withLock(lock, () => install(target, env, log, release), waiting);
}

/** @returns {Promise<TemporalCli>} */
async function install(target, env, log, release) {
  if (isExecutable(target)) return { path: target, source: 'cache' };
  const folder = dirname(target);
  // This process holds the lock: these folders are left from interrupted attempts.
  for (const name of readdirSync(folder)) if (name.startsWith('.work-')) rmSync(join(folder, name), REMOVE);
  const reasons = [];
  for (const [source, attempt] of /** @type {const} */ ([
    ['download', download],
    ['go', buildWithGo],
  ])) {
    const scratch = mkdtempSync(join(folder, '.work-')); // in the folder of the target, so that the rename is atomic
    try {
      const made = join(scratch, 'made');
      const reason = await attempt(scratch, made, env, log, release);
      if (reason === undefined) {
        renameSync(made, target);
        return { path: target, source };
      }
      log(`  ${reason}`);
      reasons.push(reason);
    } finally {
      rmSync(scratch, REMOVE);
    }
  }
  throw new Error(
    `no Temporal CLI: ${reasons.join('; ')}. Install it (https://docs.temporal.io/cli) so that \`temporal\` is on PATH, ` +
      `or name it in TEMPORAL_CLI, or install Go ${GO_MINIMUM.join('.')}+, or give a running server in TEMPORAL_ADDRESS`,
  );
}

/** Downloads in another process, which uses the proxy in `env`. The digest is compared before anything is unpacked or run. */
async function download(scratch, made, env, log, { url, sha256 }) {
  const machine = `${process.platform}_${{ x64: 'amd64' }[process.arch] ?? process.arch}`;
  const digest = sha256[machine];
  if (digest === undefined) return `no archive of the Temporal CLI is known for ${machine}`;
  log(`downloading the Temporal CLI ${TEMPORAL_CLI_VERSION} (skipped if offline)`);
  const script = `
    const { proxiedFetch } = await import(${JSON.stringify(pathToFileURL(join(ROOT, 'dist/infra/proxy.js')).href)});
    const { createWriteStream } = await import('node:fs');
    const end = (reason) => process.exit(console.error('error: ' + reason) ?? 1);
    process.on('uncaughtException', (error) => end((error.cause ?? error).message));
    const late = () => end('no answer');
    let timer = setTimeout(late, ${DOWNLOAD_START_MS});
    const response = await proxiedFetch(${JSON.stringify(`${url}_${machine}.tar.gz`)});
    if (!response.ok) throw new Error('the server answers with error ' + response.status);
    const file = createWriteStream('archive');
    for await (const chunk of response.body) {
      clearTimeout(timer);
      timer = setTimeout(late, ${DOWNLOAD_STALL_MS});
      file.write(chunk);
    }
    file.end(() => process.exit(0));`;
  const failure = await run(process.execPath, ['--input-type=module', '-e', script], { env, cwd: scratch });
  if (failure !== undefined) return `download failed (${failure})`;
  const actual = createHash('sha256')
    .update(readFileSync(join(scratch, 'archive')))
    .digest('hex');
  if (actual !== digest) return `the download is refused: its SHA-256 is ${actual}, not ${digest}`;
  const unpacked = await run('tar', ['-xzf', 'archive', 'temporal'], { env, cwd: scratch });
  if (unpacked !== undefined) return `the download cannot be unpacked (${unpacked})`;
  renameSync(join(scratch, 'temporal'), made);
  return undefined;
}

function buildWithGo(scratch, made, env, log) {
  return goBuild({
    name: `the Temporal CLI ${TEMPORAL_CLI_VERSION}`,
    version: `v${TEMPORAL_CLI_VERSION}`,
    programs: { [`${GO_MODULE}/cmd/temporal`]: made },
    linkerFlags: `-X ${GO_MODULE}/temporalcli.Version=${TEMPORAL_CLI_VERSION}`,
    scratch,
    env,
    log,
  });
}

/** Does the same as core/base/cacheFolder.ts, which is not built yet when this runs. */
export function cacheDir(env = process.env) {
  return env.GAUNTLET_CACHE || join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'gauntlet');
}

function cachedPath(env) {
  return join(cacheDir(env), 'temporal-cli', `temporal-${TEMPORAL_CLI_VERSION}`);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
