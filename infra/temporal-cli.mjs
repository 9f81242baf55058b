// Finds the Temporal CLI on this machine, or brings it there: by download, or by a build from the Go module proxy.
// Standard library only, since set-up runs before any package is installed.
import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { withLock } from './lock.mjs';

export const TEMPORAL_CLI_VERSION = '1.5.1';
const GO_MODULE = 'github.com/temporalio/cli';
const GO_MINIMUM = [1, 25]; // what this version of the CLI asks for in its go.mod
const DOWNLOAD_START_MS = 10_000; // no byte by then: there is no way out of this machine
const DOWNLOAD_STALL_MS = 20_000;
const REMOVE = { recursive: true, force: true };

/** @typedef {{ path: string, source: 'TEMPORAL_CLI' | 'PATH' | 'cache' | 'download' | 'go' }} TemporalCli */

/**
 * What is here already; neither downloads nor builds.
 * @param {Record<string, string | undefined>} [env]
 * @returns {string | undefined} its path
 * @throws {Error} where TEMPORAL_CLI names something that cannot be run
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
 * @throws {Error} one line that names the ways out
 */
export async function provideTemporalCli({ env = process.env, log = () => {} } = {}) {
  const found = locate(env);
  if (found) return found;
  const target = cachedPath(env);
  const lock = `${target}.lock`;
  const waiting = (pid) => log(`another set-up (process ${pid}) is bringing the Temporal CLI: waiting for it`);
  return withLock(lock, () => bring(target, env, log), waiting);
}

/** @returns {Promise<TemporalCli>} */
async function bring(target, env, log) {
  if (isExecutable(target)) return { path: target, source: 'cache' };
  const folder = dirname(target);
  // Under the lock: what an interrupted attempt left is nobody's.
  for (const name of readdirSync(folder)) if (name.startsWith('.work-')) rmSync(join(folder, name), REMOVE);
  const reasons = [];
  for (const [source, attempt] of /** @type {const} */ ([
    ['download', download],
    ['go', buildWithGo],
  ])) {
    const scratch = mkdtempSync(join(folder, '.work-')); // beside the target: a rename within one file system is atomic
    try {
      const made = join(scratch, 'made');
      const reason = await attempt(scratch, made, env, log);
      if (reason === undefined) {
        renameSync(made, target);
        return { path: target, source };
      }
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

/** The SDK downloads the CLI itself when it starts a test server; here, into a folder of ours. */
async function download(scratch, made, env, log) {
  log(`downloading the Temporal CLI ${TEMPORAL_CLI_VERSION} (falls through at once where there is no way out)`);
  const script = `
    const { TestWorkflowEnvironment } = await import(${JSON.stringify(import.meta.resolve('@temporalio/testing'))});
    const executable = { type: 'cached-download', version: 'v${TEMPORAL_CLI_VERSION}', downloadDir: process.argv[1] };
    const environment = await TestWorkflowEnvironment.createLocal({ server: { executable } });
    await environment.teardown();
    process.exit(0);`;
  const child = start(process.execPath, ['--input-type=module', '-e', script, scratch], { env });
  // The download grows a file in the folder: silence means that nothing comes.
  let size = 0;
  let changed = Date.now();
  const watch = setInterval(() => {
    const now = folderSize(scratch);
    if (now !== size) changed = Date.now();
    size = now;
    if (Date.now() - changed > (size === 0 ? DOWNLOAD_START_MS : DOWNLOAD_STALL_MS)) child.process.kill('SIGKILL');
  }, 250);
  const { code, tail } = await child.done;
  clearInterval(watch);
  const file = readdirSync(scratch).find((name) => !name.endsWith('.downloading') && isExecutable(join(scratch, name)));
  if (code !== 0 || file === undefined) return `download failed (${cause(tail) || 'no answer'})`;
  renameSync(join(scratch, file), made);
  return undefined;
}

async function buildWithGo(scratch, made, env, log) {
  const version = await start('go', ['version'], { env }).done;
  const match = /go(\d+)\.(\d+)/.exec(version.tail);
  if (version.code !== 0 || !match) return 'no Go to build it with';
  const [major, minor] = [Number(match[1]), Number(match[2])];
  if (major < GO_MINIMUM[0] || (major === GO_MINIMUM[0] && minor < GO_MINIMUM[1])) {
    return `Go ${major}.${minor} is too old to build it (${GO_MINIMUM.join('.')}+)`;
  }
  log(`building the Temporal CLI ${TEMPORAL_CLI_VERSION} with Go ${major}.${minor}: two to six minutes, once`);
  const started = Date.now();
  const beat = setInterval(() => log(`  still building (${Math.round((Date.now() - started) / 1000)} s)`), 30_000);
  const name = `-X ${GO_MODULE}/temporalcli.Version=${TEMPORAL_CLI_VERSION}`;
  const steps = [
    ['mod', 'init', 'gauntlet.local/temporal-cli'],
    ['get', '-tool', `${GO_MODULE}/cmd/temporal@v${TEMPORAL_CLI_VERSION}`],
    ['build', '-trimpath', '-ldflags', `-s -w ${name}`, '-o', made, `${GO_MODULE}/cmd/temporal`],
  ];
  try {
    for (const step of steps) {
      const { code, tail } = await start('go', step, { env: { CGO_ENABLED: '0', ...env }, cwd: scratch }).done;
      if (code !== 0) return `\`go ${step.slice(0, 2).join(' ')}\` failed (${cause(tail)})`;
    }
  } finally {
    clearInterval(beat);
  }
  return undefined;
}

/** Runs a program; its output's last 4 kB are kept for the message of a failure. */
function start(command, args, options) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let tail = '';
  const keep = (chunk) => {
    tail = (tail + chunk).slice(-4096);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const done = new Promise((settle) => {
    child.on('error', (error) => settle({ code: -1, tail: error.message }));
    child.on('close', (code) => settle({ code: code ?? -1, tail }));
  });
  return { process: child, done };
}

/** The part of a failure that a person can use, on one line. */
function cause(tail) {
  const lines = tail.split('\n').filter((line) => /error|fail|cannot|could not|lookup|no such/i.test(line));
  const line = (lines.at(-1) ?? tail.trim().split('\n').at(-1) ?? '').trim();
  return (/dns error: (.*)$/.exec(line)?.[1] ?? line).slice(-160);
}

/** The user's cache of this project; nothing in it is needed for ever. */
export function cacheDir(env = process.env) {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'gauntlet');
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
