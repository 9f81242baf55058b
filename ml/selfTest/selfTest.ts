// Runs a small random model through each kind of program on a device and on the CPU, and compares the results. A device
// that computes something wrong is not used: training on it would go wrong without any error.
import type { Provider } from '../device/providers.js';
import { reasonOf } from '../device/reason.js';
import { replacementsFor } from '../device/replacements.js';
import { useProvider } from '../device/runtime.js';
import type { Replacements } from '../ir/replace.js';
import { runAllCases } from './operators.js';
import { type Results, smallModelPrograms } from './smallModel.js';

const OP_TOLERANCE = 1e-4;

/** @param replacements tests make the device wrong with them. @returns what is wrong; undefined if nothing is */
export async function selfTest(provider: Provider, replacements?: Replacements): Promise<string | undefined> {
  const useDevice = (): void => useProvider(provider, { ...replacementsFor(provider), ...replacements });
  const useCpu = (): void => useProvider('cpu');
  const { programs, close } = smallModelPrograms();
  try {
    for (const { name, tolerance, run } of programs) {
      useCpu();
      const expected = await run('cpu');
      useDevice();
      const actual = await run(provider).catch((error: Error) => error);
      const fault =
        actual instanceof Error
          ? `${name} fails: ${reasonOf(actual.message)}`
          : difference(actual, expected, tolerance);
      if (fault) return `${fault}; ${await wrongOperators(useCpu, useDevice)}`;
    }
    return undefined;
  } finally {
    useCpu();
    close();
  }
}

/** @returns what differs by how much; undefined if nothing does */
function difference(actual: Results, expected: Results, tolerance: number): string | undefined {
  for (const [name, theirs] of Object.entries(expected)) {
    const error = relativeError(actual[name]!, theirs);
    if (error > tolerance) return `${name} differs from the CPU by ${error.toPrecision(2)} of its largest number`;
  }
  return undefined;
}

/** The largest difference, relative to the largest expected number; infinite if there is a NaN. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  let [worst, scale] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    worst = Math.max(worst, Math.abs(actual[i]! - expected[i]!));
    scale = Math.max(scale, Math.abs(expected[i]!));
  }
  return Number.isNaN(worst) ? Number.POSITIVE_INFINITY : worst / (scale || 1);
}

async function wrongOperators(useCpu: () => void, useDevice: () => void): Promise<string> {
  useCpu();
  const expected = await runAllCases();
  useDevice();
  const actual = await runAllCases();
  const agrees = (i: number): boolean => {
    const [ours, theirs] = [actual[i]!.result, expected[i]!.result];
    if (typeof ours === 'string' || typeof theirs === 'string') return ours === theirs;
    return Object.entries(theirs).every(([name, { data }]) => relativeError(ours[name]!.data, data) < OP_TOLERANCE);
  };
  const wrong = new Set(expected.flatMap(({ op }, i) => (agrees(i) ? [] : [op])));
  return wrong.size === 0 ? 'every single operator is correct' : `wrong operators: ${[...wrong].join(', ')}`;
}
