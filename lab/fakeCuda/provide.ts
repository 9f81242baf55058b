// Sets up a CUDA runtime without a GPU: the CUDA provider of ONNX Runtime from PyPI, and our libraries in place of NVIDIA's,
// compiled against NVIDIA's headers. Nothing is written into node_modules.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PROVIDER, PROVIDER_FILES, type Wheel } from '../../infra/cudaPackages.js';
import { ROOT } from '../../infra/root.mjs';
import { scriptArguments } from '../../infra/scripts.js';
import { runtimeVersion } from '../../ml/device/providers.js';
import { fetched, type Say } from '../wheels.js';

const HEADERS: Wheel[] = [
  {
    name: 'nvidia-cuda-runtime',
    version: '13.0.96',
    sha256: '7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548',
    folder: 'nvidia/cu13/include',
  },
  {
    name: 'nvidia-cuda-crt',
    version: '13.0.88',
    sha256: '2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4',
    folder: 'nvidia/cu13/include',
  },
];
const CUDNN = 'libcudnn.so.9';
/** Our libraries, each with its source and flags. libcurand exists only because the provider is linked to it. */
const LIBRARIES = {
  'libcudart.so.13': ['cudart.c'],
  'libcublas.so.13': ['cublas.c', '-l:libcudart.so.13'],
  'libcublasLt.so.13': ['cublas.c', '-DLT', '-l:libcudart.so.13'],
  'libcuda.so.1': ['driver.c'],
  'libcurand.so.10': ['driver.c'],
  [CUDNN]: ['cudnn.c'],
};

/**
 * Runs a script of ours in a process with sessions on CUDA. Its output goes to the output of this process.
 * @returns its exit status
 */
export async function runOnFakeCuda(script: URL, args: readonly string[], say: Say): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-fake-cuda-'));
  try {
    await putFakeCuda(folder, say);
    const paths = [folder, process.env.LD_LIBRARY_PATH].filter(Boolean);
    const env = { ...process.env, LD_LIBRARY_PATH: paths.join(':') };
    const { status } = spawnSync(process.execPath, [...scriptArguments(script), ...args], { env, stdio: 'inherit' });
    return status ?? 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Puts the libraries into an empty folder for LD_LIBRARY_PATH.
 * @param cudnn false imitates a machine without cuDNN
 * @throws Error with one line that names what is missing
 */
export async function putFakeCuda(folder: string, say: Say, cudnn = true): Promise<void> {
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('the CUDA provider needs Linux on x64');
  if (runtimeVersion() !== PROVIDER.version)
    throw new Error(
      `onnxruntime-node is ${runtimeVersion()}: pin onnxruntime-gpu of that version in ${import.meta.url}`,
    );
  const provider = await fetched(PROVIDER, say);
  for (const file of PROVIDER_FILES) symlinkSync(join(provider, file), join(folder, file));
  // ONNX Runtime looks for providers beside its own library; LD_LIBRARY_PATH is searched before the folder of the binding
  const runtime = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'));
  const name = 'libonnxruntime.so.1';
  symlinkSync(join(runtime, 'bin/napi-v6', process.platform, process.arch, name), join(folder, name));
  const include: string[] = [];
  for (const wheel of HEADERS) include.push(`-I${await fetched(wheel, say)}`);
  say('compiling a CUDA runtime without a GPU');
  for (const [library, [source, ...flags]] of Object.entries(LIBRARIES)) {
    const names = [`-Wl,-soname,${library}`, '-Wl,--default-symver', '-o', join(folder, library)];
    const path = join(ROOT, 'lab', 'fakeCuda', source!);
    const compiled = spawnSync(
      'gcc',
      ['-O1', '-Wall', '-shared', '-fPIC', ...include, ...names, path, `-L${folder}`, ...flags],
      { stdio: ['ignore', 2, 2] },
    );
    if (compiled.error) throw new Error('gcc is missing: install it to compile the CUDA runtime without a GPU');
    if (compiled.status !== 0) throw new Error(`gcc cannot compile ${source}: see the lines above`);
  }
  if (!cudnn) writeFileSync(join(folder, CUDNN), ''); // hides the machine's own cuDNN
  symlinkSync(CUDNN, join(folder, 'libcudnn.so'));
}
