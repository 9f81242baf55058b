// Finds the Temporal CLI on this machine. Otherwise downloads it, or builds it from the Go module proxy.
// Uses only the standard library: set-up imports it before any package is installed.
import { accessSync, constants, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { GO_MINIMUM, goBuild, run } from './go-build.mjs';
import { withLock } from './lock.mjs';

export const TEMPORAL_CLI_VERSION = '1.5.1';
const GO_MODULE = 'github.com/temporalio/cli';
const DOWNLOAD_START_MS = 10_000; // without a byte by then, the machine is offline
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
    const path = join(folder || '.', 'temporal');
    if (isExecutable(path)) return { path: resolve(path), source: 'PATH' };
  }
  const cached = cachedPath(env);
  return isExecutable(cached) ? { path: cached, source: 'cache' } : undefined;
}

/**
 * Finds the CLI, or downloads or builds it into the user's cache.
 * @param {{ env?: Record<string, string | undefined>, log?: (line: string) => void }} [options]
 * @returns {Promise<TemporalCli>}
 * @throws {Error} one line that names the ways to install it
 */
export async function provideTemporalCli({ env = process.env, log = () => {} } = {}) {
  const found = locate(env);
  if (found) return found;
  const target = cachedPath(env);
  const lock = `${target}.lock`;
  const waiting = (pid) => log(`another set-up (process ${pid}) is installing the Temporal CLI: waiting for it`);
  return withLock(lock, () => install(target, env, log), waiting);
}

/** @returns {Promise<TemporalCli>} */
async function install(target, env, log) {
  if (isExecutable(target)) return { path: target, source: 'cache' };
  const folder = dirname(target);
  // This process holds the lock: these folders are left from interrupted attempts.
  for (const name of readdirSync(folder)) if (name.startsWith('.work-')) rmSync(join(folder, name), REMOVE);
  const reasons = [];
  for (const [source, attempt] of /** @type {const} */ ([
    ['download', download],
    ['go', buildWithGo],
  ])) {
    const scratch = mkdtempSync(join(folder, '.work-')); // beside the target: a rename in one file system is atomic
    try {
      const made = join(scratch, 'made');
      const reason = await attempt(scratch, made, env, log);
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

/** The SDK downloads the CLI itself when it starts a test server. */
async function download(scratch, made, env, log) {
  log(`downloading the Temporal CLI ${TEMPORAL_CLI_VERSION} (skipped if offline)`);
  const script = `
    const { TestWorkflowEnvironment } = await import(${JSON.stringify(import.meta.resolve('@temporalio/testing'))});
    const executable = { type: 'cached-download', version: 'v${TEMPORAL_CLI_VERSION}', downloadDir: process.argv[1] };
    const environment = await TestWorkflowEnvironment.createLocal({ server: { executable } });
    await environment.teardown();
    process.exit(0);`;
  const stalled = new AbortController();
  let size = 0;
  let changed = Date.now();
  const watch = setInterval(() => {
    const now = folderSize(scratch);
    if (now !== size) changed = Date.now();
    size = now;
    if (Date.now() - changed > (size === 0 ? DOWNLOAD_START_MS : DOWNLOAD_STALL_MS)) stalled.abort();
  }, 250);
  const signal = stalled.signal;
  // A proxy of the environment is for the download, not for the server that the script then starts on this machine.
  const direct = { ...env, no_grpc_proxy: '127.0.0.1,localhost' };
  const failure = await run(process.execPath, ['--input-type=module', '-e', script, scratch], { env: direct, signal });
  clearInterval(watch);
  if (failure !== undefined) return `download failed (${stalled.signal.aborted ? 'no answer' : failure})`;
  const file = readdirSync(scratch).find((name) => !name.endsWith('.downloading') && isExecutable(join(scratch, name)));
  renameSync(join(scratch, file), made);
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

/** As core/cacheFolder.ts, which is not built yet when this runs. */
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

function folderSize(folder) {
  let size = 0;
  for (const name of readdirSync(folder)) {
    try {
      size += statSync(join(folder, name)).size;
    } catch {
      // renamed meanwhile
    }
  }
  return size;
}
