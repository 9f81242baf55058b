// `npm run bench -- gpu --pack DIR`: packs everything that a machine with a card needs if it has no network, Node included.
// Each folder is smaller than 50 MB, because transfers to such machines are often limited. NVIDIA's libraries are left out.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PROVIDER, PROVIDER_FILES } from '../../../infra/cudaPackages.js';
import { ROOT } from '../../../infra/root.mjs';
import { hasCudaProvider, providerFolder } from '../../../ml/device/providers.js';
import { LabError } from '../../flags.js';
import { fetched } from '../../wheels.js';
import { say } from '../machine.js';
import { keepCapability } from './shrink.js';

/** A transfer carries an archive of the checkout without ignored files, and an archive of one part with its script. */
const TRANSFER_BYTES = 64 * 2 ** 20;
const [TAR_BLOCK, REST_BYTES] = [512, 2 ** 18]; // REST_BYTES is reserved for folders, the script, and the end of the archive
const ENTRY = 'dist/lab/bench/gpu/main.js';
/** Finds the modules that our code starts as a thread or a process. */
const STARTED = /new URL\((['"])(\.[^'"]+\.js)\1, import\.meta\.url\)/g;
/** Packages with machine code, which a bundler cannot follow. */
const NATIVE = ['onnxruntime-node', 'onnxruntime-common', 'koffi', '@koromix/koffi-linux-x64'];
const MOST_PARTS = 4;
const [CUDA_LIBRARY, ARCHIVE] = ['libonnxruntime_providers_cuda.so', 'app.tar.xz'];

export async function packGpu({ folder, capability, commit }: { folder: string; capability: number; commit: string }) {
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new LabError('--pack needs Linux on x64');
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new LabError(`--pack: ${folder} is not empty`);
  const stage = mkdtempSync(join(tmpdir(), 'gauntlet-pack-'));
  try {
    const app = join(stage, 'app');
    for (const file of [...(await filesOfProgram()), 'package.json', 'lab/bench/peers/gpu_peer.py'])
      copy(join(ROOT, file), join(app, file));
    cpSync(join(ROOT, 'data', 'tiny-model'), join(app, 'data', 'tiny-model'), { recursive: true });
    for (const name of NATIVE) copyNative(name, app);
    await copyProvider(join(app, 'node_modules/onnxruntime-node/bin/napi-v6/linux/x64'), capability);
    copyFileSync(process.execPath, join(app, 'node'));
    spawnSync('strip', [join(app, 'node')]); // makes the file smaller; if `strip` is missing, the file stays as it is
    say('compressing, which takes minutes');
    const checkout = checkoutBytes();
    const parts = compress(app, stage, TRANSFER_BYTES - checkout);
    const sizes = [checkout, inArchive(parts[0]!), TRANSFER_BYTES].map((bytes) => `${(bytes / 1e6).toFixed(2)} MB`);
    say(`the checkout takes ${sizes[0]}, a part ${sizes[1]}; a transfer carries ${sizes[2]}`);
    parts.forEach((part, i) => {
      const own = join(folder, `${i + 1}`);
      copy(part, join(own, basename(part)));
      const script = readFileSync(join(ROOT, 'lab', 'bench', 'gpu', 'run.sh'), 'utf8');
      const values: Record<string, string> = { COMMIT: commit, PARTS: `${parts.length}`, CAPABILITY: `${capability}` };
      writeFileSync(
        join(own, 'run.sh'),
        script.replace(/@([A-Z]+)@/g, (_, name: string) => values[name]!),
      );
    });
    const commands = parts.map((_, i) => `bash ${join(folder, `${i + 1}`, 'run.sh')}`);
    console.log(`On the machine with the card, one after the other:\n${commands.join('\n')}`);
  } finally {
    rmSync(stage, { recursive: true });
  }
}

/**
 * Finds the compiled files that the benchmark imports or starts, also in packages, and every package.json that Node needs
 * to resolve these imports.
 */
export async function filesOfProgram(): Promise<Set<string>> {
  const { build } = await import('esbuild');
  const files = new Set<string>();
  for (let entries = [ENTRY]; entries.length > 0; ) {
    const { metafile } = await build({
      absWorkingDir: ROOT,
      entryPoints: entries,
      external: [...NATIVE, 'esbuild'],
      ...{ bundle: true, write: false, metafile: true, outdir: 'unused', format: 'esm', platform: 'node' },
      conditions: ['node'], // the export conditions that Node itself uses
      logLevel: 'error',
    });
    const added = Object.keys(metafile.inputs).filter((file) => !file.startsWith('(') && !files.has(file));
    for (const file of added) files.add(file);
    entries = added.flatMap(startedBy).filter((file) => !files.has(file));
  }
  for (const file of [...files]) {
    if (!file.startsWith('node_modules/')) continue;
    for (let at = dirname(file); basename(at) !== 'node_modules'; at = dirname(at))
      if (existsSync(join(ROOT, at, 'package.json'))) files.add(join(at, 'package.json'));
  }
  return files;
}

/** The modules that a compiled file of ours starts as a thread or a process. */
function startedBy(file: string): string[] {
  if (!file.startsWith('dist/')) return [];
  const named = [...readFileSync(join(ROOT, file), 'utf8').matchAll(STARTED)];
  return named.map(([, , path]) => join(dirname(file), path!)).filter((path) => existsSync(join(ROOT, path))); // skips comments
}

/** The files of a package that Linux needs. */
function copyNative(name: string, app: string): void {
  const unused =
    /\.(map|md|cc|hh|S|asm|d\.[cm]?ts)$|\/(vendor|doc|docs|script|esm|musl_x64|darwin|win32|arm64)$|\/ort[.\w]*\.js$/;
  const source = join(ROOT, 'node_modules', name);
  cpSync(source, join(app, 'node_modules', name), { recursive: true, filter: (path) => !unused.test(path) });
}

/** The CUDA provider of this installation, or the provider that `npm run check:cuda` keeps, for one kind of card. */
async function copyProvider(target: string, capability: number): Promise<void> {
  const source = hasCudaProvider() ? providerFolder() : await fetched(PROVIDER, say);
  for (const name of PROVIDER_FILES) {
    if (name !== CUDA_LIBRARY) copy(join(source, name), join(target, name));
    else {
      const library = readFileSync(join(source, name));
      keepCapability(library, capability);
      writeFileSync(join(target, name), library);
    }
  }
}

/** @returns the equally large parts of the archive. @throws {LabError} if a part does not fit into a transfer */
function compress(app: string, stage: string, room: number): string[] {
  const archive = join(stage, ARCHIVE);
  shell('tar cf - -C "$1" . | xz -T0 -6 > "$2"', app, archive);
  const { size } = statSync(archive);
  const count = Math.ceil(size / (room - REST_BYTES));
  if (count < 1 || count > MOST_PARTS)
    throw new LabError(
      `the checkout leaves ${room} of the ${TRANSFER_BYTES} bytes of a transfer, too few for ${size} bytes in ${MOST_PARTS} parts`,
    );
  shell('split -n "$1" -d -a 1 --numeric-suffixes=1 "$2" "$2."', `${count}`, archive);
  return readdirSync(stage)
    .filter((name) => name.startsWith(`${ARCHIVE}.`))
    .sort()
    .map((name) => join(stage, name));
}

/** Makes one entry of a tar archive. */
const inArchive = (path: string): number => TAR_BLOCK * (1 + Math.ceil(statSync(path).size / TAR_BLOCK));

/** Lists all files of the checkout that git does not ignore. */
function checkoutBytes(): number {
  const { stdout } = spawnSync('git', ['ls-files', '-coz', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
  const files = stdout.split('\0').filter((file) => file !== '' && existsSync(join(ROOT, file)));
  return files.reduce((sum, file) => sum + inArchive(join(ROOT, file)), 0);
}

function shell(command: string, ...args: string[]): void {
  const { status } = spawnSync('bash', ['-o', 'pipefail', '-c', command, 'bash', ...args], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new LabError(`${command.split(' ')[0]} fails: see the lines above`);
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}
