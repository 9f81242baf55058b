// Counter-based random numbers: every draw is a pure function of a key, so a resumed run repeats its draws exactly.
// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").

const M0 = 0xd2511f53;
const M1 = 0xcd9e8d57;
const W0 = 0x9e3779b9;
const W1 = 0xbb67ae85;

function mulHiLo(a: number, b: number): [number, number] {
  const aHi = a >>> 16;
  const aLo = a & 0xffff;
  const bHi = b >>> 16;
  const bLo = b & 0xffff;
  const low = aLo * bLo;
  const mid1 = aHi * bLo + (low >>> 16);
  const mid2 = aLo * bHi + (mid1 & 0xffff);
  const hi = aHi * bHi + Math.floor(mid1 / 65536) + (mid2 >>> 16);
  return [hi >>> 0, Math.imul(a, b) >>> 0];
}

/** One Philox4x32-10 block: counter[4] and key[2] of uint32 → four uint32. */
export function philox(counter: readonly [number, number, number, number], key: readonly [number, number]): number[] {
  let [c0, c1, c2, c3] = counter as [number, number, number, number];
  let [k0, k1] = key as [number, number];
  for (let round = 0; round < 10; round++) {
    const [hi0, lo0] = mulHiLo(M0, c0 >>> 0);
    const [hi1, lo1] = mulHiLo(M1, c2 >>> 0);
    [c0, c1, c2, c3] = [(hi1 ^ c1 ^ k0) >>> 0, lo1, (hi0 ^ c3 ^ k1) >>> 0, lo0];
    k0 = (k0 + W0) >>> 0;
    k1 = (k1 + W1) >>> 0;
  }
  return [c0, c1, c2, c3];
}

export type KeyPart = string | number;

/** 64-bit key from any path of names and indices, e.g. deriveKey(seed, 'generator', step, problemId, sample). */
export function deriveKey(...path: KeyPart[]): [number, number] {
  return extendKey([0x243f6a88, 0x85a308d3], ...path);
}

/** extendKey(deriveKey(...a), ...b) equals deriveKey(...a, ...b), so the common prefix of many keys is derived only once. */
export function extendKey(key: readonly [number, number], ...path: KeyPart[]): [number, number] {
  let [a, b] = key;
  const absorb = (word: number): void => {
    const out = philox([word >>> 0, 0, 0, 0], [a, b]);
    a = out[0]!;
    b = out[1]!;
  };
  for (const part of path) {
    const text = typeof part === 'number' ? `#${part}` : `$${part}`;
    absorb(text.length);
    for (let i = 0; i < text.length; i++) absorb(text.charCodeAt(i));
  }
  return [a, b];
}

/** The draw with number `index` of the stream `key`: uniform in (0, 1) with 32 random bits, never 0 or 1. */
export function uniformAt(key: readonly [number, number], index: number): number {
  return (philox([index >>> 0, Math.floor(index / 2 ** 32) >>> 0, 0, 0], key)[0]! + 0.5) / 4294967296;
}

/** Reads one stream sequentially. Use it only if the number of draws is deterministic. */
export class RandomStream {
  private index = 0;
  private readonly key: [number, number];
  constructor(...path: KeyPart[]) {
    this.key = deriveKey(...path);
  }
  uniform(): number {
    return uniformAt(this.key, this.index++);
  }
  /** An integer in [low, high], inclusive. */
  int(low: number, high: number): number {
    return low + Math.floor(this.uniform() * (high - low + 1));
  }
  choice<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('choice from an empty list');
    return items[this.int(0, items.length - 1)]!;
  }
  /** Standard normal (Box–Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }
  /** A shuffled copy (Fisher–Yates). */
  shuffle<T>(items: readonly T[]): T[] {
    const out = [...items];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.int(0, i);
      [out[i], out[j]] = [out[j]!, out[i]!];
    }
    return out;
  }
  /** k distinct items in random order. */
  sample<T>(items: readonly T[], k: number): T[] {
    return this.shuffle(items).slice(0, k);
  }
}
