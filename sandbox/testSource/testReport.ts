// The outcomes of the tests of one job. T reports an outcome; what the host saw of the program can only make it worse.
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
  /** A finding for each test in the order of the source; null for a skipped test, undefined for one not reached yet. */
  #tests = new Map<string, Finding | null | undefined>();
  #current: string | undefined;
  #deathNow: Death | undefined; // how the program died in the current test
  #setUpDeath: Death | undefined; // how the program died outside any test; no later test can have a better outcome

  /** @param only the tests that are run; without it, all announced tests are run */
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

  /** Takes T's report of the current test. The outcome is null for a skipped test and for a file that was loaded. */
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
   * Returns all tests except skipped ones. Tests that were not reached get the outcome `rest`.
   * @param atBest no test can have a better outcome than this, because the program did not load
   */
  result(rest: Death, atBest?: Death): TestRun['tests'] {
    return [...this.#tests].flatMap(([name, known]) => {
      if (known === null && !atBest) return [];
      const finding = known === undefined ? rest : (known ?? rest);
      return [{ name, ...(atBest ? worse(finding, atBest) : finding) }];
    });
  }
}
