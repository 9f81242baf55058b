// Reads the tests in a discriminator's answer one by one, so that a malformed test does not cost the others. Nothing
// runs.
import type { TestCase } from '../schema/problem.js';
import { isTuple, LiteralProblem } from './arithmetic.js';
import { assertedTest, attempt, nameOf, SalvageProblem } from './asserts.js';
import { Evaluation } from './evaluation.js';
import { lineEnd, nextSignificant, takePiece } from './scan.js';
import type { Signature } from './signature.js';
import { type Found, testsOfFunction } from './testFunctions.js';
import { elements, parsePython, parts, singleExpression } from './tree.js';

/**
 * Why a test was rejected: it does not parse; the text ends inside it; it needs evaluation; it exceeds a cap; it does
 * not have the form ((args), expected); wrong number of arguments; another function; an assert of another form; too
 * many tests.
 */
export const REJECTION_REASONS = [
  'syntax',
  'truncated',
  'not-literal',
  'too-large',
  'shape',
  'arity',
  'wrong-function',
  'unsupported-assert',
  'over-limit',
] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

export interface RejectedTest {
  reason: RejectionReason;
  text: string; // the test, cut to 200 characters
}

export interface SalvageOptions {
  entry: string; // the function under test
  arity?: number | undefined; // how many positional arguments it takes, if known
  signature?: Signature | undefined; // its signature, which arguments given by name need
  limit: number; // tests beyond it are rejected as 'over-limit'
}

export interface Salvage {
  tests: TestCase[]; // sorted as in the text
  rejected: RejectedTest[];
}

