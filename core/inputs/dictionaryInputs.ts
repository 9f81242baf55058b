// Makes new inputs of a function from the inputs of its tests and from a dictionary: the whole numbers in the texts of the problem,
// their neighbours, and short texts in quotes. It finds triggers that a mutation of known inputs cannot reach (docs/adversary.md).
import type { RandomStream } from '../base/random.js';
import { floatValue, toFloat } from '../parse/numbers.js';
import type { Value } from '../schema/value.js';
import { distinctInputs, freshInputs, mapLeaves } from './freshInputs.js';

const MOST_CHANGES = 3; // the most changes of one input
const QUOTED = /'([^'\\\n]{1,20})'|"([^"\\\n]{1,20})"/g;

/** The whole numbers in the texts, their neighbours, and the short texts in quotes. */
export function constantsIn(...texts: string[]): (number | string)[] {
  const found = texts.flatMap((text) => (text.match(/-?\d+/g) ?? []).map(Number)).filter(Number.isSafeInteger);
  const quoted = texts.flatMap((text) => [...text.matchAll(QUOTED)].map(([, single, double]) => single ?? double!));
  return [...new Set([...found.flatMap((constant) => [constant, constant - 1, constant + 1]), ...quoted])];
}

/** Up to `count` distinct lists of arguments that are not among `known`. */
export function dictionaryInputs(
  known: readonly Value[][],
  constants: readonly (number | string)[],
  count: number,
  random: RandomStream,
): Value[][] {
  const changed = changedInputs(known, constants, random);
  return distinctInputs(known, count, () => changed.next().value);
}

/** Yields inputs endlessly: a seed with one to three changes. A change is a mutation, or a constant at a random place. */
export function* changedInputs(
  seeds: readonly Value[][],
  constants: readonly (number | string)[],
  random: RandomStream,
): Generator<Value[], never> {
  const numbers = constants.filter((one) => typeof one === 'number');
  const texts = [' ', ...constants.filter((one) => typeof one === 'string')];
  const isPlace = (one: Value): boolean =>
    typeof one === 'string' || (numbers.length > 0 && (typeof one === 'number' || toFloat(one) !== undefined));
  for (;;) {
    let input = random.choice(seeds);
    for (let left = random.int(1, MOST_CHANGES); left > 0; left--) {
      let places = 0;
      mapLeaves(input, (one) => {
        if (isPlace(one)) places++;
        return one;
      });
      if (places === 0 || random.uniform() < 0.5) input = freshInputs([input], 1, random)[0] ?? input;
      else {
        let after = random.int(0, places - 1);
        input = mapLeaves(input, (one) => {
          if (!isPlace(one) || after-- !== 0) return one;
          if (typeof one === 'string') return withText(one, texts, random);
          const number = random.choice(numbers);
          return typeof one === 'number' ? number : floatValue(number);
        }) as Value[];
      }
    }
    yield input;
  }
}

/** Inserts a constant, or a letter of the text once more. */
function withText(text: string, constants: readonly string[], random: RandomStream): string {
  const letters = [...text];
  const at = random.int(0, letters.length);
  const added = letters.length === 0 || random.uniform() < 0.5 ? random.choice(constants) : random.choice(letters);
  return letters.toSpliced(at, 0, added).join('');
}
