// 95 % intervals of shares by Wilson's score (1927). They stay within 0..1, and none has a width of zero: sixty of sixty are
// no certainty. Results are counted by problems, because the samples of one problem resemble each other.

export interface Interval {
  low: number;
  high: number;
}

const Z = 1.96;

/** @param of how many independent results the share comes from; more than zero */
export function shareInterval(share: number, of: number): Interval {
  const [center, width] = [share + Z ** 2 / (2 * of), Z * Math.sqrt((share * (1 - share)) / of + (Z / (2 * of)) ** 2)];
  const scale = 1 + Z ** 2 / of;
  return { low: Math.max(0, (center - width) / scale), high: Math.min(1, (center + width) / scale) };
}

/**
 * The interval of a mean share over problems, as wide as the standard error says. If the problems do not differ, their number
 * says how sure the share is.
 * @returns undefined if neither is known
 */
export function meanShareInterval(share: number, standardError: number | undefined, problems?: number) {
  const spread = share * (1 - share);
  const of = standardError && spread > 0 ? spread / standardError ** 2 : problems;
  return of ? shareInterval(Math.min(1, share), of) : undefined;
}
