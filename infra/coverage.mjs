// Line coverage by c8 of all source files, including files that no test loads.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sourceFolders } from './build-stamp.mjs';
import { ROOT } from './root.mjs';

export const COVERAGE_MINIMUM = 85; // percent of lines

/** Drops packages from V8's coverage: every process writes megabytes about them, and the report would take minutes. */
export function keepOurs(from, to) {
  if (!existsSync(from)) return;
  const base = pathToFileURL(`${ROOT}/`).href;
  const ours = (url) => url.startsWith(base) && !url.includes('/node_modules/') && !url.startsWith(`${base}dist/test/`);
  for (const name of readdirSync(from)) {
    let coverage;
    try {
      coverage = JSON.parse(readFileSync(join(from, name), 'utf8'));
    } catch {
      continue; // its process was killed while writing
    }
    const result = coverage.result.filter(({ url }) => ours(url));
    const cache = Object.fromEntries(Object.entries(coverage['source-map-cache'] ?? {}).filter(([url]) => ours(url)));
    if (result.length === 0) continue;
    const kept = { result, timestamp: coverage.timestamp, 'source-map-cache': cache };
    writeFileSync(join(to, `${basename(from)}-${name}`), JSON.stringify(kept));
  }
  rmSync(from, { recursive: true, force: true });
}

/**
 * @param {string} folder V8 coverage of all processes
 * @param {string} reports where c8 writes
 * @param {boolean} html also write an HTML report
 * @returns {Promise<{ percent: number, covered: number, lines: number, table: string }>} table: one line per folder
 */
export async function lineCoverage(folder, reports, html) {
  const include = ['dist/**', 'infra/*.mjs', 'bin/*.mjs'];
  const exclude = ['dist/test/**', '**/generated/**', ...unusedBundles(folder)];
  const args = [
    ...['report', '--all', '--src', '.', '--temp-directory', folder, '--reports-dir', reports, '--merge-async'],
    ...include.flatMap((glob) => ['--include', glob]),
    ...exclude.flatMap((glob) => ['--exclude', glob]),
    ...['.js', '.mjs', '.ts', '.mts'].flatMap((extension) => ['--extension', extension]),
    ...['json-summary', ...(html ? ['html'] : [])].flatMap((reporter) => ['--reporter', reporter]),
  ];
  const errors = await new Promise((settle) => {
    const options = { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] };
    const child = spawn(process.execPath, [join(ROOT, 'node_modules/c8/bin/c8.js'), ...args], options);
    let text = '';
    child.stderr.on('data', (chunk) => {
      text += chunk;
    });
    child.on('close', (code) => settle(code === 0 ? undefined : text.trim()));
  });
  if (errors !== undefined) throw new Error(`c8 failed: ${errors}`);
  return summarise(JSON.parse(readFileSync(join(reports, 'coverage-summary.json'), 'utf8')));
}

/**
 * Workflows run as a bundle, whose source map gives their coverage. c8 would count the bundle of an earlier build as
 * code that ran.
 */
function unusedBundles(folder) {
  const bundles = readdirSync(join(ROOT, 'dist')).filter((name) => name.startsWith('workflow-bundle-'));
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return bundles.filter((name) => !texts.some((text) => text.includes(`/dist/${name}"`))).map((name) => `dist/${name}`);
}

function summarise(summary) {
  const ours = [...sourceFolders(ROOT).filter((name) => name !== 'test'), 'bin'];
  const folders = new Map();
  const total = { lines: 0, covered: 0 };
  for (const [file, { lines }] of Object.entries(summary)) {
    if (!ours.some((name) => file.startsWith(join(ROOT, name, '/')))) continue; // a bundle also holds packages
    const folder = relative(ROOT, file).split('/').slice(0, -1).join('/') || '.';
    const sum = folders.get(folder) ?? { lines: 0, covered: 0 };
    for (const into of [sum, total]) {
      into.lines += lines.total;
      into.covered += lines.covered;
    }
    folders.set(folder, sum);
  }
  const row = (name, { lines, covered }) =>
    `  ${name.padEnd(28)} ${((100 * covered) / lines).toFixed(1).padStart(6)} % of ${lines}`;
  const table = [...folders].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, sum]) => row(name, sum));
  return { percent: total.lines === 0 ? 0 : (100 * total.covered) / total.lines, ...total, table: table.join('\n') };
}
