// The test suite of a group, and the pool of a problem's recent tests. All samples of a group are judged on the same
// suite. Otherwise group-normalised advantages would compare different things.
import type { Problem, TestCase } from '../schema/problem.js';
import type { Value } from '../schema/value.js';

/** A test of the problem's test source, by its name. */
export interface SourceTest {
  source: string;
}
export type GivenTest = TestCase | SourceTest;

export interface SuiteTest {
  origin: 'baseline' | 'book' | 'generated';
  test: GivenTest; // if it is a test of the source, its origin is `baseline`
}

const POOL_SIZE = 8; // tests per problem

const keys = new WeakMap<readonly Value[], string>(); // a list of arguments is looked up many times

/** A key that is equal for equal argument lists. Types count: 1, 1.0 and True have different keys. */
export function inputKey(args: readonly Value[]): string {
  let key = keys.get(args);
  if (key === undefined) {
    key = JSON.stringify(args);
    keys.set(args, key);
  }
  return key;
}

/** A key that is equal for tests of the same input, and for the same test of the source. */
export const testKey = (test: Pick<TestCase, 'args'> | SourceTest): string =>
  'source' in test ? `source ${test.source}` : inputKey(test.args); // an inputKey begins with a bracket

/**
 * The tests at the start of a suite: tests with values, then source tests. Every second test of a source is hidden, unless the
 * problem has hidden values. A problem without a hidden test is judged on its baseline tests.
 * @param source all tests of the problem's source, in their order; those that the reference fails are never used
 */
export function givenTests(
  { baselineTests, hiddenTests }: Pick<Problem, 'baselineTests' | 'hiddenTests'>,
  suite: 'baseline' | 'hidden',
  source: readonly { name: string; isValid: boolean }[] = [],
): GivenTest[] {
  const isSplit = hiddenTests.length === 0 && source.length > 1;
  const ofSource = (isHidden: boolean): SourceTest[] =>
    source.flatMap(({ name, isValid }, i) =>
      isValid && (isSplit && i % 2 === 1) === isHidden ? [{ source: name }] : [],
    );
  const hidden = [...hiddenTests, ...ofSource(true)];
  return suite === 'hidden' && hidden.length > 0 ? hidden : [...baselineTests, ...ofSource(false)];
}

/** Matches anything but the function `check` that may be a test of a source. */
const OTHER_TESTS =
  /\b(?:def|class)\s+[tT]est|\b[tT]est\w*\s*=|setattr|load_tests|^(?:assert|for|if|try|while|with)\b/m;

/** Whether a problem has hidden tests beside its baseline tests. A source with one function `check`, as HumanEval's, has one test. */
export function hasHiddenTests({ hiddenTests, testSource }: Pick<Problem, 'hiddenTests' | 'testSource'>): boolean {
  if (hiddenTests.length > 0 || testSource === undefined) return hiddenTests.length > 0;
  return OTHER_TESTS.test(testSource) || testSource.split(/^def\s+check\b/m).length !== 2;
}

/** Joins baseline tests, those of the mistake book, and valid generated ones. The first test of each input stays. */
export function assembleSuite(
  baseline: readonly GivenTest[],
  generated: readonly TestCase[],
  book: readonly TestCase[] = [],
): SuiteTest[] {
  const suite = new Map<string, SuiteTest>();
  const add = (origin: SuiteTest['origin'], tests: readonly GivenTest[]): void => {
    for (const test of tests) if (!suite.has(testKey(test))) suite.set(testKey(test), { origin, test });
  };
  add('baseline', baseline);
  add('book', book);
  add('generated', generated);
  return [...suite.values()];
}

/** Takes the test that catches the most of the remaining programs, until no program remains, or `most` tests are taken. */
export function fewestTests<P, T extends { caught: ReadonlySet<P> }>(tests: readonly T[], most = Infinity): T[] {
  const left = new Set(tests.flatMap(({ caught }) => [...caught]));
  const taken: T[] = [];
  while (left.size > 0 && taken.length < most) {
    const catches = ({ caught }: T): number => [...caught].filter((one) => left.has(one)).length;
    const best = tests.reduce((a, b) => (catches(b) > catches(a) ? b : a));
    for (const one of best.caught) left.delete(one);
    taken.push(best);
  }
  return taken;
}

/** Problem id → its latest valid generated tests, oldest first. */
export type TestPool = Record<string, TestCase[]>;

// uses own properties only, because an id may be 'constructor'
export const poolOf = (pool: TestPool, problemId: string): TestCase[] =>
  Object.hasOwn(pool, problemId) ? pool[problemId]! : [];

/** Returns a new pool with tests of one problem added. Duplicates are skipped and the oldest tests are dropped. */
export function addToPool(pool: TestPool, problemId: string, tests: readonly TestCase[]): TestPool {
  const kept = new Map<string, TestCase>();
  for (const test of [...poolOf(pool, problemId), ...tests]) {
    const key = JSON.stringify([test.args, test.expected]);
    if (!kept.has(key)) kept.set(key, test);
  }
  return kept.size === 0 ? pool : { ...pool, [problemId]: [...kept.values()].slice(-POOL_SIZE) };
}
