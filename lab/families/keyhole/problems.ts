// Draws the problems of the family: their constants, their baseline tests, and twelve frozen wrong programs each.

import { RandomStream } from '../../../core/base/random.js';
import { freshInputs } from '../../../core/inputs/freshInputs.js';
import type { Problem, Split } from '../../../core/schema/problem.js';
import type { Value } from '../../../core/schema/value.js';
import {
  type Atom,
  allShapes,
  compositionOf,
  drawKinds,
  type KeyholeArgs,
  type KeyholeSpec,
  LIMIT,
  type Quantity,
  type Rule,
  type Shape,
  STRATA,
  type Stratum,
} from './family.js';
import { drawArgs } from './inputs.js';
import { applies, interpretKeyhole, quantityOf } from './interpret.js';
import { renderCode, renderDescription, SIGNATURE } from './render.js';

export const FLAWS = ['missing', 'moved', 'result', 'extra'] as const;
export type Flaw = (typeof FLAWS)[number];

export interface WrongProgram {
  id: string;
  stratum: Stratum;
  flaw: Flaw;
  spec: KeyholeSpec;
}

export interface KeyholeProblem extends Shape {
  spec: KeyholeSpec; // the specification of the reference
  known: KeyholeArgs[]; // the inputs of the baseline tests, to which no special case of any program applies
  wrong: WrongProgram[];
}

const BASELINE_TESTS = 3;
const TRIES = 60;
const MOST_MOVED = 20;

const mutated = (known: KeyholeArgs[], random: RandomStream): KeyholeArgs =>
  (freshInputs(known as unknown as Value[][], 1, random)[0] as unknown as KeyholeArgs) ?? known[0]!;

const isHappy = (rule: Rule, known: readonly KeyholeArgs[]): boolean => known.every((args) => !applies(rule, args));

const inRange = (value: number | undefined): value is number =>
  value !== undefined && Number.isSafeInteger(value) && Math.abs(value) <= LIMIT;

/** Half of the rules get constants from a mutated input, so that mutation can reach them. */
function drawRule(stratum: Stratum, kinds: readonly Quantity[], known: KeyholeArgs[], random: RandomStream): Rule {
  const near = random.uniform() < 0.5;
  const result = random.int(0, 9);
  for (let tries = 0; ; tries++) {
    const input = mutated(known, random);
    const atoms = kinds.map((quantity): Atom => {
      const over = random.int(1, 8) * 100;
      const atom: Atom = { quantity, value: farValue(quantity, random), ...(quantity === 'count' && { over }) };
      const value = quantity === 'has' ? random.choice([0, ...input[0]]) : quantityOf(atom, input);
      return near && tries < TRIES && inRange(value) ? { ...atom, value } : atom;
    });
    const rule = { stratum, atoms, result };
    if (isHappy(rule, known)) return rule;
  }
}

/** Draws a constant from the whole range of the quantity. */
function farValue(quantity: Quantity, random: RandomStream): number {
  if (quantity === 'count') return random.int(3, 4);
  return quantity === 'span' ? random.int(100, LIMIT) : random.choice([-1, 1]) * random.int(10, LIMIT);
}

/** Copies the rule with other constants: one of its atoms is moved a little. */
function moveRule(rule: Rule, known: KeyholeArgs[], random: RandomStream): Rule {
  for (;;) {
    const at = random.int(0, rule.atoms.length - 1);
    const atoms = rule.atoms.map((atom, i): Atom => {
      if (i !== at) return atom;
      if (atom.quantity === 'count') return { ...atom, over: random.int(1, 8) * 100, value: random.int(1, 4) };
      const by = random.choice([-1, 1]) * random.int(1, MOST_MOVED);
      const least = atom.quantity === 'span' ? 0 : -LIMIT;
      return { ...atom, value: atom.value + by < least || atom.value + by > LIMIT ? atom.value - by : atom.value + by };
    });
    const moved = { ...rule, atoms };
    if (isHappy(moved, known)) return moved;
  }
}

function makeWrong(
  spec: KeyholeSpec,
  stratum: Stratum,
  flaw: Flaw,
  known: KeyholeArgs[],
  random: RandomStream,
): KeyholeSpec {
  const at = spec.rules.findIndex((rule) => rule.stratum === stratum);
  const rule = spec.rules[at]!;
  const rules = [...spec.rules];
  if (flaw === 'missing') rules.splice(at, 1);
  if (flaw === 'moved') rules[at] = moveRule(rule, known, random);
  if (flaw === 'result') rules[at] = { ...rule, result: (rule.result + random.int(1, 9)) % 10 };
  if (flaw === 'extra') {
    const extra = drawRule(stratum, drawKinds(stratum, random), known, random);
    rules.splice(random.int(0, rules.length), 0, extra);
  }
  return { ...spec, rules };
}

function toKeyhole(shape: Shape): KeyholeProblem {
  const random = new RandomStream('keyhole', 'problem', shape.id);
  const known = Array.from({ length: BASELINE_TESTS }, () => drawArgs(random));
  const rules = STRATA.map((stratum) => drawRule(stratum, shape.kinds[stratum], known, random));
  const spec: KeyholeSpec = { base: shape.base, rules: random.shuffle(rules) };
  const wrong = STRATA.flatMap((stratum) =>
    FLAWS.map((flaw): WrongProgram => {
      const own = new RandomStream('keyhole', 'wrong', shape.id, stratum, flaw);
      return { id: `${shape.id}-${stratum}-${flaw}`, stratum, flaw, spec: makeWrong(spec, stratum, flaw, known, own) };
    }),
  );
  return { ...shape, spec, known, wrong };
}

let all: KeyholeProblem[] | undefined;

export const keyholeProblems = (split: Split): KeyholeProblem[] => {
  all ??= allShapes().map(toKeyhole);
  return all.filter((problem) => problem.split === split);
};

/** Makes a problem of the same kinds with other constants, for training. */
export const variantOf = ({ id, ...shape }: Shape, variant: number): KeyholeProblem =>
  toKeyhole({ ...shape, id: `${id}-variant-${variant}` });

/** Gives the shapes of a split new constants, inputs and wrong programs, to confirm what the first ones showed. */
export const freshKeyholeProblems = (split: Split): KeyholeProblem[] =>
  allShapes()
    .filter((shape) => shape.split === split)
    .map((shape) => toKeyhole({ ...shape, id: `${shape.id}-fresh` }));

/** Converts a problem to the form of the pipeline. */
export function toProblem({ id, spec, known, ...shape }: KeyholeProblem): Problem {
  const tests = known.map((args) => ({ args: args as Value[], expected: interpretKeyhole(spec, args) }));
  return {
    id,
    description: renderDescription(spec),
    functionSignature: SIGNATURE,
    entry: 'solve',
    baselineTests: tests,
    hiddenTests: tests,
    referenceSolution: renderCode(spec),
    difficulty: 'hard',
    tags: [compositionOf(shape)],
    source: 'keyhole',
    comparison: 'strict',
  };
}
