// Reads sets that keep each part of a problem in a column of its own. A table (sets.ts) or the flag --map says which column
// holds which part. A path like `metadata.difficulty` leads into an object, also if the column holds it as JSON text.
import { basename } from 'node:path';
import type { z } from 'zod';
import { nameOf } from '../../core/parse/asserts.js';
import { isDefinitions } from '../../core/parse/code.js';
import { parseSignature, type Signature } from '../../core/parse/signature.js';
import type { Calling } from '../../core/schema/calling.js';
import type { ComparisonSpec } from '../../core/schema/comparison.js';
import { testStyleSchema } from '../../core/schema/execution.js';
import type { Problem, TestCase } from '../../core/schema/problem.js';
import { ANY_ARGUMENTS, callingOf, entryOf, inShape, UNSIGNED } from '../calling.js';
import { judgesOf, judgesSchema } from '../checkers.js';
import { ofJsonText, parseExactJson, parseJson } from '../exactJson.js';
import type { SourceRecord } from '../records.js';
import {
  type Columns,
  code,
  type FormatName,
  idText,
  PARTS,
  type Part,
  type ProblemFormat,
  parseFields,
  placed,
  problemOf,
  text,
  UnusableRecord,
} from './format.js';
import { type GivenTests, givenTests } from './givenTests.js';
import { calledEntry, calledIn, signatureIn, signatureOfTests, testsFrom, withTyping } from './python.js';
import { solutionOf } from './solutions.js';
import { STDIO } from './stdio.js';

/** The properties that all problems of a set share. */
export interface Traits {
  functions?: Partial<ComparisonSpec>;
  programs?: Partial<ComparisonSpec>;
  files?: readonly string[]; // columns that name the files which a program reads and writes
}

/** @param recognises lists of columns; a record with all columns of one list has this format */
export function columnsFormat(
  name: FormatName,
  recognises: readonly (readonly string[])[],
  columns: Columns,
  traits: Traits = {},
): ProblemFormat {
  return {
    name,
    columns,
    mapped: (map) => columnsFormat(name, [], { ...columns, ...map }, traits),
    fields: (record) => {
      const all = [...recognises, ...Object.values(columns), traits.files ?? []].flat();
      const paths = record === undefined ? all : PARTS.flatMap((part) => presentIn(record, columns[part], part));
      return paths.map((path) => path.split('.')[0]!);
    },
    recognises: (record) => recognises.some((paths) => paths.every((path) => valueAt(record, path) !== undefined)),
    idOf: (record) => printedId(first(record, columns.id)),
    read: (record) => readProblem(record, columns, traits),
  };
}

