// The Jinja of a model's folder, which anybody may have written. It is rendered under a budget of work, counted and not
// timed, so that one that loops for ever or makes gigabytes ends, everywhere at the same place.
import * as jinja from '@huggingface/jinja';

// Of the library’s declarations this module resolution follows the first only: the others are named without extension.
interface Value {
  value?: unknown;
}
interface Node {
  type: string;
}
interface Scope {
  set(name: string, value: unknown): unknown;
}
interface Evaluator {
  run(program: Node): Value;
  evaluate(node: Node | undefined, scope: Scope): Value;
}
const { Environment, Interpreter, parse, tokenize } = jinja as unknown as {
  Environment: new () => Scope;
  Interpreter: new (globals: Scope) => Evaluator;
  parse(tokens: unknown): Node;
  tokenize(source: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }): unknown;
};

/** Characters of a template; the longest in use have a tenth of it. */
const LONGEST = 256 * 1024;
/** Blanks in a row: the lexer’s patterns take quadratic time over them. */
const BLANKS = /\s{1000}/;
/** Units of work in one rendering: a second or two. Ordinary templates use a thousandth of it. */
const BUDGET = 1 << 26;
/** Units more for each character that is rendered: how often a template may look at all of it. */
const PER_CHARACTER = 256;
/** Units of one evaluation, and of one element of what comes out of it; a character is one unit. */
const EVALUATION = 64;
const ELEMENT = 16;
/** Units of a call, a turn of a loop, a name that nothing has: each makes a scope or an error. */
const SLOW = 640;
/** Of the indentation and the separators of JSON, which are repeated for every element. */
const WIDEST = 32;

/** Of every prompt, so that a run which is resumed on another day asks the same; Llama’s own templates name this one. */
const TODAY = new Date(2024, 6, 26);

const MONTHS = 'January February March April May June July August September October November December'.split(' ');

export class ModelTemplate {
  private readonly program: Node;

  /** @throws Error where it does not parse */
  constructor(private readonly source: string) {
    if (source.length > LONGEST) throw new Error(`it is longer than ${LONGEST / 1024} KiB`);
    if (BLANKS.test(source)) throw new Error('it has a thousand blanks in a row');
    this.program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  }

  /** @throws Error where the template raises one, or needs more than its budget */
  render(variables: Record<string, unknown>): string {
    const characters = JSON.stringify(variables).length;
    const work = new Work(BUDGET + PER_CHARACTER * characters);
    const globals = new Environment();
    for (const [name, value] of Object.entries({ ...variables, ...functions(work) })) globals.set(name, value);
    for (const name of ['true', 'True']) globals.set(name, true);
    for (const name of ['false', 'False']) globals.set(name, false);
    for (const name of ['none', 'None']) globals.set(name, null);
    try {
      return String(new Metered(globals, work, this.source.length).run(this.program).value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new Error(`it calls itself without end, or makes too long a text (${error.message})`, { cause: error });
    }
  }
}

/** What is left to be done. */
class Work {
  constructor(private left: number) {}

  spend(units: number): void {
    this.left -= units;
    if (!(this.left >= 0)) {
      throw new Error(
        'rendering it takes too much work: it loops for ever, or makes more text than a prompt could hold; ' +
          'put another template into chat_template.jinja in that folder',
      );
    }
  }

  /** Written out in full: a list that holds another one twice has it twice. */
  spendOn(value: Value): void {
    const open = [value];
    while (open.length > 0) {
      const { value: content } = open.pop() ?? {}; // the first of nothing is no value at all
      if (typeof content === 'string') this.spend(content.length);
      else if (Array.isArray(content)) {
        this.spend(ELEMENT * content.length);
        for (const element of content as Value[]) open.push(element);
      } else if (content instanceof Map) {
        this.spend(ELEMENT * content.size);
        for (const [key, element] of content as Map<string, Value>) {
          this.spend(key.length);
          open.push(element);
        }
      }
    }
  }
}

/** Every result is counted before anything can be made of it. */
class Metered extends Interpreter {
  private readonly widths = new WeakSet<Node>(); // expressions that say how wide JSON is written
  private readonly looped = new WeakSet<Node>(); // and what loops go over

  constructor(
    globals: Scope,
    private readonly work: Work,
    private readonly sourceLength: number,
  ) {
    super(globals);
  }

  override evaluate(node: Node | undefined, scope: Scope): Value {
    this.work.spend(EVALUATION);
    if (node !== undefined) this.prepare(node);
    const value = super.evaluate(node, scope);
    this.work.spendOn(value);
    if (node !== undefined) this.check(node, value);
    return value;
  }

  private check(node: Node, value: Value): void {
    if (node.type === 'CallExpression' || (node.type === 'Identifier' && value.value === undefined))
      this.work.spend(SLOW);
    if (this.looped.has(node)) this.work.spend(SLOW * sizeOf(value));
    if (this.widths.has(node) && widthOf(value) > WIDEST) {
      throw new Error(`tojson: an indentation or separator of more than ${WIDEST} characters`);
    }
  }

  private prepare(node: Node): void {
    // the library walks all of their bodies
    if (node.type === 'Macro' || node.type === 'CallStatement') this.work.spend(this.sourceLength);
    if (node.type === 'For') {
      const { iterable } = node as unknown as { iterable: Node & { lhs?: Node } };
      this.looped.add(iterable.type === 'SelectExpression' ? iterable.lhs! : iterable);
    }
    if (node.type !== 'FilterExpression' && node.type !== 'FilterStatement') return;
    const { callee, args } = (node as unknown as { filter: { callee?: Value; args?: Node[] } }).filter;
    if (callee?.value !== 'tojson') return;
    for (const { type, ...parts } of (args ?? []) as (Node & { value?: Node; argument?: Node })[]) {
      if (type === 'KeywordArgumentExpression') this.widths.add(parts.value!);
      if (type === 'KeywordSpreadExpression') this.widths.add(parts.argument!);
    }
  }
}

const sizeOf = ({ value }: Value): number =>
  Array.isArray(value) ? value.length : value instanceof Map ? value.size : 0;

/** Of a number, a text, or the longest that a list or mapping holds. */
function widthOf({ value }: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return value.length;
  const within = Array.isArray(value) ? value : value instanceof Map ? [...value.values()] : [];
  return Math.max(0, ...within.map((element) => widthOf(element as Value)));
}

/** Those of the library, which keeps them to itself. */
const functions = (work: Work) => ({
  raise_exception: (message: string): never => {
    throw new Error(message);
  },
  range: (first: number, end?: number, step = 1): number[] => {
    const [start, stop] = end === undefined ? [0, first] : [first, end];
    const count = Math.max(0, Math.ceil((stop - start) / step));
    if (!Number.isFinite(count)) throw new Error('range() of numbers that are none');
    work.spend(ELEMENT * count);
    return Array.from({ length: count }, (_, i) => start + i * step);
  },
  strftime_now: (format: string): string => dateText(TODAY, format),
});

/** As `strftime` writes it, in English on every machine. */
export function dateText(date: Date, format: string): string {
  const two = (n: number): string => String(n).padStart(2, '0');
  const month = MONTHS[date.getMonth()]!;
  const parts: Record<string, string> = {
    '%Y': String(date.getFullYear()),
    '%m': two(date.getMonth() + 1),
    '%d': two(date.getDate()),
    '%b': month.slice(0, 3),
    '%B': month,
    '%H': two(date.getHours()),
    '%M': two(date.getMinutes()),
    '%%': '%',
  };
  return format.replace(/%[YmdbBHM%]/g, (part) => parts[part]!);
}
