// Test source that is nothing but a table: every test calls one function with literals and compares its answers with
// literals. Such source need not run: the calls are made as values, and the verdict is the one that Python's own assert
// would give. Whatever is not understood to the last token makes the whole source one that runs. Parsed, never run.
import type { SyntaxNode } from '@lezer/common';
import type { Value } from '../schema/value.js';
import { LiteralProblem } from './arithmetic.js';
import { LITERAL_CALLS, Names } from './exactLiteral.js';
import { caseNames, readCases } from './literalCases.js';
import { type Claim, ClaimsReader, type Step } from './literalClaims.js';
import { isIdle } from './testFunctions.js';
import { children, parsePython, statementsOf } from './tree.js';

export interface LiteralTest {
  name: string; // as a run of the source reports it
  line: number;
  steps: Step[];
}
export interface LiteralTests {
  entry: string; // the function that every test calls
  inputs: Value[][]; // of its calls, in the order of the source
  tests: LiteralTest[];
}
export type { Claim, Step };

const MAX_CALLS = 10_000;
const TYPING = /^(?:List|Dict|Tuple|Set|Optional|Union|Any|Callable|Iterable|Iterator|Sequence)$/;
const STRINGS = /'''[\s\S]*?'''|"""[\s\S]*?"""|'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"|#[^\n]*/g;

const doubt = (what: string): LiteralProblem => new LiteralProblem('not-literal', what);

/**
 * @param files of a job of test source
 * @param entry what the job says is tested
 * @returns undefined where the source has to run
 */
export function literalTests(
  files: Readonly<Record<string, string>>,
  style: 'assert' | 'pytest',
  entry?: string,
): LiteralTests | undefined {
  const [file, ...others] = Object.entries(files);
  if (!file || others.length > 0 || (style === 'pytest' && !/^(?:.*\/)?(?!conftest\.py$)[\w-]+\.py$/.test(file[0])))
    return undefined;
  try {
    const source = file[1].replace(/\r\n/g, '\n');
    if (!isPlainText(source)) return undefined;
    return new ModuleReader(style, file[0], entry, parsePython(source)).read();
  } catch (error) {
    if (error instanceof LiteralProblem) return undefined;
    throw error;
  }
}

/** No character outside strings and comments that grammars may take differently, no other encoding, no tabs. */
function isPlainText(source: string): boolean {
  if (/[\0\r\f\v\ufeff]|^[ ]*\t/m.test(source) || hasHalves(source)) return false;
  if (/coding[:=]/.test(source.split('\n', 2).join('\n'))) return false;
  return /^[\x20-\x7e\n]*$/.test(source.replace(STRINGS, '""').replaceAll('\\\n', ''));
}

/** Halves of a surrogate pair: no file holds them. */
const hasHalves = (text: string): boolean => /\p{Surrogate}/u.test(text);

class ModuleReader {
  private readonly text: string;
  private readonly top: SyntaxNode;
  private readonly claims: ClaimsReader;
  private readonly tests: LiteralTest[] = [];
  private readonly later: (() => void)[] = []; // functions: run after what stands at the top
  private readonly names = new Set<string>(); // that the module binds
  private readonly imported = new Set<string>();
  private check: SyntaxNode | undefined;
  private isChecked = false;
  private hasBegun = false;

  constructor(
    private readonly style: 'assert' | 'pytest',
    private readonly file: string,
    private readonly told: string | undefined,
    { text, top }: { text: string; top: SyntaxNode },
  ) {
    this.text = text;
    this.top = top;
    this.claims = new ClaimsReader(text);
  }

