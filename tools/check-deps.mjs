// `npm run check:deps`: checks the dependency rules of .dependency-cruiser.cjs. Fails if it finds no module.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ROOT } from '../infra/root.mjs';
import { sourceFolders } from './build-stamp.mjs';

/**
 * @param {string} [root] a folder with the sources and .dependency-cruiser.cjs
 * @returns {Promise<{ modules: number, problems: string[] }>}
 */
export async function checkDependencies(root = ROOT) {
  const folders = sourceFolders(root).filter((folder) => existsSync(join(root, folder)));
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const args = [program, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...folders];
  // The exit code is the number of violations.
  const output = await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: 2 ** 28 }).catch((e) => e);
  let summary;
  try {
    summary = JSON.parse(output.stdout).summary;
  } catch {
    return { modules: 0, problems: [`dependency-cruiser failed: ${(output.stderr ?? '').trim().split('\n').at(-1)}`] };
  }
  const problems = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`);
  if (summary.totalCruised === 0)
    problems.push('dependency-cruiser saw no modules: does it read this version of TypeScript?');
  return { modules: summary.totalCruised, problems };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { modules, problems } = await checkDependencies();
  for (const problem of problems) console.error(problem);
  console.log(`${modules} modules, ${problems.length} violations`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
