// The family as the measurement of catches sees it: its programs run in this process.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../../core/random.js';
import type { Value } from '../../../core/schema/value.js';
import { ROOT } from '../../../infra/root.mjs';
import type { FrozenProblem, WrongProgram } from '../../catches/programs.js';
import { STRUCTURED, type StructuredProblem } from './problems.js';
import { openPython, type Python } from './python.js';

const MOST_MUTANTS = 60; // of a reference, before those are left out that the baseline tests catch
const MOST_WRONG = 10; // programs of a problem; edits come first
const LEGAL_INPUTS = 2000; // an expert's; a program that is right on all of them counts as right

export async function openStructured(): Promise<(FrozenProblem & Pick<StructuredProblem['structure'], 'split'>)[]> {
  const python = await openPython();
  const mutants = python.load(readFileSync(join(ROOT, 'sandbox', 'mutate.py'), 'utf8'), 'mutants');
  return STRUCTURED.map((problem) => {
    const { id, description, structure, reference, known, edits } = problem;
    const { draw, split, validator } = structure;
    const edited = edits.map(([from, to]) => reference.replace(from, to));
    const mutated = JSON.parse(mutants([reference, MOST_MUTANTS])) as string[];
    const frozen = frozenOf(problem, python, [
      ...edited.map((code) => ({ code, flaw: 'edit' })),
      ...new RandomStream('structured', 'mutants', id).shuffle(mutated).map((code) => ({ code, flaw: 'mutant' })),
    ]);
    const isLegal = python.load(validator, 'validator');
    return {
      id,
      description,
      split,
      known,
      reference: { code: reference, run: python.load(reference, 'solve') },
      wrong: frozen,
      isLegal: (args: readonly Value[]) => isLegal(args) === 'true',
      uniform: draw,
    };
  });
}

/** Programs that are right on the baseline tests and wrong on another legal input. */
function frozenOf(
  { id, structure, reference, known }: StructuredProblem,
  python: Python,
  programs: readonly { code: string; flaw: string }[],
): WrongProgram[] {
  const random = new RandomStream('structured', 'legal', id);
  const legal = Array.from({ length: LEGAL_INPUTS }, () => structure.draw(random));
  const right = python.load(reference, 'solve');
  const answers = legal.map(right);
  const wrong: WrongProgram[] = [];
  for (const { code, flaw } of programs) {
    if (wrong.length === MOST_WRONG) break;
    const run = python.load(code, 'solve');
    const isHappy = known.every((args) => run(args) === right(args));
    if (!isHappy || legal.every((args, i) => run(args) === answers[i])) continue;
    wrong.push({
      id: `${id}-${wrong.length}`,
      stratum: structure.name,
      flaw,
      code,
      run,
      *byHand(stream) {
        for (;;) yield structure.draw(stream);
      },
    });
  }
  return wrong;
}
