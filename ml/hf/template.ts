// Renders the Jinja template of a model folder, which is untrusted. Rendering has a budget of work, counted instead of
// timed: a template that loops forever or produces gigabytes stops at the same point on every machine.
import * as jinja from '@huggingface/jinja';

// This module resolution does not find the library's other declarations, because their imports lack extensions.
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
  evaluateBlock(statements: Node[], scope: Scope): Value;
  evaluateFor(node: Node, scope: Scope): Value;
}
/** The parts of a statement that hold statements. */
interface Statement extends Node {
  body?: Node[];
  alternate?: Node[]; // what `else` of an if holds
  defaultBlock?: Node[]; // what `else` of a loop holds
}
const { Environment, Interpreter, parse, tokenize } = jinja as unknown as {
  Environment: new (parent?: Scope) => Scope;
  Interpreter: new (globals: Scope) => Evaluator;
  parse(tokens: unknown): Node;
  tokenize(source: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }): unknown;
};

/** The most characters of a template. The longest known ones have a tenth of this. */
const MAX_LENGTH = 256 * 1024;
/** The lexer's patterns take quadratic time for consecutive blanks. */
const BLANKS = /\s{1000}/;
/** Units of work per rendering, which take one or two seconds. Ordinary templates use a thousandth of it. */
const BUDGET = 1 << 26;
/** Additional units per character of the variables: how often a template may read all of them. */
const PER_CHARACTER = 256;
/** Units per evaluation, and per element of its result. A character of the result is one unit. */
const EVALUATION = 64;
const ELEMENT = 16;
/** Units per call, loop iteration and undefined name: each creates a scope or an error. */
const SLOW = 640;
/** The largest width of JSON indentation and separators, which are repeated for every element. */
const MAX_WIDTH = 32;

/** The date in every prompt, so that a run resumed on another day has the same prompts. Llama's templates use this date. */
const TODAY = new Date(2024, 6, 26);

const MONTHS = 'January February March April May June July August September October November December'.split(' ');

export class ModelTemplate {
  private readonly program: Node;
  private readonly source: string;

  /** @throws Error if the template does not parse */
  constructor(given: string) {
    if (given.length > MAX_LENGTH) throw new Error(`it is longer than ${MAX_LENGTH / 1024} KiB`);
    this.source = given.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n'); // Jinja2 reads every line end as \n
    if (BLANKS.test(this.source)) throw new Error('it has a thousand blanks in a row');
    this.program = parse(tokenize(this.source, { lstrip_blocks: true, trim_blocks: true }));
    requireLoops(this.program, false);
  }

  /** @throws Error if the template raises one or exceeds its budget */
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
      throw new Error(`it calls itself without end or produces too long a text (${error.message})`, { cause: error });
    }
  }
}

/** @throws Error if `break` or `continue` is outside of a loop, or in a macro inside it: Jinja2 refuses it, too */
function requireLoops({ type, body = [], alternate = [], defaultBlock = [] }: Statement, isInLoop: boolean): void {
  if ((type === 'Break' || type === 'Continue') && !isInLoop)
    throw new Error(`it has {% ${type.toLowerCase()} %} outside of a loop`);
  const isInside = type === 'For' || (isInLoop && type !== 'Macro' && type !== 'CallStatement');
  for (const inner of [...body, ...alternate]) requireLoops(inner, isInside);
  for (const inner of defaultBlock) requireLoops(inner, isInLoop);
}

/** Ends an iteration of the innermost loop. */
class LoopControl extends Error {
  output = ''; // what the iteration wrote up to here
  constructor(readonly statement: string) {
    super();
  }
}

/** The remaining budget. */
class Work {
  constructor(private left: number) {}

  spend(units: number): void {
    this.left -= units;
    if (!(this.left >= 0)) {
      throw new Error(
        'rendering it takes too much work: it loops forever or produces more text than a prompt can hold; ' +
          'put another template into chat_template.jinja in that folder',
      );
    }
  }

