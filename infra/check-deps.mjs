// The directions of dependency, checked over all source folders. Seeing no module at all is a failure of its own.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceFolders } from './build-stamp.mjs';
import { ROOT } from './root.mjs';

/**
 * @param {string} [root] a folder with the sources and .dependency-cruiser.cjs
 * @returns {Promise<{ modules: number, problems: string[] }>}
 */
export async function checkDependencies(root = ROOT) {
  const folders = sourceFolders(root).filter((folder) => existsSync(join(root, folder)));
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const output = await capture(
    [program, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...folders],
    root,
  );
  let summary;
  try {
    summary = JSON.parse(output.text).summary;
  } catch {
    return { modules: 0, problems: [`dependency-cruiser failed: ${output.text.trim().split('\n').at(-1) ?? ''}`] };
  }
  const problems = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`);
  if (summary.totalCruised === 0)
    problems.push('dependency-cruiser saw no modules: does it read this version of TypeScript?');
  return { modules: summary.totalCruised, problems };
}

function capture(args, cwd) {
  return new Promise((settle) => {
    const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    let errors = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    child.on('close', () => settle({ text: text || errors }));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { modules, problems } = await checkDependencies();
  for (const problem of problems) console.error(problem);
  console.log(`${modules} modules, ${problems.length} violations`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
