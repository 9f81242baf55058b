// Sets up a checkout: packages, build, Temporal CLI. Does only what is missing, and may run twice at the same time. Uses only
// the standard library, because it runs before any package is installed.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withLock } from '../infra/lock.mjs';
import { isSupportedNode, SUPPORTED_NODE } from '../infra/node-version.mjs';
import { ROOT } from '../infra/root.mjs';
import { findTemporalCli, provideTemporalCli } from '../infra/temporal-cli.mjs';
import { buildIsFresh, writeVersion } from './build-stamp.mjs';
import { packagesAreFresh } from './packages.mjs';

class SetupError extends Error {}

const log = (line) => process.stderr.write(`setup: ${line}\n`);

async function main() {
  if (!isSupportedNode())
    throw new SetupError(`Node ${SUPPORTED_NODE} is needed, this is ${process.version}: install one of these`);
  await withLock(
    join(ROOT, '.cache', 'setup.lock'),
    async () => {
      await installPackages();
      await build();
      writeVersion(ROOT);
      await prepareSandbox();
    },
    (pid) => log(`another set-up (process ${pid}) is working on this checkout: waiting for it`),
  );
  await temporalCli();
}

async function installPackages() {
  if (packagesAreFresh(ROOT)) return;
  log('installing packages (npm ci): a minute or two on a first run');
  // No package needs its install script: native parts are prebuilt, and the script of onnxruntime-node only downloads CUDA.
  const args = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const code = await inherit('npm', args, { ONNXRUNTIME_NODE_INSTALL: 'skip' });
  if (code !== 0)
    throw new SetupError(`npm ci failed (exit ${code}): see its lines above; npm must reach a package registry`);
}

async function build() {
  if (buildIsFresh(ROOT)) return;
  log('building (tsc)');
  const code = await inherit('npm', ['run', '--silent', 'build']);
  if (code !== 0) throw new SetupError('the build failed: see the lines above');
}

/** Makes the memory snapshot with which the WebAssembly sandbox starts faster. The first use reports a failure again. */
async function prepareSandbox() {
  const built = join(ROOT, 'dist/sandbox/wasm/snapshot.js');
  if (!existsSync(built)) return;
  try {
    const { ensureSnapshot } = await import(pathToFileURL(built).href);
    await ensureSnapshot(log);
  } catch (error) {
    log(`no snapshot for the WebAssembly sandbox: ${error.message}`);
  }
}

/** These variables name a running server, so that no CLI is needed to start one. */
async function temporalCli() {
  const { TEMPORAL_ADDRESS, TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE } = process.env;
  if (findTemporalCli() !== undefined || TEMPORAL_ADDRESS || TEMPORAL_PROFILE || TEMPORAL_CONFIG_FILE) return;
  try {
    const { path, source } = await provideTemporalCli({ log });
    log(`Temporal CLI: ${path} (${source})`);
  } catch (error) {
    throw new SetupError(error.message);
  }
}

/** Runs a program. Its output goes to standard error. */
function inherit(command, args, extra = {}) {
  const env = { ...process.env, ...extra };
  return new Promise((settle) => {
    const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 2, 2] });
    child.on('error', (error) => {
      log(error.message);
      settle(-1);
    });
    child.on('close', (code) => settle(code ?? -1));
  });
}

try {
  const started = Date.now();
  await main();
  log(`ready (${((Date.now() - started) / 1000).toFixed(1)} s)`);
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  log(error.message);
  process.exitCode = 1;
}
