// The body of a literal test: calls of the function under test, and what is claimed of their answers.
import type { SyntaxNode } from '@lezer/common';
import type { Value } from '../schema/value.js';
import { LiteralProblem } from './arithmetic.js';
import { exactLiteral, type Names } from './exactLiteral.js';
import { isIdle } from './testFunctions.js';
import { children } from './tree.js';

/** Of the answer to one call. is: None, True and False alone. */
export type Claim =
  | { call: number; is: '==' | '!=' | 'is' | 'is not'; expected: Value }
  | { call: number; is: 'true' | 'false' };
/** In order: the call is made, or the claim is held to its answer. The first that fails decides the test. */
export type Step = { call: number } | Claim;

const doubt = (what: string): LiteralProblem => new LiteralProblem('not-literal', what);

export class ClaimsReader {
  entry: string | undefined;
  isByModule = false; // called as solution.f somewhere
  readonly inputs: Value[][] = [];
  readonly calls = new Set<string>(); // of LITERAL_CALLS

  constructor(private readonly text: string) {}

  literal(node: SyntaxNode, names: Names): Value {
    return exactLiteral(node, this.text, names, this.calls);
  }

  /**
   * @param local checks a name that the test binds
   * @param alias a name of the test for the function: [name, function]
   * @throws LiteralProblem
   */
  steps(
    statements: readonly SyntaxNode[],
    names: Names,
    local: (name: string) => string,
    alias?: readonly [string, string],
  ): Step[] {
    const body = new Body(this, this.text, names, alias);
    for (const statement of statements) {
      if (statement.name === 'AssertStatement') body.claim(statement);
      else if (statement.name === 'AssignStatement') body.assign(statement, local);
      else if (statement.name === 'ImportStatement' || !isIdle(statement)) throw doubt('a statement of another kind');
    }
    if (names.bound.has(this.entry ?? '') || body.answers.has(this.entry ?? ''))
      throw doubt('the function under test is hidden');
    return body.steps;
  }
}

class Body {
  readonly steps: Step[] = [];
  readonly answers = new Map<string, number>(); // names bound to answers

  constructor(
    private readonly reader: ClaimsReader,
    private readonly text: string,
    private readonly names: Names,
    private readonly alias: readonly [string, string] | undefined,
  ) {}

  assign(statement: SyntaxNode, local: (name: string) => string): void {
    const [target, sign, value, ...rest] = children(statement) as [SyntaxNode, SyntaxNode, SyntaxNode];
    if (rest.length > 0 || target.name !== 'VariableName' || this.source(sign) !== '=') throw doubt('an assignment');
    const name = local(this.source(target));
    if (name === this.alias?.[0]) throw doubt('the function under test is hidden');
    if (this.isCall(value)) {
      const call = this.call(value);
      this.names.drop(name);
      this.answers.set(name, call);
    } else {
      const literal = this.reader.literal(value, this.names);
      this.answers.delete(name);
      this.names.bind(name, literal);
    }
  }

  claim(statement: SyntaxNode): void {
    const [, claim, comma, message, ...rest] = children(statement);
    if (!claim || rest.length > 0 || (comma && message?.name !== 'String')) throw doubt('an assert');
    const asked = unwrap(claim);
    if (asked.name === 'Boolean' && this.source(asked) === 'True') return;
    const [first, second, third, fourth, ...more] = children(asked);
    if (this.isAnswer(asked)) {
      this.add({ call: this.answer(asked), is: 'true' });
      return;
    }
    if (asked.name === 'UnaryExpression' && first!.name === 'not') {
      const operand = unwrap(second!);
      if (this.isAnswer(operand)) {
        this.add({ call: this.answer(operand), is: 'false' });
        return;
      }
    }
    if (asked.name !== 'BinaryExpression' || more.length > 0) throw doubt('a claim');
    const isNot = second!.name === 'is' && third!.name === 'not';
    const is = isNot ? 'is not' : this.source(second!);
    const right = isNot ? fourth : fourth ? undefined : third;
    if ((is !== '==' && is !== '!=' && is !== 'is' && is !== 'is not') || !right) throw doubt('a claim');
    this.compare(is, unwrap(first!), unwrap(right));
  }

  private compare(is: '==' | '!=' | 'is' | 'is not', left: SyntaxNode, right: SyntaxNode): void {
    const [answer, other] = this.isAnswer(left) ? [left, right] : [right, left];
    if (!this.isAnswer(answer)) throw doubt('a claim about something else');
    const call = this.answer(answer);
    const expected = this.reader.literal(other, this.names);
    if (is.startsWith('is') && expected !== null && typeof expected !== 'boolean') throw doubt('an identity');
    this.add({ call, is, expected });
  }

  private add(claim: Claim): void {
    this.steps.push(claim);
  }

  private answer(node: SyntaxNode): number {
    return node.name === 'CallExpression' ? this.call(node) : this.answers.get(this.source(node))!;
  }

  private isAnswer(node: SyntaxNode): boolean {
    return this.isCall(node) || (node.name === 'VariableName' && this.answers.has(this.source(node)));
  }

  private isCall(node: SyntaxNode): boolean {
    return node.name === 'CallExpression' && this.called(node) !== undefined;
  }

  /** The function that is called, where it can be the one under test. */
  private called(node: SyntaxNode): string | undefined {
    const callee = this.source(children(node)[0]!);
    const { entry } = this.reader;
    if (this.alias)
      return callee === this.alias[0] && (entry ?? this.alias[1]) === this.alias[1] ? this.alias[1] : undefined;
    const plain = /^(solution\.)?([A-Za-z]\w*)$/.exec(callee)?.[2];
    if (plain === undefined || this.answers.has(plain) || this.names.bound.has(plain)) return undefined;
    if (entry !== undefined) return plain === entry ? entry : undefined;
    return /^(?:set|list|tuple|dict|str|float|range)$/.test(plain) ? undefined : plain;
  }

  private call(node: SyntaxNode): number {
    const { reader } = this;
    reader.isByModule ||= this.source(node).startsWith('solution.');
    reader.entry = this.called(node)!;
    const [, list] = children(node) as [SyntaxNode, SyntaxNode];
    const given = children(list)
      .slice(1, -1)
      .filter((child) => child.name !== ',');
    if (given.some(({ name }) => name === '*' || name === '**' || name === 'AssignOp'))
      throw doubt('a call of another form');
    reader.inputs.push(given.map((node) => reader.literal(node, this.names)));
    const call = reader.inputs.length - 1;
    this.steps.push({ call });
    return call;
  }

  private source(node: SyntaxNode): string {
    return this.text.slice(node.from, node.to);
  }
}

/** Brackets around a single expression mean nothing. */
function unwrap(node: SyntaxNode): SyntaxNode {
  let at = node;
  for (let depth = 0; at.name === 'ParenthesizedExpression' && depth < 64; depth++) {
    const inner = children(at);
    if (inner.length !== 3) break;
    at = inner[1]!;
  }
  return at;
}
