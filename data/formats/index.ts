// Every format, and which one a record is of. A further format is a file beside these and a line here.
import { GauntletError } from '../../core/errors.js';
import { codecontests } from './codecontests.js';
import { evalplus } from './evalplus.js';
import { FORMATS, type FormatName, type ProblemFormat } from './format.js';
import { gauntlet } from './gauntlet.js';
import { humaneval } from './humaneval.js';
import { livecodebench } from './livecodebench.js';
import { mbpp } from './mbpp.js';

const TABLE: Readonly<Record<FormatName, ProblemFormat>> = {
  gauntlet,
  humaneval,
  mbpp,
  evalplus,
  livecodebench,
  codecontests,
};

export const formatOf = (name: FormatName): ProblemFormat => TABLE[name];

/** The first format that a record has the fields of. @throws GauntletError BAD_INPUT */
export function recogniseFormat(record: unknown): ProblemFormat {
  const isObject = typeof record === 'object' && record !== null && !Array.isArray(record);
  const found = isObject ? FORMATS.map(formatOf).find((format) => format.recognises(record)) : undefined;
  if (found) return found;
  const fields = isObject ? Object.keys(record).slice(0, 8).join(', ') || 'none' : 'no object';
  throw new GauntletError(
    'BAD_INPUT',
    `no known format (its fields: ${fields}); name one with --format ${FORMATS.join('|')}`,
  );
}
