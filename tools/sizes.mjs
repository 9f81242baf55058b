// Prints the lines of code of each folder, and fails if one exceeds its budget in tools/sizes.json. Whoever raises a budget says
// in the commit what the lines are for.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../infra/root.mjs';

const CODE = /\.(ts|tsx|mts|mjs|cjs|js|py)$/;

/** @returns {Map<string, number>} lines by top-level folder */
function countLines(root) {
  const { stdout, status } = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
  if (status !== 0) return new Map(); // not a checkout
  const lines = new Map();
  for (const path of stdout.split('\0').filter((name) => CODE.test(name) && name.includes('/'))) {
    if (!existsSync(join(root, path))) continue; // removed, but not committed yet
    const folder = path.slice(0, path.indexOf('/'));
    const count = readFileSync(join(root, path), 'utf8').split('\n').length - 1;
    lines.set(folder, (lines.get(folder) ?? 0) + count);
  }
  return lines;
}

const budgets = JSON.parse(readFileSync(join(ROOT, 'tools', 'sizes.json'), 'utf8'));
const counted = countLines(ROOT);
for (const [folder, lines] of [...counted].sort(([, a], [, b]) => b - a)) {
  const budget = budgets[folder];
  if (budget === undefined && !folder.startsWith('.')) fail(`${folder}/ has no budget in tools/sizes.json`);
  console.log(`${folder.padEnd(12)} ${String(lines).padStart(6)} of ${budget ?? '-'}`);
  if (lines > budget) fail(`${folder}/ has ${lines} lines, ${lines - budget} more than its budget in tools/sizes.json`);
}

function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
