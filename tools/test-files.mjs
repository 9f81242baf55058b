// The test files that a run of run-tests.mjs selects.
import { readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * Whether the path of a test file contains `part`. The folder of the checkout does not count.
 * @param {string} tests the folder of all tests
 */
export const isIn = (tests, file, part) => `/${relative(dirname(tests), file)}`.includes(part);

/**
 * @param {string} tests the folder of all tests
 * @param {string[]} parts of paths; without one, all tests
 * @param {boolean} lab of all tests, also those of the laboratory
 */
export function testFiles(tests, parts, lab) {
  return readdirSync(tests, { recursive: true })
    .filter((name) => name.endsWith('.test.js') && (lab || parts.length > 0 || !name.startsWith('lab/')))
    .map((name) => join(tests, name))
    .filter((file) => parts.length === 0 || parts.some((part) => isIn(tests, file, part)));
}
