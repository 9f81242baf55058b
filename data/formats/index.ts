// Every format of problem files. To add one, write a file beside these and add a line here.
import { columnsFormat } from './columns.js';
import { evalplus } from './evalplus.js';
import { FORMATS, type FormatName, type ProblemFormat } from './format.js';
import { gauntlet } from './gauntlet.js';
import { codea1, humaneval } from './humaneval.js';
import { mbpp } from './mbpp.js';
import { SETS } from './sets.js';

const TABLE: Readonly<Record<FormatName, ProblemFormat>> = {
  gauntlet,
  humaneval,
  mbpp,
  evalplus,
  codea1,
  ...SETS,
  columns: columnsFormat('columns', [], {}),
};

/** All columns that the formats read by themselves. --map may also name other columns. */
export const FIELDS: ReadonlySet<string> = new Set(Object.values(TABLE).flatMap((format) => format.fields()));

export const formatOf = (name: FormatName): ProblemFormat => TABLE[name];

/** The first format whose fields the record has. */
export function recogniseFormat(record: unknown): ProblemFormat | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  return FORMATS.map(formatOf).find((format) => format.recognises(record));
}