  read(): LiteralTests | undefined {
    for (const statement of statementsOf(this.top)) this.statement(statement);
    for (const run of this.later) run();
    if (this.check && !this.isChecked) {
      if (this.told === undefined) return undefined;
      this.checkWith(this.told, 'check', this.check);
    }
    const { entry, inputs, calls } = this.claims;
    if (entry === undefined || this.tests.length === 0 || inputs.length > MAX_CALLS) return undefined;
    if (new Set(this.tests.map(({ name }) => name)).size < this.tests.length) return undefined;
    if (!this.isSeen(entry) || this.names.has(entry)) return undefined;
    // bare asserts see the program's names, and nobody says whether its `list` is meant
    if (this.style === 'assert' && this.told === undefined && calls.size > 0) return undefined;
    for (const name of LITERAL_CALLS) if (calls.has(name) && (name === entry || this.names.has(name))) return undefined;
    return { entry, inputs, tests: this.tests };
  }

  /** Whether the name means the program's function where the tests stand. */
  private isSeen(name: string): boolean {
    if (/^(?:_|test)/i.test(name) || this.told?.includes('.')) return false;
    const isImported = this.imported.has(name) || this.claims.isByModule;
    if (this.claims.isByModule && !this.imported.has('solution')) return false;
    if (BUILTINS.has(name)) return name === this.told && (this.style === 'assert' || isImported);
    return this.style === 'assert' || isImported || this.imported.has('*');
  }

  private statement(node: SyntaxNode): void {
    const source = this.text.slice(node.from, node.to);
    if (node.name === 'ImportStatement') this.import(source);
    else if (node.name === 'AssignStatement') this.constant(node);
    else if (!isIdle(node)) this.run(node, source);
  }

