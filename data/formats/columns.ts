// Reads sets that keep each part of a problem in a column of its own. A table (sets.ts) or the flag --map says which column
// holds which part. A path like `metadata.difficulty` leads into an object, also if the column holds it as JSON text.
import { basename } from 'node:path';
import { nameOf } from '../../core/parse/asserts.js';
import { parseSignature, type Signature } from '../../core/parse/signature.js';
import type { Calling } from '../../core/schema/calling.js';
import type { Problem } from '../../core/schema/problem.js';
import { callingOf, entryOf, inShape } from '../calling.js';
import { parseExactJson, parseJson } from '../exactJson.js';
import type { SourceRecord } from '../records.js';
import {
  type Columns,
  code,
  type FormatName,
  idText,
  type Part,
  type ProblemFormat,
  parseFields,
  problemOf,
  text,
  UnusableRecord,
} from './format.js';
import { type GivenTests, givenTests } from './givenTests.js';
import { calledEntry, calledIn, signatureIn, testsFrom, withTyping } from './python.js';
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
    fields: [...recognises, ...Object.values(columns)].flat().map((path) => path.split('.')[0]!),
    recognises: (record) => recognises.some((paths) => paths.every((path) => valueAt(record, path) !== undefined)),
    idOf: (record) => printedId(first(record, columns.id)),
    read: (record) => ({ problem: readProblem(record, columns, testPreamble) }),
  };
}

/** Undefined if it is absent or null. */
function valueAt(record: unknown, path: string, parse: (text: string) => unknown = parseJson): unknown {
  let at = record;
  for (const key of path.split('.')) {
    if (typeof at === 'string') at = parsed(at, parse);
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at ?? undefined;
}

function parsed(given: string, parse: (text: string) => unknown): unknown {
  try {
    parseJson(given); // bounds lists and nesting
    return parse(given);
  } catch {
    return undefined; // a path that leads nowhere
  }
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
  const reference = referenceIn(cells);
  const [tests, hidden] = [testsIn(cells, 'tests'), testsIn(cells, 'hidden_tests')];
  return (tests ?? hidden)?.kind === 'program'
    ? programProblem(common, reference, [tests, hidden])
    : functionProblem(common, reference, [tests, hidden], cells);
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
    const schema = part === 'signature' || part === 'preamble' ? code : text;
    const [name = part] = columns[part] ?? [];
    return parseFields(schema.optional(), value, name);
  };
  return {
    columns,
    json: json as object,
    at,
    textAt,
    exactAt: (part) => first(exact(), columns[part], parseExactJson),
  };
}

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
  };
}
type CommonFields = ReturnType<typeof commonFields>;

/** The solution that --references gives, else that of the record, after the preamble. */
function referenceIn({ json, at, textAt }: Cells): string | undefined {
  const own = (json as { reference_solution?: unknown }).reference_solution;
  const solution = typeof own === 'string' ? own : solutionOf(at('reference'));
  if (solution === undefined) return undefined;
  const preamble = textAt('preamble');
  const whole = preamble === undefined ? solution : `${preamble}\n\n${solution}`;
  return withTyping(parseFields(code, whole, 'reference'));
}

type TestPart = 'tests' | 'hidden_tests';
/** Those of the part `tests`, and those of `hidden_tests`. */
type BothTests = readonly [tests: GivenTests | undefined, hidden: GivenTests | undefined];

function testsIn({ columns, exactAt }: Cells, part: TestPart): GivenTests | undefined {
  const value = exactAt(part);
  return value === undefined ? undefined : placed(columns[part]![0]!, () => givenTests(value));
}

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
  const { columns, textAt, testPreamble } = cells;
  const column = textAt('test_source');
  if (tests === undefined && hidden === undefined && column === undefined)
    throw new UnusableRecord(`missing ${named([...(columns.tests ?? []), ...(columns.test_source ?? [])], 'tests')}`);
  const given = [column ?? '', sourceOf(tests)].filter(Boolean).join('\n');
  const isComplete =
    testPreamble === undefined || given === '' || /^[ \t]*(?:from|import)[ \t]+solution\b/m.test(given);
  const shownSource = isComplete ? given : `${testPreamble}\n\n${given}`;
  const hiddenSource = sourceOf(hidden);
  const {
    entry,
    signature,
    functionSignature,
    calling: ofClass,
  } = entryIn(
    calledBy(tests ?? hidden, cells),
    textAt('signature'),
    reference ?? '',
    [shownSource, hiddenSource].join('\n'),
  );
  const calls = (one: GivenTests | undefined, part: TestPart) => {
    if (one?.kind === 'program') return mixed();
    return one?.kind === 'calls' ? placed(columns[part]![0]!, () => one.read(signature)) : [];
  };
  const shown = testsFrom(shownSource, entry, signature);
  const later = testsFrom(hiddenSource, entry, signature);
  const baselineTests = [...calls(tests, 'tests'), ...shown.baselineTests];
  const hiddenTests = [...calls(hidden, 'hidden_tests'), ...later.baselineTests];
  const calling = ofClass ?? callingOf(signature, [...baselineTests, ...hiddenTests]);
  return problemOf({
    ...common,
    functionSignature,
    entry,
    referenceSolution: reference,
    baselineTests: baselineTests.map((test) => inShape(test, calling)),
    hiddenTests: hiddenTests.map((test) => inShape(test, calling)),
    testSource: joinedSource(textAt('preamble'), [shown.testSource, later.testSource]),
    calling,
  });
}

const sourceOf = (one: GivenTests | undefined): string => (one?.kind === 'source' ? one.source : '');

/** What the tests call, if a column says so: that of the tests, that of the entry, the starter code. */
function calledBy(given: GivenTests | undefined, { textAt }: Cells): string | undefined {
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

function placed<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnusableRecord || error instanceof RangeError)
      throw new UnusableRecord(`field \`${path}\`: ${error.message}`);
    throw error;
  }
}

/** What is called, and its signature: that of the starter code if it is called in the same way, else of the reference. */
function entryIn(
  called: string | undefined,
  starter: string | undefined,
  reference: string,
  tests: string,
): { entry: string; signature: Signature; functionSignature: string; calling?: Calling } {
  const name = called === undefined ? calledIn(tests, reference) : calledEntry(called);
  const given = starter === undefined ? undefined : parseSignature(starter, nameOf(name));
  const entry = name.includes('.') ? name : entryOf(given ?? { entry: name }, reference);
  if (given && starter && (given.owner !== undefined) === entry.includes('.'))
    return { entry, signature: given, functionSignature: withTyping(starter.trim()) };
  return { entry, ...signatureIn(reference, entry) };
}

/** Sets for chat models have a conversation instead of a description. */
function lastOfUser(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const messages = value as { role?: unknown; content?: unknown }[];
  return messages.filter((message) => message?.role === 'user').at(-1)?.content;
}
