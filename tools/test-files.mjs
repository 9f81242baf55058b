// Selects the test files for run-tests.mjs.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * fast: what `npm test` runs. system: slow tests of the whole, such as hostile programs, crashes, the package and the chart.
 * lab: tests of the laboratory. bare: fast tests that may use Docker or a browser, on a machine that has neither.
 */
export const LANES = ['fast', 'system', 'lab', 'bare'];

/** @param {string} name the path of a test file in the folder of all tests */
function laneOf(name) {
  if (name.startsWith('lab/')) return 'lab';
  return name.endsWith('.system.test.js') ? 'system' : 'fast';
}

/**
 * Whether the path of a test file contains `part`. The folder of the checkout does not count.
 * @param {string} tests the folder of all tests
 */
export const isIn = (tests, file, part) => `/${relative(dirname(tests), file)}`.includes(part);

/**
 * @param {string} tests the folder of all tests
 * @param {string[]} parts parts of paths, in any lane; an empty list selects all tests of the lanes
 * @param {string[]} lanes
 */
export function testFiles(tests, parts, lanes) {
  return readdirSync(tests, { recursive: true })
    .filter((name) => name.endsWith('.test.js') && (parts.length > 0 || lanes.includes(laneOf(name))))
    .map((name) => join(tests, name))
    .filter((file) => parts.length === 0 || parts.some((part) => isIn(tests, file, part)));
}

/** The environment of the lane `bare`. */
export const BARE = { DOCKER_HOST: 'unix:///nowhere', CHROMIUM: '', GAUNTLET_REQUIRE_DOCKER: undefined };
const HIDDEN = /\/(?:sandbox\/docker\/daemon|lab\/chromium)\.js$/;
const IMPORT = /(?:from|import)\s*\(?\s*['"](\.[^'"]+\.m?js)['"]/g;

/**
 * Whether the imports of a file lead to Docker or to a browser.
 * @param {string} file
 * @param {Set<string>} seen
 */
export function mayUseHidden(file, seen = new Set()) {
  if (seen.has(file) || !existsSync(file)) return false;
  if (HIDDEN.test(file)) return true;
  seen.add(file);
  const imports = [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, path]) => join(dirname(file), path));
  return imports.some((path) => mayUseHidden(path, seen));
}