/** The value at a path; undefined if it is absent or null. */
function valueAt(record: unknown, path: string, parse: (text: string) => unknown = parseJson): unknown {
  let at = record;
  for (const key of path.split('.')) {
    at = ofJsonText(at, parse);
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at ?? undefined;
}

/** The columns that are used: for hidden tests all non-empty columns, for other parts the first non-empty column. */
function presentIn(record: unknown, paths: readonly string[] = [], part?: Part): string[] {
  const filled = paths.filter((path) => (valueAt(record, path) ?? '') !== '');
  return part === 'hidden_tests' ? filled : filled.slice(0, 1);
}

const first = (record: unknown, paths?: readonly string[]): unknown =>
  presentIn(record, paths).map((path) => valueAt(record, path))[0];

const printedId = (value: unknown): string | undefined =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined;

function readProblem(record: SourceRecord, columns: Columns, traits: Traits): Problem {
  if (typeof record.json !== 'object' || record.json === null)
    throw new UnusableRecord('is not a problem: an object is expected');
  const cells = { ...cellsOf(record, columns), ...traits };
  requirePython(cells);
  if (first(record.json, traits.files)) throw new UnusableRecord('its programs read and write files of given names');
  const common = commonFields(cells, record);
  const given = (calls: boolean) => [testsIn(cells, 'tests', calls), testsIn(cells, 'hidden_tests', calls)] as const;
  const isProgram = (both: BothTests): boolean => telling(both)?.kind === 'program';
  const isNamed = cells.textAt('entry') !== undefined;
  const tests = given(isNamed);
  const reference = referenceIn(cells, isProgram(tests) ? 'main' : calledBy(tests, cells));
  // a program that only defines would print nothing
  const read = !isNamed && isProgram(tests) && isDefinitions(reference ?? '1') ? given(true) : tests;
  return isProgram(read)
    ? programProblem(common, reference, read, cells)
    : functionProblem(common, reference, read, cells);
}

/** Access to the parts of a problem in a record. */
interface Cells extends Traits {
  columns: Columns;
  json: object;
  reference: SourceRecord['reference'];
  at(part: Part): unknown;
  /** @throws UnusableRecord if it is not text */
  textAt(part: Part): string | undefined;
  /** The record with numbers as written. */
  exact(): unknown;
}

function cellsOf({ json, reference, exact }: SourceRecord, columns: Columns): Cells {
  const at = (part: Part): unknown => first(json, columns[part]);
  const textAt = (part: Part): string | undefined => {
    const value = part === 'description' ? lastOfUser(at(part)) : at(part);
    if (value === undefined || value === '') return undefined;
    const [name = part] = columns[part] ?? [];
    return parseFields((SCHEMAS[part] ?? text).optional(), value, name) as string | undefined;
  };
  return { columns, json: json as object, reference, at, textAt, exact };
}

const JUDGES = Object.keys(judgesSchema.shape) as (keyof typeof judgesSchema.shape)[];
const SCHEMAS: Partial<Record<Part, z.ZodType>> = {
  ...judgesSchema.shape,
  signature: code,
  preamble: code,
  test_style: testStyleSchema,
};

function requirePython({ textAt }: Cells): void {
  const language = textAt('language');
  if (language !== undefined && !/^py(thon)?[23]?$/i.test(language))
    throw new UnusableRecord(`its language is ${language}`);
}

/** The fields that do not depend on the function or program that tests call. */
function commonFields({ columns, at, textAt }: Cells, { file, index = 0 }: SourceRecord) {
  const description = textAt('description');
  if (description === undefined) throw new UnusableRecord(`missing ${named(columns.description, 'description')}`);
  const tags = [at('tags')].flat();
  return {
    id: parseFields(idText, at('id') ?? `problem-${index}`, columns.id?.[0] ?? 'id'),
    title: textAt('title'),
    description: description.trim(),
    difficulty: at('difficulty') === undefined ? undefined : String(at('difficulty')),
    tags: tags.filter((tag) => typeof tag === 'string' && tag !== ''),
    source: basename(file),
    ...judgesOf(Object.fromEntries(JUDGES.map((part) => [part, textAt(part)]))),
  };
}
type CommonFields = ReturnType<typeof commonFields>;

/** The solution of --references, or without it the solution of the record, preceded by the preamble. */
function referenceIn({ reference, at, textAt }: Cells, entry: string | undefined): string | undefined {
  const solution = reference ?? solutionOf(at('reference'), entry && calledEntry(entry));
  if (solution === undefined) return undefined;
  const preamble = textAt('preamble');
  const whole = preamble === undefined ? solution : `${preamble}\n\n${solution}`;
  return withTyping(parseFields(code, whole, 'reference'));
}

type TestPart = 'tests' | 'hidden_tests';
/** The tests of the parts `tests` and `hidden_tests`. */
type BothTests = readonly [tests: GivenTests | undefined, hidden: GivenTests | undefined];

/** The tests that tell the kind of a problem, which an empty list does not. */
const telling = ([tests, hidden]: BothTests): GivenTests | undefined =>
  [tests, hidden].find((one) => one && (one.kind !== 'program' || one.tests.length > 0)) ?? tests ?? hidden;

function testsIn({ columns, json, exact }: Cells, part: TestPart, isOfCalls: boolean): GivenTests | undefined {
  const exactAt = (of: Part): unknown[] =>
    presentIn(json, columns[of], of).map((path) => valueAt(exact(), path, parseExactJson));
  const [inputs, outputs] = (['inputs', 'outputs'] as const)
    .map((of) => exactAt(of)[0])
    .map((one) => one && [one].flat());
  const given = exactAt(part);
  if (given.length === 0 && part === 'tests' && columns.inputs !== undefined) given.push({ inputs, outputs });
  const all = given.map((one) => placed(placeOf(columns, part), () => givenTests(one, isOfCalls)));
  if (all.length < 2) return all[0];
  return { kind: 'program', tests: all.flatMap((one) => (one.kind === 'program' ? one.tests : mixed())) };
}

const placeOf = ({ tests, test_source, inputs, ...columns }: Columns, part: TestPart): string =>
  `field \`${(part === 'tests' ? (tests ?? test_source ?? inputs) : columns[part])?.[0]}\`:`;

/** A whole program, which reads text and prints text. */
function programProblem(
  common: CommonFields,
  referenceSolution: string | undefined,
  both: BothTests,
  { programs }: Traits,
): Problem {
  const [baselineTests, hiddenTests] = both.map((one) => (one?.kind === 'program' ? one.tests : one && mixed()) ?? []);
  const comparison = { ...STDIO.comparison, ...programs };
  return problemOf({ ...STDIO, ...common, comparison, referenceSolution, baselineTests, hiddenTests });
}

/** A function or a method, whose tests are calls with values, Python source, or both. */
function functionProblem(
  common: CommonFields,
  reference: string | undefined,
  [tests, hidden]: BothTests,
  cells: Cells,
): Problem {
  const { columns, textAt, functions } = cells;
  const column = textAt('test_source');
  const isUntested = tests === undefined && hidden === undefined && column === undefined;
  if (isUntested && cells.reference !== null)
    throw new UnusableRecord(`missing ${named([...(columns.tests ?? []), ...(columns.test_source ?? [])], 'tests')}`);
  const shownSource = [column ?? '', sourceOf(tests)].filter(Boolean).join('\n');
  const hiddenSource = sourceOf(hidden);
  const said = calledBy([tests, hidden], cells);
  if (isUntested && said === undefined && reference === undefined)
    return problemOf({ ...common, functionSignature: UNSIGNED, entry: 'solve', baselineTests: [] });
  const source = [shownSource, hiddenSource].join('\n');
  const called = said ?? placed(placeOf(columns, 'tests'), () => calledIn(source, reference));
  const calls = (one: GivenTests | undefined, part: TestPart, read: Signature) => {
    if (one?.kind === 'program' && one.tests.length > 0) return mixed();
    return one?.kind === 'calls' ? placed(placeOf(columns, part), () => one.read(read)) : [];
  };
  const known = (name: string): TestCase[] => [
    ...calls(tests, 'tests', ANY_ARGUMENTS),
    ...testsFrom(source, name, ANY_ARGUMENTS).baselineTests,
  ];
  const found = entryIn(called, textAt('signature'), reference, known);
  const { entry, signature, functionSignature } = found;
  const shown = testsFrom(shownSource, entry, signature);
  const later = testsFrom(hiddenSource, entry, signature);
  const baselineTests = [...calls(tests, 'tests', signature), ...shown.baselineTests];
  const hiddenTests = [...calls(hidden, 'hidden_tests', signature), ...later.baselineTests];
  const isWrapped = [tests, hidden].some((one) => one?.kind === 'calls' && one.isWrapped);
  const calling = found.calling ?? callingOf(signature, [...baselineTests, ...hiddenTests]);
  return problemOf({
    ...common,
    functionSignature,
    entry,
    referenceSolution: reference,
    baselineTests: baselineTests.map((test) => inShape(test, calling)),
    hiddenTests: hiddenTests.map((test) => inShape(test, calling)),
    testSource: joinedSource(textAt('preamble'), [shown.testSource, later.testSource]),
    testStyle: textAt('test_style'),
    calling,
    comparison: isWrapped ? { ...functions, wrapped: true } : functions,
  });
}

const sourceOf = (one: GivenTests | undefined): string => (one?.kind === 'source' ? one.source : '');

/** The name that the tests call, if the column of the tests, of the entry or of the starter code tells it. */
function calledBy(both: BothTests, { textAt }: Cells): string | undefined {
  const given = telling(both);
  const called = (given?.kind === 'calls' ? given.entry : undefined) ?? textAt('entry');
  const starter = textAt('signature');
  return called ?? (starter === undefined ? undefined : parseSignature(starter)?.entry);
}

/** Joins sources of tests, preceded by the preamble, whose definitions they may use. */
function joinedSource(preamble: string | undefined, sources: (string | undefined)[]): string | undefined {
  const rest = sources.filter((source) => source !== undefined);
  if (rest.length === 0) return undefined;
  return [...(preamble === undefined ? [] : [preamble]), ...rest].join('\n\n');
}

const mixed = (): never => {
  throw new UnusableRecord('tests of functions and of whole programs in one problem');
};

const named = (paths: readonly string[] | undefined, part: string): string =>
  paths === undefined || paths.length === 0
    ? `column for \`${part}\``
    : `field ${paths.map((path) => `\`${path}\``).join(' or ')}`;

/** The entry and its signature: from the starter code if it is called in the same way, otherwise from the reference. */
function entryIn(
  called: string,
  starter: string | undefined,
  reference: string | undefined,
  known: (entry: string) => TestCase[],
): { entry: string; signature: Signature; functionSignature: string; calling?: Calling } {
  const name = calledEntry(called);
  const given = starter === undefined ? undefined : parseSignature(starter, nameOf(name));
  const entry = name.includes('.') ? name : entryOf(given ?? { entry: name }, reference ?? '');
  if (given && starter && (given.owner !== undefined) === entry.includes('.'))
    return { entry, signature: given, functionSignature: withTyping(starter.trim()) };
  if (reference !== undefined) return { entry, ...signatureIn(reference, entry) };
  const functionSignature = signatureOfTests(entry, known(entry));
  return { entry, functionSignature, signature: parseSignature(functionSignature, nameOf(entry))! };
}

/** Sets for chat models have a conversation instead of a description. */
function lastOfUser(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const messages = value as { role?: unknown; content?: unknown }[];
  return messages.filter((message) => message?.role === 'user').at(-1)?.content;
}