  private run(node: SyntaxNode, source: string): void {
    this.hasBegun = true;
    if (
      node.name === 'IfStatement' &&
      /^if __name__ == ['"]__main__['"]\s*:/.test(source) &&
      !/^(?:elif|else)\b/m.test(source)
    )
      return;
    if (node.name === 'FunctionDefinition' || node.name === 'DecoratedStatement') {
      this.definition(node);
      return;
    }
    if (this.style === 'pytest') throw doubt('a statement at the top');
    if (node.name === 'AssertStatement') {
      this.test(this.fresh(node), node, [node], new Names());
      return;
    }
    const call = /^(\w+)\s*\(\s*(\w*)\s*\)$/.exec(source);
    if (node.name !== 'ExpressionStatement' || !call) throw doubt('a statement at the top');
    const [, name, argument] = call as unknown as [string, string, string];
    if (name === 'check' && argument !== '' && this.check) {
      this.isChecked = true;
      this.checkWith(argument, this.fresh(node), node);
      return;
    }
    if (argument !== '' || !name.startsWith('test') || !this.names.has(name)) throw doubt('a call at the top');
  }

  private import(source: string): void {
    if (this.hasBegun) throw doubt('an import after a test');
    if (source === 'import pytest' || source === 'import solution') {
      this.imported.add(source.slice(7));
      return;
    }
    const from = /^from\s+(solution|typing)\s+import\s+(\*|\w+(?:\s*,\s*\w+)*|\(\s*\w+(?:\s*,\s*\w+)*\s*,?\s*\))$/.exec(
      source,
    );
    if (!from) throw doubt('an import');
    for (const name of from[2]!
      .replace(/[()\s]/g, '')
      .split(',')
      .filter(Boolean)) {
      if (from[1] === 'solution' && !/^test|^_/i.test(name) && !LITERAL_CALLS.has(name)) this.imported.add(name);
      else if (from[1] === 'typing' && TYPING.test(name)) this.bind(name);
      else throw doubt('an import');
    }
  }

  /** `NAME = <literal>`: it cannot matter, since no test may name it. */
  private constant(node: SyntaxNode): void {
    const [target, sign, value, ...rest] = children(node) as [SyntaxNode, SyntaxNode, SyntaxNode];
    if (rest.length > 0 || target.name !== 'VariableName' || this.text.slice(sign.from, sign.to) !== '=')
      throw doubt('an assignment');
    const name = this.text.slice(target.from, target.to);
    if (/^(?:_|test|pytest|collect)/i.test(name)) throw doubt('a name with a meaning');
    this.bind(name);
    this.claims.literal(value, new Names());
  }

  private bind(name: string): void {
    if (this.names.has(name) || /^(?:solution|pytest)$/.test(name)) throw doubt('a name that is bound twice');
    this.names.add(name);
  }

  private definition(node: SyntaxNode): void {
    const isDecorated = node.name === 'DecoratedStatement';
    const definition = isDecorated ? node.lastChild! : node;
    const body = definition.getChild('Body');
    const head = /^def\s+(\w+)\s*\(([^()]*)\)\s*(?:->\s*None\s*)?$/.exec(
      this.text.slice(definition.from, body?.from).replace(/\s*:?\s*$/, ''),
    );
    if (definition.name !== 'FunctionDefinition' || !body || !head) throw doubt('a definition');
    const name = head[1]!;
    const parameters = head[2]!.split(',').map((one) => one.trim());
    if (parameters.at(-1) === '') parameters.pop();
    if (parameters.some((one) => !/^[A-Za-z]\w*$/.test(one))) throw doubt('a parameter');
    this.bind(name);
    if (this.style === 'assert' && name === 'check' && !isDecorated && parameters.length === 1) {
      this.check = definition;
      return;
    }
    if (!(this.style === 'pytest' ? /^test/ : /^test(?:_|$)/).test(name)) throw doubt('a helper');
    const statements = statementsOf(body);
    if (!isDecorated && parameters.length === 0) {
      const id = this.style === 'pytest' ? `${this.file}::${name}` : name;
      this.later.push(() => this.test(id, definition, statements, new Names()));
      return;
    }
    if (this.style !== 'pytest' || !isDecorated || !this.imported.has('pytest')) throw doubt('a fixture');
    this.later.push(() => {
      const cases = readCases(node, this.text, (value) => this.claims.literal(value, new Names()));
      if ([...cases.names].sort().join() !== [...parameters].sort().join()) throw doubt('a fixture');
      const ids = caseNames(cases);
      for (const [i, row] of cases.rows.entries()) {
        const names = new Names();
        for (const [k, value] of row.values.entries()) names.bind(this.local(cases.names[k]!), value);
        this.test(`${this.file}::${name}[${ids[i]}]`, definition, statements, names);
      }
    });
  }

  private checkWith(entry: string, name: string, at: SyntaxNode): void {
    const parameter = children(this.check!.getChild('ParamList')!)[1]!;
    const statements = statementsOf(this.check!.getChild('Body')!);
    if (this.names.has(entry)) throw doubt('a function of the tests');
    const alias = this.local(this.text.slice(parameter.from, parameter.to));
    this.test(name, at, statements, new Names(), [alias, entry]);
  }

  private test(name: string, at: SyntaxNode, statements: SyntaxNode[], names: Names, alias?: [string, string]): void {
    const steps = this.claims.steps(statements, names, (local) => this.local(local), alias);
    if (steps.length === 0) throw doubt('a test without a call');
    this.tests.push({ name, line: this.line(at), steps });
  }

  /** A name that a test binds: none that anything else here rests on. */
  private local(name: string): string {
    if (LITERAL_CALLS.has(name) || /^(?:solution|pytest)$/.test(name) || this.imported.has(name))
      throw doubt('a hidden name');
    return name;
  }

  private line(node: SyntaxNode): number {
    return this.text.slice(0, node.from).split('\n').length;
  }

  private fresh(node: SyntaxNode): string {
    const line = `line ${this.line(node)}`;
    const taken = new Set(this.tests.map(({ name }) => name));
    let name = line;
    for (let k = 2; taken.has(name); k++) name = `${line} #${k}`;
    return name;
  }
}

/** Public names of Python's builtins: a program's function of such a name is not what tests see without being told. */
const BUILTINS = new Set(
  (
    'abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright ' +
    'credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash ' +
    'help hex id input int isinstance issubclass iter len license list locals map max memoryview min next object oct open ' +
    'ord pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple type ' +
    'vars zip Ellipsis NotImplemented'
  ).split(' '),
);
