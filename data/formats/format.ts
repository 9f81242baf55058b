// The interface between a format of problem files and the code that reads files.
import { z } from 'zod';
import { styleOfTests } from '../../core/parse/testModule.js';
import { type Problem, problemSchema } from '../../core/schema/problem.js';
import type { SourceRecord } from '../records.js';

export const FORMATS = [
  'gauntlet',
  'evalplus',
  'humaneval',
  'mbpp',
  'livecodebench',
  'codecontests',
  'apps',
  'prime',
  'deepcoder',
  'verification',
  'acecode',
  'kodcode',
  'codea1',
  'leetcode',
  'codecontestsplus',
  'columns', // the columns that --map names
] as const;
export type FormatName = (typeof FORMATS)[number];

/** The parts of a problem that a column can hold. */
export const PARTS = [
  'id',
  'title',
  'description', // text, or a conversation: its last message of a user
  'signature', // a `def`, perhaps in a class
  'entry', // what the tests call
  'reference', // a program, or a list of programs (solutions.ts)
  'preamble', // Python that comes before the reference and before tests as source
  'tests', // any shape of givenTests.ts
  'hidden_tests',
  'inputs', // the inputs of the tests, in a column of their own: a list, or the text of one
  'outputs',
  'test_source',
  'test_style',
  'validator',
  'checker',
  'generated_checker',
  'language', // the language of the tests and the reference
  'difficulty',
  'tags',
] as const;
export type Part = (typeof PARTS)[number];

/** For each part, the columns that may hold it. The first of these columns that a record has counts. */
export type Columns = Partial<Record<Part, readonly string[]>>;

/** How a test given as a list is read: `[arg, …, expected]` or `[[arg, …], expected]`. */
export type ListStyle = 'flat' | 'nested';

/** The styles of list tests in a set. */
export interface ListStyles {
  /** The styles of the unambiguous tests, which can be read in only one way. */
  readonly certain: Set<ListStyle>;
  /** The style for ambiguous tests, if their record does not tell it. */
  chosen?: ListStyle | undefined;
}

export interface ProblemFormat {
  readonly name: FormatName;
  /** The fields of this record that are used. Without a record, all fields that may be read, such as columns of a Parquet file. */
  fields(record?: unknown): readonly string[];
  /** Whether the record has this format's fields. */
  recognises(record: object): boolean;
  /** The id of a record, if it is not in a field that other formats use for it. */
  idOf?(record: unknown): string | undefined;
  /** Which columns hold which part; --map adds to them. */
  columns?: Columns;
  mapped?(map: Columns): ProblemFormat;
  /** @throws UnusableRecord */
  read(record: SourceRecord, styles?: ListStyles): Problem;
}

/** The record cannot be used: it is quarantined for this reason. */
export class UnusableRecord extends Error {
  /** @param isAmbiguous whether a chosen list style would make the record usable */
  constructor(
    message: string,
    readonly isAmbiguous = false,
  ) {
    super(message);
  }
}

/** Calls `read`, and puts the place before the message if the record cannot be used. */
export function placed<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UnusableRecord || error instanceof RangeError)) throw error;
    throw new UnusableRecord(`${place} ${error.message}`, error instanceof UnusableRecord && error.isAmbiguous);
  }
}

export const text = z.string().refine((value) => value.trim() !== '', 'must not be empty');
/** A program or a signature. Its length is limited, because parsing a megabyte that is not Python takes tens of seconds. */
export const code = z.string().refine((value) => value.length <= 100_000, 'must have at most 100,000 characters');
export const program = text.pipe(code);
const idString = text.refine(
  (value) => /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u.test(value),
  'must be one line of at most 200 printable characters',
);
export const difficulty = z.union([z.string(), z.number()]).transform(String);
export const idText = z.union([idString, z.int().transform(String)]);

/**
 * Parses fields. A field that is null counts as absent. @throws UnusableRecord naming the first field that is wrong
 * @param at the field that holds `json`; absent: it is the record
 */
export function parseFields<T extends z.ZodType>(schema: T, json: unknown, at?: string): z.output<T> {
  const fields = presentFields(json);
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const field = issue.path.join('.');
  if (at !== undefined) throw new UnusableRecord(`field \`${at}\`: ${issue.message}`);
  if (field === '') throw new UnusableRecord('is not a problem: an object is expected');
  const missing = issue.path.length === 1 && !Object.hasOwn(fields as object, field);
  const known = schema instanceof z.ZodObject ? schema.shape : {};
  const near =
    missing && Object.keys(Object(fields)).find((name) => !Object.hasOwn(known, name) && areNear(name, field));
  const rename = near ? `: is it \`${near}\`? Rename that field, or name all columns with --map` : '';
  throw new UnusableRecord(missing ? `missing field \`${field}\`${rename}` : `field \`${field}\`: ${issue.message}`);
}

/** Whether one of two names has all words of the other, such as `tests` and `baseline_tests`. */
function areNear(a: string, b: string): boolean {
  const words = (name: string) =>
    (name.match(/[A-Z]?[a-z\d]+/g) ?? [name]).map((word) => word.toLowerCase().replace(/s$/, ''));
  const [one, other] = [words(a), words(b)];
  return one.every((word) => other.includes(word)) || other.every((word) => one.includes(word));
}

/** The fields of a record, with the solution of --references in `field`. Problems that a model only solves need none. */
export function withReference({ json, reference }: SourceRecord, field: string): unknown {
  if (reference === undefined || typeof json !== 'object') return json;
  return reference === null ? { [field]: 'pass', ...presentFields(json) } : { ...json, [field]: reference };
}

/** A problem of these fields; undefined ones are left out, because problems are stored as JSON. @throws UnusableRecord */
export function problemOf(fields: object): Problem {
  const { testSource, testStyle } = fields as Partial<Problem>;
  const style = testSource === undefined ? undefined : (testStyle ?? styleOfTests(testSource));
  return parseFields(problemSchema, { ...fields, testStyle: style });
}

/** A record without the fields that are undefined or null. Other values stay as they are. */
export function presentFields<T>(json: T): T {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined && value !== null)) as T;
}

export const hasFields = (record: object, ...names: string[]): boolean =>
  names.every((name) => Object.hasOwn(record, name));
