// Whether an input looks like known inputs, for problems that do not say which inputs are allowed.
import type { Value } from '../schema/value.js';

const ANY = 3; // from so many kinds on, any kind may follow
const CLASSES = [/[a-z]/, /[A-Z]/, /\d/];

/**
 * A test of inputs: each argument has kinds, signs and characters of the known ones, where nested values count as one group. Arguments
 * that always have equal lengths keep them equal.
 */
export function resembles(known: readonly Value[][]): (args: readonly Value[]) => boolean {
  const shapes: Shape[] = [];
  for (const [at, value] of known.flatMap((input) => [...input.entries()])) {
    shapes[at] ??= new Shape();
    shapes[at].add(value);
  }
  const lengths = known.map((input) => input.map(lengthOf));
  const equal = shapes.flatMap((_, a) => shapes.slice(0, a).map((_, b) => [a, b] as const));
  const kept = equal.filter(([a, b]) => lengths.every((own) => own[a] !== undefined && own[a] === own[b]));
  return (args) =>
    args.every((value, at) => shapes[at]?.allows(value) ?? false) &&
    kept.every(([a, b]) => lengthOf(args[a]!) === lengthOf(args[b]!));
}

class Shape {
  private readonly kinds = new Set<string>();
  private readonly characters = new Set<string>();
  private readonly signs = new Set<number>();
  private inner: Shape | undefined;

  add(value: Value): void {
    this.kinds.add(kindOf(value));
    if (typeof value === 'number') this.signs.add(Math.sign(value));
    if (typeof value === 'string') for (const one of value) this.characters.add(one);
    if (itemsOf(value).length > 0) this.inner ??= new Shape();
    for (const item of itemsOf(value)) this.inner!.add(item);
  }

  allows(value: Value): boolean {
    if (this.kinds.size < ANY && !this.kinds.has(kindOf(value))) return false;
    if (typeof value === 'number') return this.signs.has(-1) || value > 0 || (value === 0 && this.signs.has(0));
    if (typeof value === 'string') return [...value].every((one) => this.allowsCharacter(one));
    return itemsOf(value).every((item) => this.inner?.allows(item) ?? false);
  }

  /** A known one, or one of a class of which several are known. */
  private allowsCharacter(one: string): boolean {
    if (this.characters.has(one)) return true;
    const same = CLASSES.find((own) => own.test(one));
    return same !== undefined && [...this.characters].filter((other) => same.test(other)).length >= ANY;
  }
}

const lengthOf = (value: Value): number | undefined =>
  typeof value === 'string' || Array.isArray(value) ? value.length : undefined;

/** The type, and for texts and collections whether it is empty. */
function kindOf(value: Value): string {
  if (typeof value === 'string') return value === '' ? 'no text' : 'text';
  if (value === null || typeof value !== 'object') return typeof value;
  if ('f' in value) return value.f.startsWith('-') ? 'negative float' : 'float';
  return `${Array.isArray(value) ? 'list' : Object.keys(value)[0]} ${itemsOf(value).length === 0}`;
}

function itemsOf(value: Value): Value[] {
  if (Array.isArray(value)) return value;
  if (value === null || typeof value !== 'object') return [];
  if ('d' in value) return value.d.flat();
  return 't' in value ? value.t : 's' in value ? value.s : [];
}