  /** Counts the value as written out in full: a list that contains another one twice counts it twice. */
  spendOn(value: Value): void {
    const open = [value];
    while (open.length > 0) {
      const { value: content } = open.pop() ?? {}; // an undefined result has no value
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

/** Counts every result before the template can use it. Loops work as in Jinja2. */
class Metered extends Interpreter {
  private readonly loopBodies = new WeakSet<Node[]>();
  private readonly captured = new WeakSet<Node[]>(); // blocks whose output is a value
  private readonly elseBlocks = new WeakSet<Node[]>(); // those of loops
  private loop: { output: string; scope: Scope }; // the output of the innermost loop, and the scope around it
  private readonly widths = new WeakSet<Node>(); // expressions for the width of JSON
  private readonly looped = new WeakSet<Node>(); // expressions that loops iterate over

  constructor(
    globals: Scope,
    private readonly work: Work,
    private readonly sourceLength: number,
  ) {
    super(globals);
    this.loop = { output: '', scope: globals };
  }

  override evaluate(node: Node | undefined, scope: Scope): Value {
    this.work.spend(EVALUATION);
    if (node?.type === 'Break' || node?.type === 'Continue') throw new LoopControl(node.type);
    if (node !== undefined) this.prepare(node);
    const value = super.evaluate(node, scope);
    this.work.spendOn(value);
    if (node !== undefined) this.check(node, value);
    return value;
  }

  /** The library drops the output of an iteration that `break` or `continue` ends, so it is collected here. */
  override evaluateFor(node: Node, scope: Scope): Value {
    const outer = this.loop;
    const loop = { output: '', scope };
    this.loop = loop;
    try {
      const rest = super.evaluateFor(node, scope).value as string; // what the else block wrote
      return this.text(loop.output + rest, scope);
    } catch (error) {
      if (error instanceof LoopControl) error.output = loop.output + error.output; // the else block may have thrown it
      throw error;
    } finally {
      this.loop = outer;
    }
  }

  /** Names that an iteration or a captured block sets are unknown after it. The else block of a loop knows no name of the loop. */
  override evaluateBlock(statements: Node[], scope: Scope): Value {
    const isIteration = this.loopBodies.has(statements);
    const isCaptured = this.captured.has(statements);
    const isElse = this.elseBlocks.has(statements);
    const own = isIteration || isCaptured || isElse ? new Environment(isElse ? this.loop.scope : scope) : scope;
    let output = '';
    try {
      for (const statement of statements) output += super.evaluateBlock([statement], own).value;
    } catch (error) {
      if (!(error instanceof LoopControl)) throw error;
      error.output = isCaptured ? '' : output + error.output;
      if (!isIteration) throw error;
      this.loop.output += error.output;
      return super.evaluate({ type: error.statement }, scope); // throws what evaluateFor catches
    }
    if (!isIteration) return this.text(output, scope);
    this.loop.output += output;
    return this.text('', scope);
  }

  private text(value: string, scope: Scope): Value {
    return super.evaluate({ type: 'StringLiteral', value } as Node, scope);
  }

  private check(node: Node, value: Value): void {
    if (node.type === 'CallExpression' || (node.type === 'Identifier' && value.value === undefined))
      this.work.spend(SLOW);
    if (this.looped.has(node)) this.work.spend(SLOW * sizeOf(value));
    if (this.widths.has(node) && widthOf(value) > MAX_WIDTH) {
      throw new Error(`tojson: an indentation or separator of more than ${MAX_WIDTH} characters`);
    }
  }

  private prepare(node: Node): void {
    // the library walks their whole bodies
    if (node.type === 'Macro' || node.type === 'CallStatement') this.work.spend(this.sourceLength);
    const { body, defaultBlock } = node as Statement;
    if (body && (node.type === 'Set' || node.type === 'FilterStatement')) this.captured.add(body);
    if (node.type === 'For') {
      this.loopBodies.add(body!);
      this.elseBlocks.add(defaultBlock!);
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

/** The width that a value stands for: a number, the length of a text, or the largest width in a list or mapping. */
function widthOf({ value }: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return value.length;
  const within = Array.isArray(value) ? value : value instanceof Map ? [...value.values()] : [];
  return Math.max(0, ...within.map((element) => widthOf(element as Value)));
}

/** The library's global functions, which it does not export. */
const functions = (work: Work) => ({
  raise_exception: (message: string): never => {
    throw new Error(message);
  },
  range: (first: number, end?: number, step = 1): number[] => {
    const [start, stop] = end === undefined ? [0, first] : [first, end];
    const count = Math.max(0, Math.ceil((stop - start) / step));
    if (!Number.isFinite(count)) throw new Error('the arguments of range() must be finite numbers');
    work.spend(ELEMENT * count);
    return Array.from({ length: count }, (_, i) => start + i * step);
  },
  strftime_now: (format: string): string => dateText(TODAY, format),
});

/** Formats like `strftime`, in English on every machine. */
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
