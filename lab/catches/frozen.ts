// Provides the families of frozen wrong programs.
import { RandomStream } from '../../core/base/random.js';
import type { Split } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { type KeyholeArgs, type KeyholeSpec, STRATA } from '../families/keyhole/family.js';
import { solveRule } from '../families/keyhole/inputs.js';
import { interpretKeyhole } from '../families/keyhole/interpret.js';
import { FLAWS, freshKeyholeProblems, type KeyholeProblem, keyholeProblems } from '../families/keyhole/problems.js';
import { renderCode, renderDescription } from '../families/keyhole/render.js';
import type { NestedProblem, NestedReading } from '../families/nested/family.js';
import { drawReading } from '../families/nested/flaws.js';
import { interpretNested, type NestedArgs } from '../families/nested/interpret.js';
import { allNestedProblems } from '../families/nested/problems.js';
import { renderCode as renderNested, renderDescription as renderNestedText } from '../families/nested/render.js';
import { baselineTests, drawArgs as drawNestedArgs, passesHidden } from '../families/nested/tests.js';
import type { FrozenProblem, Program, WrongProgram } from './programs.js';

export const FROZEN = {
  keyhole: (split: Split) => keyholeFrozen(keyholeProblems(split)),
  'keyhole-fresh': (split: Split) => keyholeFrozen(freshKeyholeProblems(split)),
  nested: nestedFrozen,
} as const satisfies Record<string, (split: Split) => FrozenProblem[]>;
export type FrozenFamily = keyof typeof FROZEN;

/** The families in the order of the tables. */
export const STRATA_OF: Record<FrozenFamily, readonly string[]> = {
  keyhole: STRATA,
  'keyhole-fresh': STRATA,
  nested: ['comparison', 'guard', 'other'],
};
export const FLAWS_OF: Record<FrozenFamily, readonly string[]> = {
  keyhole: FLAWS,
  'keyhole-fresh': FLAWS,
  nested: ['inner', 'outer', 'both'],
};

function keyholeFrozen(problems: readonly KeyholeProblem[]): FrozenProblem[] {
  const program = (spec: KeyholeSpec): Program => ({
    code: renderCode(spec),
    run: (args) => `${interpretKeyhole(spec, args as unknown as KeyholeArgs)}`,
  });
  return problems.map(({ id, spec, known, wrong }) => ({
    id,
    description: renderDescription(spec),
    known: known as unknown as Value[][],
    reference: program(spec),
    wrong: wrong.map(({ spec: own, ...facts }) => ({
      ...facts,
      ...program(own),
      *byHand(random) {
        const rules = new Map([...own.rules, ...spec.rules].map((rule) => [JSON.stringify(rule), rule]));
        for (;;) for (const rule of rules.values()) yield solveRule(rule, random) as unknown as Value[];
      },
    })),
  }));
}

const CHAINS = 4; // the number of chains drawn per problem; wrong programs pass the baseline tests and fail a hidden test

function nestedFrozen(split: Split): FrozenProblem[] {
  const own = allNestedProblems().filter((problem) => problem.split === split);
  return own.map((one) => nestedProblem(one, CHAINS, (i) => new RandomStream('catches', 'nested', one.id, i)));
}

/** A problem with the wrong programs among the readings that the streams draw. */
export function nestedProblem(
  problem: NestedProblem,
  readings: number,
  streamOf: (i: number) => RandomStream,
): FrozenProblem {
  const program = (reading: NestedReading): Program => ({
    code: renderNested(reading),
    run: (args) => JSON.stringify(interpretNested(reading, args as unknown as NestedArgs)),
  });
  const reference = program(problem);
  const known = baselineTests(problem).map(({ args }) => args);
  const seen = new Set<string>();
  const wrong = Array.from({ length: readings }, (_, i) => i).flatMap((i): WrongProgram[] => {
    const { reading, flaws } = drawReading(problem, streamOf(i));
    const own = program(reading);
    const isNew = !seen.has(own.code) && flaws.length > 0 && !passesHidden(problem, reading);
    if (!isNew || known.some((args) => own.run(args) !== reference.run(args))) return [];
    seen.add(own.code);
    const kinds = new Set(flaws.map((flaw) => flaw.split(' ')[1] ?? flaw));
    const steps = new Set(flaws.map((flaw) => flaw.split(' ')[0]!));
    const kind = kinds.size === 1 ? [...kinds][0]! : 'other';
    return [
      {
        ...own,
        id: `${problem.id}-${i}`,
        stratum: kind === 'comparison' || kind === 'guard' ? kind : 'other',
        flaw: steps.size === 1 && !steps.has('exchange') ? [...steps][0]! : 'both',
        *byHand(random) {
          for (;;) yield drawNestedArgs(problem, 'edge', random) as unknown as Value[];
        },
      },
    ];
  });
  return { id: problem.id, description: renderNestedText(problem), known, reference, wrong };
}