const MAX_TEXT = 100_000;
const MAX_ABOVE = 500; // the most characters that are searched above a line
const MAX_REJECTED = 64; // reading stops after this many rejected tests
const BULLET = /^(?:[-*•`>]|\d+[.):])/;

/**
 * Reads `((arg, …), expected)` literals, one per line or in a list, fenced or in prose; `assert f(args) == expected`,
 * bare or in pytest functions, also parametrized ones; and unittest's `self.assertEqual(f(args), expected)`. Never
 * throws.
 */
export function salvageTests(text: string, options: SalvageOptions): Salvage {
  return new Salvager(text.slice(0, MAX_TEXT).replace(/\r\n?/g, '\n'), options).run();
}

/**
 * The number of a sample's tests that count as invalid without being judged: malformed and missing tests. If missing tests did
 * not count, one safe test would be worth more than an honest attempt at all of them.
 */
export function unusableTests(
  salvage: { tests: readonly unknown[]; rejected: readonly Pick<RejectedTest, 'reason'>[] },
  requested: number,
): number {
  const malformed = salvage.rejected.filter(({ reason }) => reason !== 'over-limit').length;
  return Math.max(malformed, requested - salvage.tests.length, 0);
}

class Salvager {
  private readonly tests: TestCase[] = [];
  private readonly rejected: RejectedTest[] = [];
  private listDepth = 0; // open '[' of lists of tests: every element in them is meant as a test
  private before = '\n'; // the last significant character outside comments; '\n' at the start of a line
  private lineBlank = true; // only blanks on this line so far
  private lastEnd = -1; // where the last test ended
  private toParse: number; // characters of test functions that may still be parsed: nested ones are parsed several times

  constructor(
    private readonly text: string,
    private readonly options: SalvageOptions,
  ) {
    this.toParse = 4 * text.length;
  }

  run(): Salvage {
    let at = 0;
    while (at < this.text.length && this.rejected.length < MAX_REJECTED) at = this.step(at);
    return { tests: this.tests, rejected: this.rejected };
  }

  /** Consumes at least one character from `at` on and returns the next position. */
  private step(at: number): number {
    const char = this.text[at]!;
    if (char === '\n') {
      this.lineBlank = true;
      if (this.listDepth === 0) this.before = '\n';
      return at + 1;
    }
    if (/\s/.test(char)) return at + 1;
    const blank = this.lineBlank;
    this.lineBlank = false;
    if (char === '#' && (blank || '\n([{,)]};:'.includes(this.before))) return lineEnd(this.text, at);
    if (char === 'a' && (blank || ':;'.includes(this.before)) && /^assert\b/.test(this.text.slice(at, at + 7))) {
      return this.takeAssert(at);
    }
    if (blank && char === 's' && /^self\s*\.\s*assert/.test(this.text.slice(at, at + 20))) return this.takeAssert(at);
    if (blank && (char === 'd' || char === '@') && TEST_FUNCTION.test(this.text.slice(at, at + 60))) {
      const end = this.takeFunction(at);
      if (end !== undefined) return end;
    }
    if (char === '(' && this.startsTest(at)) return this.takeTuple(at);
    const bullet = this.before === '\n' ? BULLET.exec(this.text.slice(at, at + 6)) : null;
    if (bullet) {
      this.lineBlank = true; // the line starts after the bullet
      return at + bullet[0].length;
    }
    if (char === '[' && (this.listDepth > 0 ? '[,' : '\n=').includes(this.before)) this.listDepth++;
    else if (char === ']' && this.listDepth > 0) this.listDepth--;
    this.before = char;
    return at + 1;
  }

  /** True for '((' outside a call, for the first bracket of a line, and for an element of a list. */
  private startsTest(at: number): boolean {
    if (at !== this.lastEnd && /[\w)\]]/.test(this.text[at - 1] ?? '')) return false;
    if (nextSignificant(this.text, at + 1) === '(' || this.before === '\n') return true;
    return this.listDepth > 0 && '[,'.includes(this.before);
  }

  private takeTuple(at: number): number {
    const piece = takePiece(this.text, at, false);
    const source = this.text.slice(at, piece.end);
    // brackets that are not meant as a test and cannot be read are prose
    const meantAsTest = nextSignificant(this.text, at + 1) === '(' || this.listDepth > 0;
    if (!piece.closed) {
      if (meantAsTest) this.reject(piece.cut ? 'truncated' : 'syntax', firstLine(source));
      this.before = ')';
      const deeper = this.text.slice(at).search(/[^(\s]/);
      return deeper < 0 ? this.text.length : at + deeper;
    }
    const restart = resumeInside(source);
    const isTest = this.attempt(source, meantAsTest, () => tupleTest(source, this.options.arity));
    this.before = ')';
    this.lastEnd = piece.end;
    return !isTest && restart !== undefined ? at + restart : piece.end;
  }

  /** Reads a whole test function. Undefined if it does not parse; then its lines are read one by one. */
  private takeFunction(at: number): number | undefined {
    const start = this.text.lastIndexOf('\n', at - 1) + 1;
    if (this.toParse < 0) return undefined;
    const { end, looked } = blockEnd(this.text, at);
    const indent = this.text.slice(start, at);
    this.toParse -= looked - start;
    const body = this.text.slice(start, end);
    const parsed = attempt(() => parsePython(indent === '' ? body : `if 1:\n${body}`));
    if (!parsed) return undefined;
    const [outer] = parts(parsed.top);
    const statement = indent === '' ? outer : outer?.getChild('Body')?.firstChild?.nextSibling;
    const found = statement ? testsOfFunction(statement, parsed.text, this.options) : [];
    for (const one of found) if (!this.take(one)) break;
    this.before = '\n';
    this.lineBlank = true;
    return end;
  }

  /** False once too many tests have been rejected. */
  private take(found: Found): boolean {
    if ('reason' in found) this.reject(found.reason, found.text);
    else this.attempt('', true, () => found.test);
    return this.rejected.length < MAX_REJECTED;
  }

  private takeAssert(at: number): number {
    const quote = this.text[at - 1] === '`' ? this.text.indexOf('`', at) : -1;
    const piece = quote < 0 ? takePiece(this.text, at, true) : { end: quote, closed: true, cut: false };
    const source = this.text.slice(at, piece.end);
    this.before = '\n';
    if (!piece.closed) {
      this.reject(piece.cut ? 'truncated' : 'syntax', firstLine(source));
      return lineEnd(this.text, at);
    }
    // "assert that it returns 3" is prose
    if (source.includes('==') || source.includes(`${nameOf(this.options.entry)}(`))
      this.attempt(source, true, () => assertedTest(source, this.options));
    return Math.max(piece.end, at + 1);
  }

  /** True if the text is a test, even a test over the limit. */
  private attempt(source: string, meantAsTest: boolean, parse: () => TestCase | undefined): boolean {
    try {
      const test = parse();
      if (test === undefined) return false; // the brackets hold prose
      if (this.tests.length >= this.options.limit) this.reject('over-limit', source);
      else this.tests.push(test);
      return true;
    } catch (error) {
      if (error instanceof SalvageProblem || error instanceof LiteralProblem) {
        if (meantAsTest || error.reason === 'shape') this.reject(error.reason, source);
        return false;
      }
      throw error;
    }
  }

  private reject(reason: RejectionReason, source: string): void {
    this.rejected.push({ reason, text: source.length > 200 ? `${source.slice(0, 199)}…` : source });
  }
}

const TEST_FUNCTION = /^(?:def\s+test|@\s*(?:pytest\s*\.\s*)?mark\s*\.\s*parametrize\b)/;

/**
 * The end of the function whose decorators or `def` start at `at`: the next line that is not indented deeper. `looked`
 * is the end of the text that was searched.
 */
function blockEnd(text: string, at: number): { end: number; looked: number } {
  const column = at - (text.lastIndexOf('\n', at - 1) + 1);
  let from = at;
  if (text[at] === '@') {
    const bracket = text.indexOf('(', at);
    const piece = bracket < 0 ? undefined : takePiece(text, bracket, false);
    if (!piece?.closed) return { end: lineEnd(text, at), looked: piece?.end ?? text.length };
    from = piece.end;
    const next = /\s*(?=(?:async\s+)?def\b)/y;
    next.lastIndex = from;
    if (!next.test(text)) return { end: from, looked: from };
    from = next.lastIndex;
  }
  const open = text.indexOf('(', from);
  const list = open < 0 ? undefined : takePiece(text, open, false);
  let end = lineEnd(text, list?.closed ? list.end : from);
  while (end < text.length) {
    const next = lineEnd(text, end + 1);
    const line = text.slice(end + 1, next);
    const indent = /^[ \t]*/.exec(line)![0].length;
    if (line.trim() !== '' && indent <= column && line[indent] !== '#' && line[indent] !== ')') break;
    end = next;
  }
  return { end, looked: Math.max(end, list?.end ?? text.length) };
}

const firstLine = (source: string): string => source.slice(0, lineEnd(source, 0));

/** A line inside an unreadable piece that starts with '((' after a complete value: a bracket is missing before it. */
function resumeInside(source: string): number | undefined {
  for (const match of source.matchAll(/\n[ \t]*(?=\(\s*\()/g)) {
    const above = source
      .slice(Math.max(0, match.index - MAX_ABOVE), match.index)
      .replace(/#[^\n'"]*$/gm, '')
      .trimEnd();
    if (/[\w)\]}'"]$/.test(above)) return match.index + match[0].length;
  }
  return undefined;
}

/** `((args…), expected)`; undefined if the brackets hold no pair. */
function tupleTest(source: string, arity: number | undefined): TestCase | undefined {
  const parsed = parsePython(source);
  const outer = singleExpression(parsed);
  if (outer.name !== 'TupleExpression') {
    if (nextSignificant(source, 1) === '(') throw new SalvageProblem('shape');
    return undefined;
  }
  const items = elements(outer);
  if (items.length !== 2) throw new SalvageProblem('shape');
  const evaluation = new Evaluation(parsed.text);
  const args = evaluation.value(items[0]!);
  const expected = evaluation.value(items[1]!);
  if (isTuple(args)) {
    if (arity !== undefined && args.t.length !== arity) throw new SalvageProblem('arity');
    return { args: args.t, expected };
  }
  // ((5), 6): the comma of a one-element tuple is missing; its brackets show the intention
  if (arity === 1 && items[0]!.name === 'ParenthesizedExpression') return { args: [args], expected };
  throw new SalvageProblem('shape');
}
