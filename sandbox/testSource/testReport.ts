// The outcomes of the tests of one job: what T reports, made worse by what the host saw of the program.
import { OUTCOME_ORDER } from '../../core/comparison/compare.js';
import type { TestRun, Verdict } from '../../core/schema/execution.js';

/** How a program or the tests' process ended without an answer. */
export interface Death {
  outcome: Exclude<Verdict, 'pass' | 'fail'>;
  message: string;
}
type Finding = { outcome: Verdict; message: string | null };

const rank = ({ outcome }: Finding): number => OUTCOME_ORDER.indexOf(outcome);
const worse = (a: Finding, b: Finding | undefined): Finding => (b && rank(b) <= rank(a) ? b : a);

export class Report {
  /** Name → finding, null for a skipped test, undefined for one not reached. In the order of the source. */
  #tests = new Map<string, Finding | null | undefined>();
  #current: string | undefined;
  #deathNow: Death | undefined; // the program died in the current test
  #setUpDeath: Death | undefined; // the program died outside any test: the upper bound for later tests

  /** @param only the tests that are run; default: all that are announced */
  constructor(readonly only?: ReadonlySet<string>) {}

  announce(names: readonly string[]): void {
    for (const name of names)
      if (!this.#tests.has(name) && (this.only?.has(name) ?? true)) this.#tests.set(name, undefined);
  }

  begin(name: string): void {
    if (this.#current !== undefined) this.end('error', 'another test began before this one ended');
    this.#current = name;
    this.#deathNow = undefined;
  }

  /** Records that the program has ended or run out of memory. */
  strike(death: Death): void {
    if (this.#current === undefined) this.#setUpDeath ??= death;
    else this.#deathNow = this.#deathNow ? (worse(this.#deathNow, death) as Death) : death;
  }

  /** T's report of the current test; null for a skipped test and for the loading of a file. */
  end(outcome: Verdict | null, message: string | null): void {
    const [name, death] = [this.#current, this.#deathNow ?? this.#setUpDeath];
    this.#current = this.#deathNow = undefined;
    if (name === undefined || this.#tests.get(name) !== undefined) return; // the first report stands
    const claim = outcome === null ? undefined : { outcome, message: message?.slice(0, 500) ?? null };
    if (claim) this.#tests.set(name, worse(claim, death));
    else if (death) this.#tests.set(name, death);
    else if (this.#tests.has(name)) this.#tests.set(name, null);
  }

  get current(): string | undefined {
    return this.#current;
  }
  /** Whether the program has ended during the current test, or outside any test. */
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
   * Every test except skipped ones, with `rest` for tests that were not reached.
   * @param atBest the upper bound for every test of a program that did not load
   */
  result(rest: Death, atBest?: Death): TestRun['tests'] {
    return [...this.#tests].flatMap(([name, known]) => {
      if (known === null && !atBest) return [];
      const finding = known === undefined ? rest : (known ?? rest);
      return [{ name, ...(atBest ? worse(finding, atBest) : finding) }];
    });
  }
}
