// Draws inputs of the family: typical ones, and inputs to which a rule applies.
import type { RandomStream } from '../../../core/base/random.js';
import { type Atom, type KeyholeArgs, LIMIT, type Rule } from './family.js';

const anyValue = (random: RandomStream): number => random.int(-LIMIT, LIMIT);

export const drawArgs = (random: RandomStream): KeyholeArgs => [
  Array.from({ length: random.int(2, 4) }, () => anyValue(random)),
  anyValue(random),
  anyValue(random),
];

function smallArgs(random: RandomStream): KeyholeArgs {
  const digit = (): number => random.int(1, 9);
  return [Array.from({ length: random.int(1, 2) }, digit), digit(), digit()];
}

/**
 * An input to which the rule applies, unless an earlier rule does. Conditions of the list and of the numbers are independent.
 * A `plain` input needs no arithmetic: it copies constants, and puts small digits, zeros and extreme values around them.
 */
export function solveRule({ atoms }: Rule, random: RandomStream, plain = false): KeyholeArgs {
  const args = plain ? smallArgs(random) : drawArgs(random);
  for (const atom of atoms) solveAtom(atom, args, random, plain || random.uniform() < 0.5);
  return args;
}

function solveAtom({ quantity, value, over = 0 }: Atom, args: KeyholeArgs, random: RandomStream, plain: boolean): void {
  const part = (): number => (plain ? 0 : random.int(Math.max(-LIMIT, value - LIMIT), Math.min(LIMIT, value + LIMIT)));
  const times = (count: number, item: () => number): number[] => Array.from({ length: count }, item);
  switch (quantity) {
    case 'a':
      args[1] = value;
      break;
    case 'b':
      args[2] = value;
      break;
    case 'plus': {
      const rest = part();
      args.splice(1, 2, ...random.shuffle([value - rest, rest]));
      break;
    }
    case 'diff': {
      const rest = -part();
      args.splice(1, 2, value + rest, rest);
      break;
    }
    case 'has':
      args[0][random.int(0, args[0].length - 1)] = value;
      break;
    case 'sum': {
      const rest = part();
      args[0] = random.shuffle([value - rest, rest, ...(plain ? times(random.int(0, 1), () => 0) : [])]);
      break;
    }
    case 'count':
      args[0] = random.shuffle([
        ...times(value, () => (plain ? LIMIT : random.int(over + 1, LIMIT))),
        ...times(random.int(0, 1), () => (plain ? 0 : random.int(-LIMIT, over))),
      ]);
      break;
    case 'second':
      args[0] = random.shuffle([
        plain ? LIMIT : random.int(value, LIMIT),
        value,
        plain ? -LIMIT : random.int(-LIMIT, value),
      ]);
      break;
    case 'low':
      args[0] = random.shuffle([
        plain ? -LIMIT : random.int(-LIMIT, value),
        value,
        plain ? LIMIT : random.int(value, LIMIT),
      ]);
      break;
    case 'span': {
      const start = plain ? 0 : random.int(-LIMIT, LIMIT - value);
      args[0] = random.shuffle([
        start,
        start + value,
        ...times(random.int(0, 1), () => random.int(start, start + value)),
      ]);
      break;
    }
  }
}
