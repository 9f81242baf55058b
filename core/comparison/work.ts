// How much one comparison may compute. Answers and problem files are untrusted, and a comparison runs on the event loop,
// so its work is counted. Values within the limits of the sandbox need a fraction of it, in every mode.

/** Ends a comparison that exceeds its limit. The values then count as not equal. */
export class TooManySteps extends Error {}

/** The most pairs of elements that one comparison looks at. */
const MAX_PAIRS = 4_000_000;
/** The most units of other work: one or two seconds. A character of a key is one unit, and so is a node that sorting looks at. */
const MAX_UNITS = 1 << 27;
const PART = 32; // units per part of a value
const CHARACTER = 8; // units per character of a text that is split into tokens

export class Work {
  private pairs = MAX_PAIRS;
  private units = MAX_UNITS;

  /** @throws TooManySteps */
  pair(): void {
    if (--this.pairs < 0) throw new TooManySteps();
  }

  /** @throws TooManySteps */
  part(): void {
    this.spend(PART);
  }

  /** @throws TooManySteps */
  text(characters: number): void {
    this.spend(CHARACTER * characters);
  }

  /** @throws TooManySteps */
  spend(units: number): void {
    this.units -= units;
    if (this.units < 0) throw new TooManySteps();
  }
}
