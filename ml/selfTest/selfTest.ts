// Runs some cases on a device and on the CPU, and compares the results. A device that computes something wrong is not
// used: training on it would go wrong without any error.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '../device/faults.js';
import type { Provider } from '../device/providers.js';
import { CPU, deviceOf } from '../device/runtime.js';
import type { Half } from '../ir/half.js';
import type { Replacements } from '../ir/replace.js';
import { type Case, selfTestCases } from './cases.js';

interface SelfTestOptions {
  half?: Half | undefined; // the type of 16 bits in which the device computes; absent: f32, as the CPU does
  replacements?: Replacements; // tests make the device wrong with them
  isRun?: (name: string) => boolean; // whether a case runs; default: all run
}

/** @returns what is wrong; undefined if nothing is */
export async function selfTest(
  provider: Provider,
  { half, replacements, isRun = () => true }: SelfTestOptions = {},
): Promise<string | undefined> {
  const device = deviceOf(provider);
  const tested = { ...device, replacements: { ...device.replacements, ...replacements } };
  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-self-test-'));
  try {
    for (const one of selfTestCases(folder)) {
      const bound = half ? one.half : one.tolerance;
      if (bound === undefined || !isRun(one.name)) continue;
      const expected = await one.run(CPU);
      const run = () => one.run(tested, half);
      const tolerance = bound * (half === 'bfloat16' ? 8 : 1); // bfloat16 has three bits less than float16
      const fault = await faultOf(run, { ...one, tolerance }, expected).catch(
        (error: Error) => `fails: ${reasonOf(error.message)}`,
      );
      if (fault !== undefined) return `${one.name} ${fault}`;
    }
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function faultOf(
  run: () => Promise<ArrayLike<number>>,
  { tolerance, varies, rowLength }: Pick<Case, 'tolerance' | 'varies' | 'rowLength'>,
  expected: ArrayLike<number>,
) {
  const actual = await run();
  const error = relativeError(actual, expected, rowLength);
  if (error === Number.POSITIVE_INFINITY) return 'gives numbers that are not finite';
  if (error > tolerance) return `differs from the CPU by ${error.toPrecision(2)} of its largest number`;
  if (!varies && relativeError(await run(), actual) > 0) return 'gives other numbers in a second run';
  return undefined;
}

/** The largest difference, relative to the largest expected number; infinite for a NaN. Only the first difference of a row counts. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>, rowLength = 1): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  let [worst, scale, next] = [0, 0, 0];
  for (let i = 0; i < expected.length; i++) {
    scale = Math.max(scale, Math.abs(expected[i]!));
    if (i < next || actual[i] === expected[i]) continue;
    worst = Math.max(worst, Math.abs(actual[i]! - expected[i]!));
    next = rowLength * Math.floor(i / rowLength + 1);
  }
  return Number.isNaN(worst) ? Number.POSITIVE_INFINITY : worst / (scale || 1);
}
