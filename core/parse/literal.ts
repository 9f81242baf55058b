// Reads one Python literal as a Value.
import { GauntletError } from '../base/errors.js';
import type { Value } from '../schema/value.js';
import { LiteralProblem } from './arithmetic.js';
import { Evaluation } from './evaluation.js';
import { parsePython, singleExpression } from './tree.js';

/** Larger than the cap of one test, since data sets contain long literals. */
const MAX_LITERAL_NODES = 200_000;

/**
 * Reads one literal: numbers, strings and bytes in every spelling, None/True/False and JSON's null/true/false, tuples,
 * lists, dicts, sets, constant arithmetic, and calls that tests use for values without a literal: set(),
 * list(range(n)), float('inf').
 * @throws GauntletError BAD_INPUT
 */
export function parsePythonLiteral(text: string): Value {
  try {
    const source = parsePython(text);
    return new Evaluation(source.text, MAX_LITERAL_NODES).value(singleExpression(source));
  } catch (error) {
    if (!(error instanceof LiteralProblem)) throw error;
    const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
    throw new GauntletError('BAD_INPUT', `${JSON.stringify(shown)} is not a Python literal: ${error.message}`);
  }
}
