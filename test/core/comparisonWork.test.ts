// One comparison has a bound, whatever a program prints: it runs on the event loop of a worker, and a worker that does not
// answer is counted as lost. The limits of time are generous; what they catch takes minutes.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { equalValues } from '../../core/comparison/compare.js';
import { strictKey } from '../../core/comparison/strictKey.js';
import type { Comparison } from '../../core/schema/comparison.js';
import type { Value } from '../../core/schema/value.js';

const MIB = 1 << 20;
const SECONDS = 20;

/** @returns seconds of CPU time, on which other processes have little effect */
function secondsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

const within = (limit: number, work: () => void, about: string): void => {
  const seconds = secondsOf(work);
  assert.ok(seconds < limit, `${about}: ${seconds.toFixed(1)} s`);
};

const tokens: Comparison = { text: 'tokens', absolute: 1e-6 };
const floats = (of: (i: number) => string, count: number): Value[] =>
  Array.from({ length: count }, (_, i) => ({ f: of(i) }));

describe('the time of one comparison', () => {
  it('is linear for long texts that are almost numerals', () => {
    for (const [got, wanted] of [
      [`${'1'.repeat(MIB)}x`, '1.5'],
      [`+${'0'.repeat(MIB)}.x`, '1.5'],
      [`1e${'1'.repeat(MIB)}x`, '1.5'],
      [`${'1'.repeat(MIB)}.${'1'.repeat(MIB)}`, `${'1'.repeat(MIB)}.5x`],
      [`${'1'.repeat(500)}x `.repeat(2000), '1.5 '.repeat(2000)],
    ] as const)
      within(SECONDS, () => assert.ok(!equalValues(got, wanted, tokens)), JSON.stringify(got.slice(-20)));
  });

  it('does not change which numerals are read', () => {
    const before = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/; // is slow for long texts
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...'+-.0189eEx'), { maxLength: 9 }), (characters) => {
        const token = characters.join('');
        const isEqual = token === '' || token === '1.5' ? undefined : before.test(token);
        // the tolerance includes every finite number, so only the form decides
        if (isEqual !== undefined && (!isEqual || Number.isFinite(Number(token))))
          assert.equal(equalValues(token, '1.5', { text: 'tokens', absolute: Number.MAX_VALUE }), isEqual, token);
      }),
      { numRuns: 20_000 },
    );
  });

  it('is limited for any text of 1 MiB in every mode', () => {
    const piece = fc
      .array(fc.constantFrom('1', '0', '.', 'e', 'E', '+', '-', 'x', ' ', '\n', '\t', '\u00a0', 'é', '😀', '1.5 '), {
        minLength: 1,
        maxLength: 4,
      })
      .map((parts) => parts.join(''));
    const text = fc
      .tuple(piece, piece, piece)
      .map(([head, body, tail]) => head + body.repeat(MIB / body.length) + tail);
    const comparison = fc.record({
      mode: fc.constantFrom('lenient' as const, 'strict' as const),
      order: fc.constantFrom('exact' as const, 'any' as const, 'any-depth' as const, 'set' as const),
      text: fc.constantFrom('exact' as const, 'tokens' as const),
    });
    fc.assert(
      fc.property(text, text, comparison, (got, wanted, how) => {
        const about = JSON.stringify([got.slice(0, 9), got.slice(-9), wanted.slice(0, 9), wanted.slice(-9), how]);
        within(SECONDS, () => equalValues(got, wanted, how), about);
        within(SECONDS, () => equalValues({ f: got }, { f: wanted }, how), about);
        within(SECONDS, () => equalValues([{ i: got }, got], [{ i: wanted }, got], how), about);
        within(SECONDS, () => assert.ok(equalValues(got, got, how)), about);
      }),
      { numRuns: 40 },
    );
  });

  it('is limited for the largest collections, whatever their order counts', () => {
    const count = 200_000;
    const rows = (last: (i: number) => Value): Value[] =>
      Array.from({ length: 400 }, (_, i) => [...floats(() => '1.5', 498), last(i)]);
    const shapes: [name: string, answer: Value, expected: Value][] = [
      ['nearly equal floats', floats((i) => `${i}.5`, count), floats((i) => `${i}.50000000001`, count).reverse()],
      ['the same float', floats(() => '1.5', count), [...floats(() => '1.5', count - 1), { f: '2.5' }]],
      ['long keys', floats((i) => `${i}e300`, 75_000), floats((i) => `${i + 1}e300`, 75_000)],
      ['rows that differ at their end', rows((i) => i), rows((i) => ({ f: `${399 - i}.0` }))],
      ['one of many has no partner', floats((i) => `1.${i}`, 5000), floats((i) => `1.${i}1`, 5000)],
    ];
    for (const [name, answer, expected] of shapes)
      for (const order of ['exact', 'any', 'any-depth', 'set'] as const) {
        within(SECONDS, () => equalValues(answer, expected, { order, absolute: 0.01 }), `${name}, ${order}`);
        within(SECONDS, () => strictKey(answer), name);
      }
  });

  it('is short for an expected value that is larger than any answer, in every mode', () => {
    const huge = Array.from({ length: 5_000_000 }, () => 1);
    for (const order of ['any', 'any-depth', 'set'] as const)
      within(SECONDS, () => assert.ok(!equalValues(huge, huge, { order })), order);
    within(SECONDS, () => assert.ok(!equalValues({ s: huge }, { s: huge }, 'lenient')), 'sets');
    within(SECONDS, () => assert.ok(!equalValues(huge, huge, 'strict')), 'exact');
    const text = 'a '.repeat(20 * MIB);
    within(SECONDS, () => assert.ok(!equalValues('a', text, tokens)), 'tokens');
  });
});
