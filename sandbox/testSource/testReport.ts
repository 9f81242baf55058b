// The tests of one job as they become known: T's word for each, made worse by what was seen of the program.
import { type TestRun, type Verdict, verdictSchema } from '../../core/schema/execution.js';

/** How a program, or the tests' process, ended other than by an answer. */
export interface Death {
  outcome: Exclude<Verdict, 'pass' | 'fail'>;
  message: string;
}
type Finding = { outcome: Verdict; message: string | null };

const RANK: Record<Verdict, number> = { memory: 0, timeout: 1, output: 2, error: 3, fail: 4, pass: 5 };
const worse = (a: Finding, b: Finding | undefined): Finding => (b && RANK[b.outcome] <= RANK[a.outcome] ? b : a);
verdictSchema.options satisfies readonly (keyof typeof RANK)[];

export class Report {
  /** Name → finding; null: skipped; undefined: not reached. In the order of the source. */
  #tests = new Map<string, Finding | null | undefined>();
  #current: string | undefined;
  #deathNow: Death | undefined; // of the program, in the current test
  #setUpDeath: Death | undefined; // of the program, outside any test: nothing after it is better

  announce(names: readonly string[]): void {
    for (const name of names) if (!this.#tests.has(name)) this.#tests.set(name, undefined);
  }

  begin(name: string): void {
    if (this.#current !== undefined) this.end('error', 'another test began in the middle of this one');
    this.#current = name;
    this.#deathNow = undefined;
  }

  /** The program ended, or ran out of memory, now. */
  strike(death: Death): void {
    if (this.#current === undefined) this.#setUpDeath ??= death;
    else this.#deathNow = this.#deathNow ? (worse(this.#deathNow, death) as Death) : death;
  }

  /** T's claim for the current test; null: it skipped itself, or is no test but the loading of a file. */
  end(outcome: Verdict | null, message: string | null): void {
    const [name, death] = [this.#current, this.#deathNow ?? this.#setUpDeath];
    this.#current = this.#deathNow = undefined;
    if (name === undefined || this.#tests.get(name) !== undefined) return; // the first word stands
    const claim = outcome === null ? undefined : { outcome, message: message?.slice(0, 500) ?? null };
    if (claim) this.#tests.set(name, worse(claim, death));
    else if (death) this.#tests.set(name, death);
    else if (this.#tests.has(name)) this.#tests.set(name, null);
  }

  get current(): string | undefined {
    return this.#current;
  }
  /** The program has ended within the current test, or before any. */
  get isStruck(): boolean {
    return this.#current === undefined ? this.#setUpDeath !== undefined : this.#deathNow !== undefined;
  }
  get finished(): string[] {
    return [...this.#tests].flatMap(([name, finding]) => (finding === undefined ? [] : [name]));
  }
  get isComplete(): boolean {
    return this.finished.length === this.#tests.size;
  }

  /**
   * Every test that was not skipped; `rest` for those not reached.
   * @param atBest of every test, where the program did not load
   */
  result(rest: Death, atBest?: Death): TestRun['tests'] {
    return [...this.#tests].flatMap(([name, known]) => {
      if (known === null && !atBest) return [];
      const finding = known === undefined ? rest : (known ?? rest);
      return [{ name, ...(atBest ? worse(finding, atBest) : finding) }];
    });
  }
}
