// Reads sets that keep each part of a problem in a column of its own. A table (sets.ts) or the flag --map says which column
// holds which part. A path like `metadata.difficulty` leads into an object, also if the column holds it as JSON text.
import { basename } from 'node:path';
import type { z } from 'zod';
import { nameOf } from '../../core/parse/asserts.js';
import { isDefinitions } from '../../core/parse/code.js';
import { parseSignature, type Signature } from '../../core/parse/signature.js';
import type { Calling } from '../../core/schema/calling.js';
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
  GIVEN,
  type Given,
  idText,
  NOTHING,
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

/**
 * @param recognises lists of columns; a record that has all of one list is of this format
 * @param testPreamble comes before tests as source that do not import the solution
 */
export function columnsFormat(
  name: FormatName,
  recognises: readonly (readonly string[])[],
  columns: Columns,
  testPreamble?: string,
): ProblemFormat {
  return {
    name,
    columns,
    mapped: (map) => columnsFormat(name, [], { ...columns, ...map }, testPreamble),
    recognises: (record) => recognises.some((paths) => paths.every((path) => valueAt(record, path) !== undefined)),
    idOf: (record) => printedId(first(record, columns.id)),
    read: (record) => ({ problem: readProblem(record, columns, testPreamble) }),
  };
}

/** Undefined if it is absent or null. */
function valueAt(record: unknown, path: string, parse: (text: string) => unknown = parseJson): unknown {
  let at = record;
  for (const key of path.split('.')) {
    at = ofJsonText(at, parse);
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at ?? undefined;
}

function first(record: unknown, paths: readonly string[] = [], parse?: (text: string) => unknown): unknown {
  for (const path of paths) {
    const value = valueAt(record, path, parse);
    if (value !== undefined) return value;
  }
  return undefined;
}

const printedId = (value: unknown): string | undefined =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined;

function readProblem(record: SourceRecord, columns: Columns, testPreamble?: string): Problem {
  if (typeof record.json !== 'object' || record.json === null)
    throw new UnusableRecord('is not a problem: an object is expected');
  const cells = { ...cellsOf(record, columns), testPreamble };
  requirePython(cells);
  const common = commonFields(cells, record);
  const given = (calls: boolean) => [testsIn(cells, 'tests', calls), testsIn(cells, 'hidden_tests', calls)] as const;
  const isProgram = ([tests, hidden]: BothTests): boolean => (tests ?? hidden)?.kind === 'program';
  const isNamed = cells.textAt('entry') !== undefined;
  const tests = given(isNamed);
  const reference = referenceIn(cells, isProgram(tests) ? 'main' : calledBy(tests, cells));
  // a program that only defines would print nothing
  const read = !isNamed && isProgram(tests) && isDefinitions(reference ?? '1') ? given(true) : tests;
  return isProgram(read) ? programProblem(common, reference, read) : functionProblem(common, reference, read, cells);
}

/** What a record says about each part of a problem. */
interface Cells {
  columns: Columns;
  json: object;
  at(part: Part): unknown;
  /** @throws UnusableRecord if it is not text */
  textAt(part: Part): string | undefined;
  /** With numbers as written. */
  exactAt(part: Part): unknown;
  testPreamble?: string | undefined;
}

function cellsOf({ json, exact }: SourceRecord, columns: Columns): Cells {
  const at = (part: Part): unknown => first(json, columns[part]);
  const textAt = (part: Part): string | undefined => {
    const value = part === 'description' ? lastOfUser(at(part)) : at(part);
    if (value === undefined || value === '') return undefined;
    const [name = part] = columns[part] ?? [];
    return parseFields((SCHEMAS[part] ?? text).optional(), value, name) as string | undefined;
  };
  return {
    columns,
    json: json as object,
    at,
    textAt,
    exactAt: (part) => columns[part] && first(exact(), columns[part], parseExactJson),
  };
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

/** The fields that do not depend on what is called. */
function commonFields({ columns, at, textAt }: Cells, { file, index = 0 }: SourceRecord) {
  const description = textAt('description');
  if (description === undefined) throw new UnusableRecord(`missing ${named(columns.description, 'description')}`);
  const tags = at('tags');
  return {
    id: parseFields(idText, at('id') ?? `problem-${index}`, columns.id?.[0] ?? 'id'),
    title: textAt('title'),
    description: description.trim(),
    difficulty: at('difficulty') === undefined ? undefined : String(at('difficulty')),
    tags: Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === 'string' && tag !== '') : undefined,
    source: basename(file),
    ...judgesOf(Object.fromEntries(JUDGES.map((part) => [part, textAt(part)]))),
  };
}
type CommonFields = ReturnType<typeof commonFields>;

/** The solution that --references gives, else that of the record, after the preamble. */
function referenceIn({ json, at, textAt }: Cells, entry: string | undefined): string | undefined {
  const given = (json as Given)[GIVEN] ?? NOTHING;
  const solution = given !== NOTHING ? given : solutionOf(at('reference'), entry && calledEntry(entry));
  if (solution === undefined) return undefined;
  const preamble = textAt('preamble');
  const whole = preamble === undefined ? solution : `${preamble}\n\n${solution}`;
  return withTyping(parseFields(code, whole, 'reference'));
}

type TestPart = 'tests' | 'hidden_tests';
/** Those of the part `tests`, and those of `hidden_tests`. */
type BothTests = readonly [tests: GivenTests | undefined, hidden: GivenTests | undefined];

function testsIn({ columns, exactAt }: Cells, part: TestPart, isOfCalls: boolean): GivenTests | undefined {
  const [inputs, outputs] = [exactAt('inputs'), exactAt('outputs')].map((one) => one && [one].flat());
  const isApart = part === 'tests' && columns.inputs !== undefined;
  const value = exactAt(part) ?? (isApart ? { inputs, outputs } : undefined);
  return value === undefined ? undefined : placed(placeOf(columns, part), () => givenTests(value, isOfCalls));
}

const placeOf = ({ tests, test_source, inputs, ...columns }: Columns, part: TestPart): string =>
  `field \`${(part === 'tests' ? (tests ?? test_source ?? inputs) : columns[part])?.[0]}\`:`;

/** A whole program, which reads text and prints text. */
function programProblem(common: CommonFields, referenceSolution: string | undefined, both: BothTests): Problem {
  const [baselineTests, hiddenTests] = both.map((one) => (one?.kind === 'program' ? one.tests : one && mixed()) ?? []);
  return problemOf({ ...STDIO, ...common, referenceSolution, baselineTests, hiddenTests });
}

/** A function or a method, whose tests are calls with values, Python source, or both. */
function functionProblem(
  common: CommonFields,
  reference: string | undefined,
  [tests, hidden]: BothTests,
  cells: Cells,
): Problem {
  const { columns, json, textAt, testPreamble } = cells;
  const column = textAt('test_source');
  const isUntested = tests === undefined && hidden === undefined && column === undefined;
  if (isUntested && (json as Given)[GIVEN] !== NOTHING)
    throw new UnusableRecord(`missing ${named([...(columns.tests ?? []), ...(columns.test_source ?? [])], 'tests')}`);
  const given = [column ?? '', sourceOf(tests)].filter(Boolean).join('\n');
  const isComplete =
    testPreamble === undefined || given === '' || /^[ \t]*(?:from|import)[ \t]+solution\b/m.test(given);
  const shownSource = isComplete ? given : `${testPreamble}\n\n${given}`;
  const hiddenSource = sourceOf(hidden);
  const said = calledBy([tests, hidden], cells);
  if (isUntested && said === undefined && reference === undefined)
    return problemOf({ ...common, functionSignature: UNSIGNED, entry: 'solve', baselineTests: [] });
  const source = [shownSource, hiddenSource].join('\n');
  const called = said ?? placed(placeOf(columns, 'tests'), () => calledIn(source, reference));
  const calls = (one: GivenTests | undefined, part: TestPart, read: Signature) => {
    if (one?.kind === 'program') return mixed();
    return one?.kind === 'calls' ? placed(placeOf(columns, part), () => one.read(read)) : [];
  };
  const known = (name: string): TestCase[] => [
    ...calls(tests, 'tests', ANY_ARGUMENTS),
    ...testsFrom(source, name, ANY_ARGUMENTS).baselineTests,
  ];
  const {
    entry,
    signature,
    functionSignature,
    calling: ofClass,
  } = entryIn(called, textAt('signature'), reference, known);
  const shown = testsFrom(shownSource, entry, signature);
  const later = testsFrom(hiddenSource, entry, signature);
  const baselineTests = [...calls(tests, 'tests', signature), ...shown.baselineTests];
  const hiddenTests = [...calls(hidden, 'hidden_tests', signature), ...later.baselineTests];
  const calling = ofClass ?? callingOf(signature, [...baselineTests, ...hiddenTests]);
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
  });
}

const sourceOf = (one: GivenTests | undefined): string => (one?.kind === 'source' ? one.source : '');

/** What the tests call, if a column says so: that of the tests, that of the entry, the starter code. */
function calledBy([tests, hidden]: BothTests, { textAt }: Cells): string | undefined {
  const given = tests ?? hidden;
  const called = (given?.kind === 'calls' ? given.entry : undefined) ?? textAt('entry');
  const starter = textAt('signature');
  return called ?? (starter === undefined ? undefined : parseSignature(starter)?.entry);
}

/** Tests that stay source may use what the preamble defines. */
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

/** What is called, and its signature: that of the starter code if it is called in the same way, else of the reference. */
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
