// Measures the line coverage of the product and of tools with c8, including files that no test loads.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../infra/root.mjs';

const MINIMUM = 85; // the required percentage of lines

/** Removes packages from V8's coverage. Every process writes megabytes about them, which would slow the report down by minutes. */
export function keepOurs(from, to) {
  if (!existsSync(from)) return;
  const base = pathToFileURL(`${ROOT}/`).href;
  const others = ['dist/lab/', 'dist/test/'].map((folder) => base + folder);
  const ours = (url) =>
    url.startsWith(base) && !url.includes('/node_modules/') && !others.some((folder) => url.startsWith(folder));
  for (const name of readdirSync(from)) {
    let coverage;
    try {
      coverage = JSON.parse(readFileSync(join(from, name), 'utf8'));
    } catch {
      continue; // the process was killed while it wrote the file
    }
    const result = coverage.result.filter(({ url }) => ours(url));
    const cache = Object.fromEntries(Object.entries(coverage['source-map-cache'] ?? {}).filter(([url]) => ours(url)));
    if (result.length === 0) continue;
    const kept = { result, timestamp: coverage.timestamp, 'source-map-cache': cache };
    writeFileSync(join(to, `${basename(from)}-${name}`), JSON.stringify(kept));
  }
  rmSync(from, { recursive: true, force: true });
}

/** The arguments with which Node runs c8: it reports the coverage in `folder`, and fails below the minimum. */
export function coverageReport(folder, reports) {
  return [
    join(ROOT, 'node_modules/c8/bin/c8.js'),
    ...['report', '--all', '--src', '.', '--temp-directory', folder, '--reports-dir', reports, '--merge-async'],
    ...['dist/**', 'infra/*.mjs', 'tools/*.mjs', 'bin/*.mjs'].flatMap((glob) => ['--include', glob]),
    // Excludes the bundle of the workflows, because tests also run their sources.
    ...['dist/lab/**', 'dist/test/**', 'dist/workflow-bundle-*', '**/*.d.ts'].flatMap((glob) => ['--exclude', glob]),
    ...['.js', '.mjs', '.ts', '.mts'].flatMap((extension) => ['--extension', extension]),
    ...['text-summary', 'json-summary', 'html'].flatMap((reporter) => ['--reporter', reporter]),
    ...['--check-coverage', '--lines', String(MINIMUM)],
  ];
}
